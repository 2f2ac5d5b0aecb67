"""Programs in a real machine that crash the emulator of their own console, which costs them a part of a screen."""

from __future__ import annotations

import pytest

from cloche import aio
from cloche.console_events import Notice
from cloche_hub.ports import Image
from tests.e2e.guarded import connected, within
from tests.support.real_hub import RealHub
from tests.term.apart.hostile import CRASH, PANIC

pytestmark = pytest.mark.machine

PROGRAM = r"""
stty -echo
printf ready
read -r _; printf %s "$1"
read -r _; printf '\033cgoes on'
read -r _; exit 7
"""
"""Prints what it is given when a key is pressed, and goes on."""


async def test_what_crashes_the_emulator_costs_a_part_of_that_screen_and_nobody_else_anything(
    real_hub: RealHub, minimal_image: Image
) -> None:
    assert real_hub.process is not None
    pid = real_hub.process.pid
    async with (
        connected(real_hub.address, real_hub.token) as hub,
        hub.create("minimal") as other,
        hub.create("minimal") as hostile,
        other.console(["cat"]) as neighbour,
    ):
        await neighbour.write("one\r")
        await within(neighbour.until("one\none\n"))
        for poison, rows in ((CRASH, 24), (PANIC, 625)):
            argv = ["sh", "-c", PROGRAM, "sh", poison.decode()]
            async with hostile.console(argv, rows=rows) as console:
                await within(console.until("ready"))
                await console.write("\r")
                assert "emulator was lost" in await within(_notice(console))
                await console.write("\r")
                assert (await within(console.until("goes on"))).lines[0] == "goes on"
                async with hostile.attach(console.name, mode="watch", rows=rows) as later:
                    shown = b""
                    while b"goes on" not in shown:
                        shown += await within(later.read())
                await console.write("\r")
                assert (await within(console.wait())).exit_code == 7
        await neighbour.write("two\r")
        await within(neighbour.until("two\ntwo\n"))
        assert (await within(neighbour.look())).lines[:4] == ("one", "one", "two", "two")
        assert (await hub.status()).pid == real_hub.process.pid == pid


async def _notice(console: aio.Console) -> str:
    """What people are told next at a console."""
    async for event in console.events():
        if isinstance(event, Notice) and "drives now" not in event.text:
            return event.text
    raise AssertionError("nobody was told anything")
