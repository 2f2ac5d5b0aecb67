"""One command's work with a hub: signals, and hubs that are not there yet."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cloche.aio import Hub
from cloche.background import Started
from cloche.cli import session
from cloche.cli.session import Interrupts, run_async, with_hub
from cloche.errors import HubNotRunning
from tests.sdk.cli.conftest import Cloche
from tests.support.local_hub import LocalHub, local_hub


def test_the_work_s_status_is_the_status() -> None:
    async def nothing(_interrupts: Interrupts) -> None:
        return None

    async def three(_interrupts: Interrupts) -> int:
        return 3

    assert (run_async(nothing), run_async(three)) == (0, 3)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_calls_the_work_off_and_lets_it_clean_up(number: signal.Signals) -> None:
    story: list[str] = []

    async def work(_interrupts: Interrupts) -> None:
        try:
            os.kill(os.getpid(), number)
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0)
            story.append("cleaned up")

    assert run_async(work) == 128 + number
    assert story == ["cleaned up"]


def test_at_a_terminal_ctrl_c_ends_the_line_it_is_shown_in(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(interrupts: Interrupts) -> None:
        interrupts.on_signal(signal.SIGINT)
        await asyncio.sleep(30)

    assert run_async(work) == 130
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(session, "is_at_terminal", lambda: True)
    assert run_async(work) == 130
    assert capsys.readouterr() == ("", "\n")


def test_a_forwarded_signal_calls_nothing_off_the_first_time() -> None:
    names: list[str] = []

    async def work(interrupts: Interrupts) -> int:
        with interrupts.forwarding(names.append):
            interrupts.on_signal(signal.SIGINT)
            interrupts.on_signal(signal.SIGTERM)
            await asyncio.sleep(0)
            assert names == ["SIGINT", "SIGTERM"]
            interrupts.on_signal(signal.SIGINT)
            await asyncio.sleep(30)
        raise AssertionError("it has been called off")

    assert run_async(work) == 130
    assert names == ["SIGINT", "SIGTERM"]


def test_after_the_forwarding_signals_call_off_again() -> None:
    async def work(interrupts: Interrupts) -> None:
        with interrupts.forwarding(lambda _name: None):
            pass
        interrupts.on_signal(signal.SIGTERM)
        await asyncio.sleep(30)

    assert run_async(work) == 143


def test_whoever_will_not_wait_for_the_clean_up_need_not() -> None:
    script = (
        "import asyncio, os, signal\n"
        "from cloche.cli.session import run_async\n"
        "async def work(interrupts):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT); await asyncio.sleep(30)\n"
        "    finally:\n"
        "        os.kill(os.getpid(), signal.SIGINT); await asyncio.sleep(30)\n"
        "run_async(work)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=20).returncode == 130


def test_signals_somebody_has_decided_to_ignore_stay_ignored() -> None:
    async def work(_interrupts: Interrupts) -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0)
        return 0

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run_async(work) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_cancellation_that_is_nobody_s_signal_is_not_mistaken_for_one() -> None:
    async def work(_interrupts: Interrupts) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run_async(work)


async def test_a_hub_that_runs_is_used(hub: LocalHub) -> None:
    async def work(client: Hub, _interrupts: Interrupts) -> int:
        return (await client.status()).machines

    assert await asyncio.to_thread(with_hub, work) == 0


async def test_none_is_started_where_none_must_be(home: Path) -> None:
    async def work(_client: Hub, _interrupts: Interrupts) -> None:
        raise AssertionError("there is no hub")

    with pytest.raises(HubNotRunning):
        await asyncio.to_thread(lambda: with_hub(work, start=False))


async def test_a_command_that_finds_no_hub_starts_one_and_says_so(
    home: Path, cloche: Cloche, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with local_hub(home) as hub:
        await hub.deafen()
        loop = asyncio.get_running_loop()

        async def start() -> Started:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(hub.listen(), loop))
            return Started(hub.address, 4711)

        monkeypatch.setattr(session, "start_hub", start)
        ran = await cloche("ls", "--json")
    assert (ran.status, ran.out) == (0, "[]\n")
    assert ran.err == "cloche: started a hub in the background (pid 4711); to stop it: cloche hub stop\n"


async def test_one_that_somebody_else_has_started_meanwhile_is_not_claimed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    session.tell_started(Started("unix:///x", None))
    assert capsys.readouterr() == ("", "")


async def test_a_hub_elsewhere_is_never_started(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOCHE_HUB", f"unix://{home}/other.sock")
    monkeypatch.setattr(session, "start_hub", None)
    with pytest.raises(HubNotRunning):
        await session.connect(start=True)


def test_what_is_to_be_done_before_an_end_on_the_spot_is_done() -> None:
    program = """
import os, asyncio
from cloche.cli.session import run_async
async def work(interrupts):
    with interrupts.before_exit(lambda: os.write(1, b"put back")):
        interrupts.on_signal(15)
        interrupts.on_signal(15)
run_async(work)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (143, b"put back")
