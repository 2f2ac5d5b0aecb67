"""What is typed at a terminal, as it is typed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import tty
from collections.abc import Iterator

import pytest

from cloche.cli.viewing.keyboard import Keyboard


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    """Both ends of a terminal."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    yield ours, theirs
    for descriptor in (ours, theirs):
        with contextlib.suppress(OSError):
            os.close(descriptor)


async def test_what_is_typed_is_read(ends: tuple[int, int]) -> None:
    ours, theirs = ends
    os.write(ours, b"ls\r")
    assert await Keyboard(theirs).read() == b"ls\r"


async def test_a_wait_ends_with_its_time(ends: tuple[int, int]) -> None:
    assert await Keyboard(ends[1]).read(0) is None


async def test_what_has_been_typed_is_read_also_when_there_is_no_time_to_wait(ends: tuple[int, int]) -> None:
    ours, theirs = ends
    os.write(ours, b"q")
    assert await Keyboard(theirs).read(0) == b"q"


async def test_a_read_that_is_called_off_takes_nothing(ends: tuple[int, int]) -> None:
    ours, theirs = ends
    keyboard = Keyboard(theirs)
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(keyboard.read())
        await asyncio.sleep(0)
        reading.cancel()
    os.write(ours, b"x")
    assert await keyboard.read() == b"x"


async def test_a_terminal_that_has_gone_away_is_an_end(ends: tuple[int, int]) -> None:
    ours, theirs = ends
    os.close(ours)
    assert await Keyboard(theirs).read() == b""
