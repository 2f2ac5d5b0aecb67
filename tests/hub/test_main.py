"""The hub's own program: what it says to whoever started it, how it ends, and with which exit status."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cloche_hub import __main__ as program
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import AuditBroken
from cloche_hub.store.store import open_store
from tests.support.hub import open_socket, within

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOCHE_HOME", str(tmp_path / "home"))


@dataclass
class Program:
    """A hub in a process of its own."""

    process: asyncio.subprocess.Process
    news: dict[str, Any]
    """What it said when it was ready, or why it is not."""

    async def ended(self) -> tuple[int, str]:
        """Its exit status and all it logged."""
        _, logged = await within(self.process.communicate())
        assert self.process.returncode is not None
        return self.process.returncode, logged.decode()

    async def logs(self, words: str) -> None:
        """Waits until it logs a line with these words."""
        assert self.process.stderr is not None
        while words not in (line := (await within(self.process.stderr.readline())).decode()):
            assert line, f"the log ended without {words!r}"


@asynccontextmanager
async def hub_program(*options: str, terminal: tuple[int, int] | None = None) -> AsyncIterator[Program]:
    """The program with fakes; killed at the end if it has not ended.

    Args:
        options: of `serve`.
        terminal: the two ends of one that it shall belong to; the far end is its to close.
    """
    read_end, write_end = os.pipe()
    # SAFETY: our own program, with arguments of this test.
    process = await asyncio.create_subprocess_exec(
        *(["setsid", "--ctty"] if terminal else []),
        *(sys.executable, "-m", "tests.support.hub_program", "serve", "--ready-fd", str(write_end), *options),
        cwd=ROOT,
        stdin=terminal[1] if terminal else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(write_end,),
    )
    os.close(write_end)
    if terminal:
        os.close(terminal[1])
    try:
        with os.fdopen(read_end) as pipe:
            line = await within(asyncio.to_thread(pipe.read))
        yield Program(process, json.loads(line))
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_hub_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    async with hub_program() as hub:
        assert hub.news["pid"] == hub.process.pid
        assert hub.news["address"] == hub.news["addresses"][0] == f"unix://{tmp_path}/home/run/hub.sock"
        await (await open_socket(hub.news["address"])).close()
        soft, hard = resource.prlimit(hub.process.pid, resource.RLIMIT_NOFILE)
        assert soft == min(hard, 1 << 16)
        hub.process.send_signal(number)
        status, logged = await hub.ended()
    assert status == 0
    assert "Traceback" not in logged
    async with open_store(tmp_path / "home") as store:
        assert [event.event for event in await store.audit.tail(limit=1)] == ["hub.stopped"]


async def test_a_hangup_has_the_policy_read_again(tmp_path: Path) -> None:
    async with hub_program() as hub:
        (tmp_path / "home/policy.toml").write_text("x = 1")
        hub.process.send_signal(signal.SIGHUP)
        await hub.logs("unknown key 'x'")
        (tmp_path / "home/policy.toml").write_text("")
        hub.process.send_signal(signal.SIGHUP)
        await hub.logs("policy.toml")
        hub.process.send_signal(signal.SIGTERM)
        assert (await hub.ended())[0] == 0
    async with open_store(tmp_path / "home") as store:
        assert [(event.event, event.actor) for event in await store.audit.tail(limit=4)] == [
            *(("policy.loaded", "hub"), ("policy.refused", "hub"), ("policy.loaded", "hub")),
            ("hub.stopped", "hub"),
        ]


async def test_a_hub_in_a_terminal_ends_with_it(tmp_path: Path) -> None:
    terminal = pty.openpty()
    async with hub_program(terminal=terminal) as hub:
        os.kill(hub.news["pid"], signal.SIGHUP)
        await hub.logs("built-in")
        os.close(terminal[0])
        assert (await hub.ended())[0] == 0
    async with open_store(tmp_path / "home") as store:
        assert [event.event for event in await store.audit.tail(limit=2)] == ["policy.loaded", "hub.stopped"]


async def test_a_hub_without_a_reader_of_its_log_goes_on(tmp_path: Path) -> None:
    async with hub_program() as hub:
        assert hub.process.stderr is not None
        hub.process.stderr._transport.close()  # type: ignore[attr-defined]
        socket = await open_socket(hub.news["address"])
        await socket.send(b"garbage")  # something to log
        await within(socket.wait_closed())
        hub.process.send_signal(signal.SIGTERM)
        assert await within(hub.process.wait()) == 0


async def test_what_keeps_it_from_starting_is_one_line_for_both_its_readers(tmp_path: Path) -> None:
    async with hub_program() as first, hub_program() as second:
        status, logged = await second.ended()
        assert status == program.FAILED
        assert second.news == {"error": logged.removeprefix("cloche hub: ").rstrip("\n")}
        assert f"another hub (pid {first.process.pid})" in logged
        assert logged.count("\n") == 1


# In this process: what needs no process of its own.


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--listen", "nowhere"], "setting listen (from the command line) is wrong: give HOST:PORT"),
        (["--listen", "192.0.2.1:1"], "plain_tcp"),
        (["--tls-cert", "/nowhere/cert.pem"], "tls_cert and tls_key go together"),
        (
            ["--listen", "127.0.0.1:0", "--tls-cert", "/nowhere/c.pem", "--tls-key", "/nowhere/k.pem"],
            "cannot use tls_cert /nowhere/c.pem",
        ),
    ],
    ids=["bad address", "beyond loopback", "half of tls", "no certificate"],
)
def test_a_wrong_setting_is_one_line_and_status_125(
    options: list[str], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    read_end, write_end = os.pipe()
    assert program.main(["serve", "--ready-fd", str(write_end), *options]) == 125
    error = capfd.readouterr().err
    assert words in error
    assert error.startswith("cloche hub: ")
    assert error.count("\n") == 1
    with os.fdopen(read_end) as pipe:
        assert words in json.loads(pipe.read())["error"]


def test_a_defect_is_one_line_for_people_and_the_whole_story_for_the_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cloche_hub.settings.load_settings", lambda **_: 1 / 0)
    assert program.main(["serve"]) == 125
    error = capfd.readouterr().err
    assert error.splitlines()[-1].startswith("cloche hub: a defect in the hub (ZeroDivisionError)")


def test_a_ready_descriptor_that_is_none_changes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert program.main(["serve", "--ready-fd", "9999", "--listen", "nowhere"]) == 125
    assert capfd.readouterr().err.count("\n") == 1


# Verifying.


async def some_audit(home: Path) -> str:
    """A database with a few events; returns the head's hash."""
    async with open_store(home) as store:
        for _ in range(3):
            await store.write(
                lambda transaction: transaction.append_audit(AuditName.HUB_STARTED, actor="hub")
            )
        return store.audit.head.hash


def test_a_chain_that_holds_is_said_to_hold(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    head = asyncio.run(some_audit(tmp_path / "home"))
    database = str(tmp_path / "home" / "hub.db")
    assert program.main(["verify", database]) == 0
    assert capfd.readouterr().out == f"the chain holds: 3 events, head {head}\n"
    assert program.main(["verify", "--json", database]) == 0
    assert json.loads(capfd.readouterr().out) == {"events": 3, "head": head}


def test_what_cannot_be_verified_is_one_line_and_status_125(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["verify", str(tmp_path / "nothing.db")]) == 125
    assert "nothing.db" in capfd.readouterr().err

    def broken(_path: Path) -> None:
        raise AuditBroken("event 2: its content is not what was recorded", seq=2)

    monkeypatch.setattr("cloche_hub.store.offline.verify_file", broken)
    assert program.main(["verify", str(tmp_path / "hub.db")]) == 125
    assert capfd.readouterr().err == "cloche: event 2: its content is not what was recorded\n"


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("", "cloche: . is not a regular file; give a hub's database or an export\n"),
        ("/", "cloche: / is not a regular file; give a hub's database or an export\n"),
        ("/dev/null", "cloche: /dev/null is not a regular file; give a hub's database or an export\n"),
        ("/etc/passwd", "cloche: /etc/passwd is neither a hub's database nor an export\n"),
        ("/no\nwhere", "cloche: cannot read /no\\nwhere: No such file or directory\n"),
    ],
)
def test_a_file_that_is_no_chain_is_refused_in_one_line(
    file: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["verify", "--", file]) == 125
    assert capfd.readouterr() == ("", said)


def test_without_a_hub_a_defect_shows_where_only_when_asked(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cloche_hub.store.offline.verify_file", lambda _: 1 / 0)
    assert program.main(["verify", "x"]) == 125
    assert capfd.readouterr().err == (
        "cloche: a defect: ZeroDivisionError: division by zero; CLOCHE_DEBUG=1 shows where\n"
    )
    monkeypatch.setenv("CLOCHE_DEBUG", "1")
    program.main(["verify", "x"])
    assert "Traceback" in capfd.readouterr().err


def test_an_answer_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        # SAFETY: our own program, with arguments of this test.
        done = subprocess.run(
            [sys.executable, "-m", "cloche_hub", "doctor"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=30,
        )
    assert done.returncode == 125
    assert done.stderr == b"cloche: cannot write the output: No space left on device\n"


def test_a_reader_who_leaves_is_no_error() -> None:
    # SAFETY: our own program, with arguments of this test.
    with subprocess.Popen(
        [sys.executable, "-m", "cloche_hub", "doctor"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(30) == 141


def test_a_command_is_needed_and_help_lists_them(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        program.main([])
    assert raised.value.code == 2
    with pytest.raises(SystemExit):
        program.main(["--help"])
    out = capfd.readouterr().out
    assert all(command in out for command in ("serve", "doctor", "verify"))
