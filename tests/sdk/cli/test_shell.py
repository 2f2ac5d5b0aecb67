"""`cloche shell` and `cloche attach` in a real terminal, as processes of their own."""

from __future__ import annotations

import os
import re
import signal

import pytest

from tests.sdk.cli.conftest import Cloche
from tests.support.local_hub import LocalHub
from tests.support.terminal import cloche_in_terminal, shell_in_terminal


@pytest.fixture(autouse=True)
async def _box(hub: LocalHub, cloche: Cloche) -> None:
    await cloche("create", "--name", "box")


async def test_the_way_out_is_announced_and_leaves_the_console_running() -> None:
    async with shell_in_terminal("box") as terminal:
        await terminal.has_on_screen("ctrl+] leaves")
        terminal.type(b"echo in-$((1+1))\n")
        await terminal.has_on_screen("in-2")
        terminal.type(b"\x1d")
        assert await terminal.ends() == 0
    assert "left box/1, which goes on; to come back: cloche attach box/1" in terminal.screen
    async with cloche_in_terminal("attach", "box") as terminal:
        await terminal.has_on_screen("in-2", "ctrl+] leaves")
        terminal.type(b"exit 3\n")
        assert await terminal.ends() == 3
    assert "box/1 has ended: exit code 3" in terminal.screen


async def test_what_has_scrolled_by_comes_first_as_far_as_it_is_wanted() -> None:
    async with shell_in_terminal("box", "--", "sh", "-c", "seq 1 300; cat") as terminal:
        await terminal.has_on_screen("300")
        terminal.type(b"\x1d")
        assert await terminal.ends() == 0
    for wanted, first in ((), 272), (("--scrollback", "100"), 172):
        async with cloche_in_terminal("attach", "box", "--watch", *wanted) as terminal:
            await terminal.has_on_screen("300")
            terminal.type(b"q")
            assert await terminal.ends() == 0
        shown = terminal.seen.replace(b"\x1b8", b"")  # where the cursor is put back, a digit follows
        assert [int(number) for number in re.findall(rb"(\d{3})\r\n", shown)] == [*range(first, 301)]


async def test_what_a_program_left_on_in_the_terminal_is_switched_off() -> None:
    async with shell_in_terminal(
        "box", "--", "sh", "-c", "printf '\\033[?1049h\\033[?1000hready'; cat"
    ) as terminal:
        await terminal.has_on_screen("ready")
        terminal.type(b"\x1d")
        assert await terminal.ends() == 0
    assert b"\x1b[?1000l\x1b[?1049l" in terminal.seen
    assert not terminal.is_alternate


async def test_every_key_reaches_the_program_ctrl_c_and_ctrl_d_too_and_the_way_out_typed_twice() -> None:
    script = "stty raw -echo; echo ready; dd bs=1 count=6 2>/dev/null | od -An -tx1"
    async with shell_in_terminal("box", "--", "sh", "-c", script) as terminal:
        await terminal.has_on_screen("ready")
        terminal.type(b"\x03\x04\x1a\x1b\xff\x1d\x1d")
        await terminal.shows(b"03 04 1a 1b ff 1d")
        assert await terminal.ends() == 0


async def test_the_way_out_can_be_another_key() -> None:
    async with shell_in_terminal("box", "--detach-key", "ctrl+q", "--", "cat") as terminal:
        await terminal.has_on_screen("ctrl+q leaves")
        terminal.type(b"a\x1db\r")
        await terminal.has_on_screen("a^]b")
        terminal.type(b"\x11")
        assert await terminal.ends() == 0
    async with cloche_in_terminal("attach", "box", env={"CLOCHE_DETACH_KEY": "^a"}) as terminal:
        await terminal.has_on_screen("ctrl+a leaves")
        terminal.type(b"\x01")
        assert await terminal.ends() == 0


async def test_the_size_is_that_of_the_window_also_after_it_changes() -> None:
    script = "stty size; trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done"
    async with shell_in_terminal("box", "--", "sh", "-c", script) as terminal:
        await terminal.has_on_screen("30 100", "ready")
        terminal.resize(40, 120)
        await terminal.shows(b"40 120")
        assert await terminal.ends() == 0


async def test_the_exit_status_is_the_program_s_own() -> None:
    async with shell_in_terminal("box", "--", "sh", "-c", "exit 7") as terminal:
        assert await terminal.ends() == 7
    async with shell_in_terminal("box", "--", "sh", "-c", "kill -TERM $$") as terminal:
        assert await terminal.ends() == 128 + signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
async def test_a_signal_puts_the_terminal_back_and_leaves_the_console_running(
    hub: LocalHub, number: signal.Signals
) -> None:
    async with shell_in_terminal("box", "--", "sh", "-c", "printf '\\033[?1003hready'; cat") as terminal:
        await terminal.has_on_screen("ready")
        os.kill(terminal.process.pid, number)
        assert await terminal.ends() == 128 + number
    assert b"\x1b[?1003l" in terminal.seen
    assert [console.state.is_open for console in hub.consoles.consoles.values()] == [True, True]


async def test_nothing_a_guest_writes_makes_the_terminal_type() -> None:
    script = r"printf '\033[c\033[6n\033]11;?\007\033P$qm\033\\\033[21tdone'; cat"
    async with shell_in_terminal("box", "--", "sh", "-c", script) as terminal:
        await terminal.has_on_screen("done")
        terminal.type(b"\x1d")
        assert await terminal.ends() == 0
    assert terminal.answers == b""


async def test_who_comes_second_watches_may_ask_and_is_given_to() -> None:
    async with shell_in_terminal("box", "--name", "work", "--", "cat") as ann:
        await ann.has_on_screen("ctrl+] leaves")
        async with cloche_in_terminal("attach", "box/work") as bob:
            await bob.has_on_screen("a asks, t takes, q leaves")
            bob.type(b"x")
            await bob.has_on_screen("you only watch")
            bob.type(b"a")
            await ann.has_on_screen("asks to drive: ctrl+] g gives")
            ann.type(b"\x1dg")
            await bob.has_on_screen("you drive now (given) · ctrl+] leaves")
            bob.type(b"hello\r")
            await ann.has_on_screen("hello")
            ann.type(b"t")
            await ann.has_on_screen("you drive now (taken) · ctrl+] leaves")
            await bob.has_on_screen("drives now (taken)", "q leaves")
            bob.type(b"q")
            assert await bob.ends() == 0
        ann.type(b"\x1d")
        assert await ann.ends() == 0


async def test_a_window_of_another_size_is_painted_and_so_is_its_status() -> None:
    async with shell_in_terminal("box", "--", "sh", "-c", "stty size; cat") as ann:
        await ann.has_on_screen("30 100")
        async with cloche_in_terminal("attach", "box", rows=10, cols=60) as bob:
            await bob.has_on_screen("30 100", "box/1 · admin drives")
            assert bob.is_alternate
            ann.type(b"hello\r")
            await bob.has_on_screen("hello\nhello")
            bob.type(b"t")
            await ann.has_on_screen("drives now (taken)")
            await bob.until(lambda: not bob.is_alternate)
            bob.type(b"\x1d")
            assert await bob.ends() == 0
        ann.type(b"q")
        assert await ann.ends() == 0


async def test_a_console_that_has_ended_shows_its_last_screen() -> None:
    async with shell_in_terminal("box", "--", "sh", "-c", "echo last words; exit 4") as terminal:
        assert await terminal.ends() == 4
    async with cloche_in_terminal("attach", "box/1") as terminal:
        assert await terminal.ends() == 4
    assert "last words" in terminal.screen
    assert "box/1 has ended: exit code 4" in terminal.screen


async def test_the_machine_s_own_console_can_be_watched() -> None:
    async with cloche_in_terminal("attach", "box/boot") as terminal:
        await terminal.has_on_screen("Linux version 6.1", "q leaves")
        terminal.type(b"q")
        assert await terminal.ends() == 0


@pytest.mark.parametrize(
    ("command", "instead"),
    [("shell", "cloche exec box -- COMMAND"), ("attach", "cloche consoles screen box")],
)
async def test_without_a_terminal_it_says_what_to_use(program: Cloche, command: str, instead: str) -> None:
    ran = await program(command, "box")
    assert ran.status == 125
    assert ran.err.endswith(f"needs a terminal for its input and output; without one use: {instead}\n")


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("attach", "box", "--watch", "--take"), "give --watch or --take, not both"),
        (("attach", "box/"), "names no console; give SANDBOX/CONSOLE"),
        (("shell", "box", "--detach-key", "ctrl+m"), "ctrl+m is Enter to a terminal"),
    ],
)
async def test_what_makes_no_sense_is_refused(cloche: Cloche, argv: tuple[str, ...], line: str) -> None:
    ran = await cloche(*argv)
    assert ran.status in (2, 125)
    assert line in ran.err


async def test_a_sandbox_that_is_not_there_is_one_line() -> None:
    async with shell_in_terminal("nothing") as terminal:
        assert await terminal.ends() == 125
    assert terminal.seen == b"cloche: no sandbox 'nothing'; `cloche ls` lists them\r\n"
