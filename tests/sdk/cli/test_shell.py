"""`cloche shell` in a real terminal, as a process of its own."""

from __future__ import annotations

import os
import signal

import pytest

from tests.sdk.cli.conftest import Cloche
from tests.support.local_hub import LocalHub
from tests.support.terminal import shell_in_terminal


@pytest.fixture(autouse=True)
async def _box(hub: LocalHub, cloche: Cloche) -> None:
    await cloche("create", "--name", "box")


async def test_the_way_out_is_announced_and_works_and_the_terminal_is_as_before() -> None:
    async with shell_in_terminal("box") as terminal:
        await terminal.shows(b"ctrl+] leaves")
        terminal.type(b"echo in-$((1+1))\n")
        await terminal.shows(b"in-2")
        terminal.type(b"\x1d")
        assert await terminal.ends() == 0
    assert b"left box; its terminal is closed" in terminal.seen


async def test_what_a_program_left_on_in_the_terminal_is_switched_off() -> None:
    async with shell_in_terminal(
        "box", "--", "sh", "-c", "printf '\\033[?1049h\\033[?1000hready'; cat"
    ) as terminal:
        await terminal.shows(b"ready")
        terminal.type(b"\x1d")
        assert await terminal.ends() == 0
    assert b"\x1b[?1049l\x1b[?1000l" in terminal.seen


async def test_every_key_reaches_the_program_ctrl_c_and_ctrl_d_too() -> None:
    script = "stty raw -echo; echo ready; dd bs=1 count=5 2>/dev/null | od -An -tx1"
    async with shell_in_terminal("box", "--", "sh", "-c", script) as terminal:
        await terminal.shows(b"ready")
        terminal.type(b"\x03\x04\x1a\x1b\xff")
        await terminal.shows(b"03 04 1a 1b ff")
        assert await terminal.ends() == 0


async def test_the_size_is_that_of_the_window_also_after_it_changes() -> None:
    script = "stty size; trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done"
    async with shell_in_terminal("box", "--", "sh", "-c", script) as terminal:
        await terminal.shows(b"ready")
        assert b"30 100" in terminal.seen
        terminal.resize(40, 120)
        await terminal.shows(b"40 120")
        assert await terminal.ends() == 0


async def test_the_exit_status_is_the_program_s_own() -> None:
    async with shell_in_terminal("box", "--", "sh", "-c", "exit 7") as terminal:
        assert await terminal.ends() == 7
    async with shell_in_terminal("box", "--", "sh", "-c", "kill -TERM $$") as terminal:
        assert await terminal.ends() == 128 + signal.SIGTERM


async def test_a_terminal_that_hangs_up_ends_it(hub: LocalHub) -> None:
    async with shell_in_terminal("box", "--", "cat") as terminal:
        await terminal.shows(b"leaves")
        os.kill(terminal.process.pid, signal.SIGHUP)
        assert await terminal.ends() == 128 + signal.SIGHUP


async def test_without_a_terminal_it_says_what_to_use(program: Cloche) -> None:
    ran = await program("shell", "box")
    assert ran.status == 125
    assert ran.err == (
        "cloche: a shell needs a terminal for its input and output; without one use: cloche exec box -- COMMAND\n"
    )


async def test_a_sandbox_that_is_not_there_is_one_line() -> None:
    async with shell_in_terminal("nothing") as terminal:
        assert await terminal.ends() == 125
    assert terminal.seen == b"cloche: no sandbox 'nothing'; `cloche ls` lists them\r\n"
