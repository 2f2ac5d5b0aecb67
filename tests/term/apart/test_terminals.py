"""Terminals are opened in processes of their own, and nothing is left of them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from cloche_term import SnapshotUnreadable
from cloche_term.apart import terminals as terminals_module
from cloche_term.apart.frames import MOST_FRAME
from cloche_term.apart.terminal import ApartTerminal
from cloche_term.apart.terminals import Terminals, open_terminals
from cloche_term.apart.zygote import Zygote
from cloche_term.errors import TerminalLost
from tests.term.apart.lost import expect_lost
from tests.term.apart.processes import all_end, descriptors_of, watch


async def first_line_of(terminal: ApartTerminal) -> str:
    return (await terminal.look()).lines[0]


async def test_a_snapshot_of_one_is_restored_in_another(terminals: Terminals) -> None:
    first = await terminals.open(5, 40, scrollback_lines=100)
    await first.feed(b"line\r\n" * 50 + b"last")
    second = await terminals.restore(await first.snapshot(), scrollback_lines=100)
    assert await second.dump(scrollback_lines=100) == await first.dump(scrollback_lines=100)
    assert (await second.look()).first_line == (await first.look()).first_line == 46


@pytest.mark.parametrize("snapshot", [b"nonsense", bytes(MOST_FRAME)], ids=["nonsense", "too large"])
async def test_a_snapshot_that_is_none_costs_nothing(terminals: Terminals, snapshot: bytes) -> None:
    with pytest.raises(SnapshotUnreadable):
        await terminals.restore(snapshot)
    assert all(terminal.is_lost for terminal in terminals._open)
    assert await first_line_of(await terminals.open(3, 20)) == ""


async def test_a_size_that_no_terminal_has_is_refused(terminals: Terminals) -> None:
    with pytest.raises(ValueError, match="each must be"):
        await terminals.open(0, 20)


async def test_opening_can_be_cancelled_at_any_point(terminals: Terminals) -> None:
    async with asyncio.TaskGroup() as tasks:
        good = await terminals.open(3, 20)
        for turns in range(12):
            cancelled = tasks.create_task(terminals.open(3, 20))
            for _ in range(turns):
                await asyncio.sleep(0)
            cancelled.cancel()
            await asyncio.wait([cancelled])
        assert await first_line_of(good) == ""


async def test_many_terminals_are_opened_and_used_at_once(terminals: Terminals) -> None:
    opened = await asyncio.gather(*(terminals.open(3, 20) for _ in range(40)))
    assert len({terminal.pid for terminal in opened}) == 40
    await asyncio.gather(*(one.feed(b"%d" % number) for number, one in enumerate(opened)))
    shown = await asyncio.gather(*(first_line_of(one) for one in opened))
    assert shown == [str(number) for number in range(40)]


async def test_nothing_is_left_running_or_open(zygote: Zygote) -> None:
    zygote.start()
    before = descriptors_of(os.getpid())
    async with open_terminals(zygote=zygote) as terminals:
        opened = [await terminals.open(3, 20) for _ in range(4)]
        await opened[0].close()
        await opened[0].close()
        os.kill(opened[1].pid, signal.SIGKILL)
        await expect_lost(opened[1])
        running = watch(terminal.pid for terminal in opened[2:])
    assert all_end(running)
    assert descriptors_of(os.getpid()) == before
    with pytest.raises(TerminalLost):
        await terminals.open(3, 20)
    await terminals.close()


async def test_without_a_process_given_to_them_they_have_one_of_their_own_and_end_it() -> None:
    async with open_terminals() as terminals:
        terminals.start()
        terminals.start()
        await terminals.open(3, 20)
        pid = terminals._zygote.pid
        assert pid is not None
        running = watch([pid])
    assert all_end(running)
    with pytest.raises(TerminalLost):
        terminals.start()


def test_several_event_loops_have_terminals_of_one_process_one_after_the_other(zygote: Zygote) -> None:
    async def once() -> str:
        async with open_terminals(patience_s=30, zygote=zygote) as terminals:
            terminal = await terminals.open(3, 20)
            await terminal.feed(b"here")
            return await first_line_of(terminal)

    assert [asyncio.run(once()) for _ in range(3)] == ["here"] * 3


async def test_terminals_can_be_opened_again_when_the_process_they_come_from_was_killed() -> None:
    async with open_terminals(patience_s=30) as terminals:
        terminal = await terminals.open(3, 20)
        pid = terminals._zygote.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        # All who come at once get one of the new process.
        opened = await asyncio.gather(*(terminals.open(3, 20) for _ in range(4)))
        assert [await first_line_of(one) for one in opened] == [""] * 4
        # All its workers end with it.
        await expect_lost(terminal)


async def test_who_waits_for_a_terminal_when_that_process_is_killed_gets_one_of_the_next() -> None:
    async with open_terminals(patience_s=30) as terminals, asyncio.TaskGroup() as tasks:
        await terminals.open(3, 20)
        pid = terminals._zygote.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        opening = [tasks.create_task(terminals.open(3, 20)) for _ in range(4)]
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        assert [await first_line_of(await one) for one in opening] == [""] * 4
        # Who notices late does not wait for the end of the one that has been started meanwhile.
        assert await terminals._has_ended(pid)


async def test_who_wants_a_terminal_when_that_process_was_stopped_has_it_continued_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    troubles: list[str] = []
    monkeypatch.setattr(terminals_module, "_LOOK_S", 0.1)
    async with open_terminals(patience_s=30, on_trouble=troubles.append) as terminals:
        before = await terminals.open(3, 20)
        await before.feed(b"kept")
        pid = terminals._zygote.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        opened = await asyncio.gather(*(terminals.open(3, 20) for _ in range(4)))
        assert [await first_line_of(one) for one in [before, *opened]] == ["kept", "", "", "", ""]
        assert terminals._zygote.pid == pid
    assert troubles == [
        f"the process that terminals come from ({pid}) was stopped by somebody: it is continued"
    ]


async def test_a_stopped_process_that_does_not_go_on_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    troubles: list[str] = []
    monkeypatch.setattr(terminals_module, "_LOOK_S", 0.1)
    # As where somebody stops it again at once.
    monkeypatch.setattr(Zygote, "wake", lambda _: None)
    async with open_terminals(patience_s=30, on_trouble=troubles.append) as terminals:
        before = await terminals.open(3, 20)
        pid = terminals._zygote.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        running = watch([pid, before.pid])
        opened = await asyncio.gather(*(terminals.open(3, 20) for _ in range(4)))
        assert [await first_line_of(one) for one in opened] == [""] * 4
        assert terminals._zygote.pid != pid
        assert all_end(running)
        await expect_lost(before)
    assert troubles[-1] == (
        f"the process that terminals come from ({pid}) stays stopped: "
        "it is ended with its terminals, and another one started"
    )
    assert len([trouble for trouble in troubles if "stays stopped" in trouble]) == 1


async def test_a_process_that_is_only_slow_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    troubles: list[str] = []
    monkeypatch.setattr(terminals_module, "_LOOK_S", 0.01)
    async with open_terminals(patience_s=30, on_trouble=troubles.append) as terminals:
        # It has to start first, which takes it much longer than that.
        assert await first_line_of(await terminals.open(3, 20)) == ""
    assert troubles == []


_PARENT = """
import asyncio, sys
from cloche_term.apart.terminals import open_terminals

async def main():
    async with open_terminals() as terminals:
        opened = [await terminals.open(3, 20) for _ in range(2)]
        print(terminals._zygote.pid, *(one.pid for one in opened), flush=True)
        await asyncio.sleep(1000)

asyncio.run(main())
"""


def test_all_processes_end_with_the_one_that_started_them() -> None:
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        try:
            running = watch(int(pid) for pid in parent.stdout.readline().split())
        finally:
            parent.kill()
    assert len(running) == 3
    assert all_end(running)
