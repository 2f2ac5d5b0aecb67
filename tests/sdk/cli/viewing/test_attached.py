"""A person attached to a console, in a real terminal: what has to work whatever the program and the hub do.

What is typed and shown from day to day is in `tests/sdk/cli/test_shell.py`.
"""

from __future__ import annotations

import asyncio
import termios

import pytest

from cloche_wire.aio import Channel
from tests.sdk.cli.conftest import Cloche
from tests.support.local_hub import LocalHub
from tests.support.terminal import cloche_in_terminal, shell_in_terminal


@pytest.fixture(autouse=True)
async def _box(hub: LocalHub, cloche: Cloche) -> None:
    await cloche("create", "--name", "box")


async def test_the_way_out_works_while_nothing_that_is_typed_is_taken(hub: LocalHub) -> None:
    async def read_nothing(channel: Channel) -> None:
        console = next(one for one in hub.consoles.consoles.values() if one.state.name == "1")
        channel.accept({"console": {**console.fields, "driver": "v1"}, "viewer": "v1"})
        for message in (
            {"screen": {"rows": 30, "cols": 100, "lost_bytes": 0}},
            {"output": b"ready"},
            {"live": 0},
        ):
            await channel.send_message(message)
        await channel.wait_confirmed()

    hub.handlers["console.attach"] = read_nothing
    async with shell_in_terminal("box", "--", "cat") as terminal:
        await terminal.has_on_screen("ready")
        for _ in range(3000):
            await asyncio.to_thread(terminal.type, b"x" * 1000)
        terminal.type(b"\x1d")
        assert await terminal.ends() == 0
    assert "what you type goes nowhere" in terminal.seen.decode()
    assert "left box/1" in terminal.screen


async def test_the_way_out_works_under_a_flood() -> None:
    async with shell_in_terminal("box", "--", "yes") as terminal:
        await terminal.has_on_screen("y\ny\ny")
        terminal.type(b"\x1d")
        assert await terminal.ends() == 0
    assert "left box/1" in terminal.screen


async def test_a_lost_hub_is_told_in_the_last_line_and_then_puts_the_terminal_back(hub: LocalHub) -> None:
    script = "printf '\\033[?1049h\\033[?1003hready'; cat"
    async with shell_in_terminal(
        "box", "--", "sh", "-c", script, env={"CLOCHE_RECONNECT_S": "1"}
    ) as terminal:
        before = termios.tcgetattr(terminal.ours)
        await terminal.has_on_screen("ready")
        assert termios.tcgetattr(terminal.ours) != before or not before[3] & termios.ECHO
        await hub.vanish()
        await terminal.shows(b"lost the hub")
        assert await terminal.ends() == 125
        assert termios.tcgetattr(terminal.ours)[3] & termios.ECHO
    assert b"\x1b[?1003l\x1b[?1049l" in terminal.seen
    assert not terminal.is_alternate


async def test_of_who_watches_pastes_mean_nothing_and_the_mouse_stays_as_it_was() -> None:
    async with shell_in_terminal("box", "--", "sh", "-c", "printf '\\033[?1003;2004hready'; cat") as ann:
        await ann.has_on_screen("ready")
        async with cloche_in_terminal("attach", "box") as bob:
            await bob.has_on_screen("ready", "q leaves")
            bob.type(b"take this, please: quit")
            await bob.has_on_screen("you only watch")
            assert b"\x1b[?1003" not in bob.seen
            bob.type(b"t")
            await bob.has_on_screen("you drive now (taken)")
            await bob.shows(b"\x1b[?1003")
            await ann.has_on_screen("drives now (taken)")
            bob.type(b"\x1d")
            assert await bob.ends() == 0
        ann.type(b"q")
        assert await ann.ends() == 0


@pytest.mark.parametrize("key", [b"t", b"a"])
async def test_who_came_to_watch_only_cannot_drive_by_a_key(key: bytes) -> None:
    async with shell_in_terminal("box", "--", "cat") as ann:
        await ann.has_on_screen("ctrl+] leaves")
        async with cloche_in_terminal("attach", "box", "--watch") as bob:
            await bob.has_on_screen("q leaves")
            bob.type(key)
            await bob.has_on_screen("come back without --watch")
            bob.type(b"q")
            assert await bob.ends() == 0
        ann.type(b"\x1d")
        assert await ann.ends() == 0


async def test_who_drives_is_asked_again_after_somebody_who_asked_has_gone() -> None:
    async with shell_in_terminal("box", "--", "cat") as ann:
        await ann.has_on_screen("ctrl+] leaves")
        async with cloche_in_terminal("attach", "box") as bob:
            await bob.has_on_screen("a asks")
            bob.type(b"a")
            await ann.has_on_screen("asks to drive")
            bob.type(b"q")
            assert await bob.ends() == 0
        ann.type(b"\x1dg")
        await ann.has_on_screen("nobody has asked to drive")
        ann.type(b"\x1d")
        assert await ann.ends() == 0


async def test_what_is_typed_while_the_hub_is_away_waits_for_it(hub: LocalHub) -> None:
    async with shell_in_terminal("box", "--", "sh", "-c", "printf ready; cat") as terminal:
        await terminal.has_on_screen("ready")
        await hub.deafen()
        hub.cut()
        await terminal.has_on_screen("lost the hub")
        terminal.type(b"typed meanwhile\r")
        await hub.listen()
        await terminal.has_on_screen("readytyped meanwhile", "the hub is back")
        terminal.type(b"\x1d")
        assert await terminal.ends() == 0
