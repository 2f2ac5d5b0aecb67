"""The terminal a guest's output is emulated in: one that hostile output cannot crash, opened in one place."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import cloche
from cloche.cli.viewing.emulator import Slices, guest_terminal, slice_after

# Each crashes the native emulator, and the process it is in.
_CRASHES = (
    b"\x1b[?2027h\x1b[1;8r\x1b[905;775Hw\xcc\x81\xe0\xb8\xb3",
    b"\x1b[132;r\x1b[460;363H\x1b]8;id=24;http://x/y\x1b\\l\x1b[65536b",
)


@pytest.mark.parametrize("output", _CRASHES)
def test_output_that_crashes_native_code_is_only_output(output: bytes) -> None:
    terminal = guest_terminal(24, 80)
    assert terminal.backend == "bittty"
    terminal.feed(output)
    terminal.feed(b"\x1bc\x1b[Hhello")
    terminal.update()
    assert terminal.text()[0] == "hello"


def test_what_scrolls_out_of_it_is_not_kept() -> None:
    terminal = guest_terminal(2, 10)
    terminal.feed(b"line\r\n" * 100)
    assert terminal.scrollback_rows == 0


def test_what_scrolls_out_is_kept_as_far_as_wanted() -> None:
    terminal = guest_terminal(2, 10, scrollback_lines=1000)
    terminal.feed(b"one\r\ntwo\r\nthree")
    terminal.resize(3, 10)
    assert terminal.text() == ("one", "two", "three")


@pytest.mark.parametrize(
    ("size", "took_s", "following"),
    [
        (1024, 0.001, 2048),
        (32768, 0.001, 32768),
        (4096, 0.01, 4096),
        (4096, 2.0, 40),
        (8, 9.0, 1),
        (40, 0, 1024),
    ],
)
def test_slices_take_about_as_long_as_nobody_notices(size: int, took_s: float, following: int) -> None:
    assert slice_after(size, took_s) == following


async def test_other_work_has_its_turn_between_slices() -> None:
    turns, sliced = 0, b""

    async def work() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    output, slices = bytes(range(256)) * 1024, Slices()
    async with asyncio.TaskGroup() as tasks:
        working = tasks.create_task(work())
        count = 0
        async for piece in slices.of(output):
            sliced += piece
            count += 1
        working.cancel()
    assert sliced == output
    assert turns >= count - 1 > 5


def test_nothing_else_in_the_package_opens_a_terminal() -> None:
    package = Path(cloche.__file__).parent
    opening = [path.name for path in package.rglob("*.py") if "open_terminal" in path.read_text()]
    assert opening == ["emulator.py"]
