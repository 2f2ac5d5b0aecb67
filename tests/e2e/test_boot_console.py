"""A real machine's serial console, watched through the whole stack: as it runs, without its agent, and as it dies."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from cloche import aio
from cloche.errors import CodedError
from cloche_hub.ports import Image
from tests.support.real_hub import RealHub

pytestmark = pytest.mark.machine


@pytest.fixture
async def box(client_env: RealHub, minimal_image: Image) -> AsyncIterator[aio.Sandbox]:
    async with aio.Hub.connect() as hub, hub.create("minimal") as sandbox:
        yield sandbox


async def test_what_a_machine_says_is_seen_by_those_who_watch(box: aio.Sandbox) -> None:
    async with box.attach("boot") as console:
        assert not console.is_driving
        assert "\x1b" not in (await console.look()).text
        await box.run(["sh", "-c", "echo hello from the kernel > /dev/console"], user="root")
        screen = await console.until("hello from the kernel")
        assert (screen.rows, screen.cols, screen.is_alternate) == (24, 80, False)


async def test_a_flooded_console_is_followed_while_commands_run(box: aio.Sandbox) -> None:
    flood = "yes flood | head -c 2000000 > /dev/console; echo that was all > /dev/console"
    async with box.attach("boot") as console, asyncio.TaskGroup() as tasks:
        flooding = tasks.create_task(box.run(["sh", "-c", flood], user="root"))
        await console.until("flood\nflood\nflood")
        for _ in range(3):
            assert (await box.run(["echo", "alive"])).stdout == "alive\n"
        await console.until("that was all", timeout_s=60)
        assert (await flooding).ok


async def test_the_last_words_of_a_machine_that_dies_are_seen_and_can_be_read_afterwards(
    box: aio.Sandbox,
) -> None:
    async with box.attach("boot") as console:
        with contextlib.suppress(CodedError):
            await box.run(["sh", "-c", "echo c > /proc/sysrq-trigger"], user="root")
        shown = b"".join([data async for data in console])
        assert b"Kernel panic" in shown
        assert (await console.wait()).exit_code is None
        last = (await console.look()).lines
    async with box.attach("boot", scrollback=100) as console:
        assert (await console.look()).lines == last
        assert b"Kernel panic" in b"".join([data async for data in console])
    (boot,) = await box.consoles(ended=True)
    assert (boot.name, boot.kind, boot.state) == ("boot", "boot", "ended")
