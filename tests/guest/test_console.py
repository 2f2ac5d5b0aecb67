"""Lines on the console: printable, few, and never in anybody's way."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest

from cloche_guest.console import Console


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe2(os.O_NONBLOCK)
    yield reader, writer
    os.close(reader)
    os.close(writer)


def test_a_line_says_who_speaks_and_holds_no_control_characters(pipe: tuple[int, int]) -> None:
    Console(pipe[1]).line("a\x1b[2J\nb")
    assert os.read(pipe[0], 1000) == b"cloche agent: a?[2J?b\r\n"


def test_a_flood_is_cut_to_ten_lines_and_counted(pipe: tuple[int, int]) -> None:
    now = 100.0
    console = Console(pipe[1], lambda: now)
    for number in range(25):
        console.line(f"trouble {number}")
    assert os.read(pipe[0], 10_000).count(b"\n") == 10
    now = 111.0
    console.line("again")
    assert os.read(pipe[0], 10_000) == b"cloche agent: (15 lines left out)\r\ncloche agent: again\r\n"


def test_a_console_that_takes_nothing_holds_nobody_up(pipe: tuple[int, int]) -> None:
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe[1], bytes(4096))
    Console(pipe[1]).line("nobody hears this")


def test_an_error_says_what_where_and_during_what(pipe: tuple[int, int]) -> None:
    try:
        raise ValueError("broken")
    except ValueError as error:
        Console(pipe[1]).error(error, "command 7")
    line = os.read(pipe[0], 1000)
    assert line.startswith(b"cloche agent: command 7: ValueError: broken (test_console.py:")
