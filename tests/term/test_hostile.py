"""What nobody means to write, and resizes at any time, on both emulators: they go on, and what they keep is bounded."""

from __future__ import annotations

import random

import pytest

from cloche_term import open_terminal, restore
from cloche_term.opening import BACKENDS
from cloche_term.terminal import LARGEST_SIZE, MOST_ANSWER_BYTES, MOST_TITLE_CHARACTERS, Terminal
from tests.term.hostile import soup
from tests.term.looks import look_of


def check(terminal: Terminal) -> None:
    """What must be true of any terminal at any time."""
    terminal.update()
    widths = [sum(run.cells for run in terminal.row(y)) for y in range(terminal.rows)]
    assert widths == [terminal.cols] * terminal.rows
    assert len(terminal.text()) == terminal.rows
    assert 0 <= terminal.cursor.row < terminal.rows
    assert 0 <= terminal.cursor.col < terminal.cols
    assert len(terminal.title) <= MOST_TITLE_CHARACTERS


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(20))
def test_soup_and_resizes_leave_a_whole_terminal(seed: int, backend: str) -> None:
    chance = random.Random(seed)
    terminal = open_terminal(
        chance.randint(1, 50), chance.randint(1, 150), scrollback_lines=100, backend=backend
    )
    for _ in range(30):
        size = terminal.rows, terminal.cols
        assert len(terminal.feed(soup(chance, chance.randint(1, 400)))) <= MOST_ANSWER_BYTES
        assert (terminal.rows, terminal.cols) == size
        check(terminal)
        if chance.random() < 0.5:
            terminal.resize(chance.randint(1, 50), chance.randint(1, 150))
            check(terminal)
    terminal.dump(scrollback_lines=100)
    terminal.close()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(8))
def test_a_program_that_paints_after_each_resize_is_shown_right(seed: int, backend: str) -> None:
    chance = random.Random(seed)
    terminal = open_terminal(24, 80, backend=backend)
    terminal.feed(b"$ program\r\n\x1b[?1049h")
    for _ in range(15):
        terminal.resize(chance.randint(2, 60), chance.randint(10, 200))
        edge = "=" * terminal.cols
        painted = [edge, *(f"row {y}" for y in range(1, terminal.rows - 1)), edge]
        terminal.feed("".join(f"\x1b[{y + 1}H\x1b[2K{text}" for y, text in enumerate(painted)).encode())
        assert terminal.text() == tuple(painted)
        check(terminal)
    terminal.feed(b"\x1b[?1049l")
    assert "$ program" in terminal.lines(0, terminal.first_line + terminal.rows)
    terminal.close()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(8))
def test_lines_survive_a_storm_of_resizes(seed: int, backend: str) -> None:
    chance = random.Random(seed)
    terminal = open_terminal(24, 80, backend=backend)
    for number in range(200):
        terminal.feed(f"line {number:03}\r\n".encode())
        if chance.random() < 0.2:
            terminal.resize(chance.randint(1, 60), chance.randint(10, 200))
    kept = [line for line in terminal.lines(0, 10_000) if line]
    assert kept == [f"line {number:03}" for number in range(200)]
    terminal.close()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "flood",
    [
        b"\x1b[9999999999;9999999999H",
        b"\x1b[" + b"1;" * 5000 + b"m",
        b"\x1b[" + b"9" * 50_000 + b"A",
        b"\x1b]2;" + b"x" * 200_000,
        b"\x1bP" + b"x" * 200_000,
        b"\x1b[>1u" * 5000,
        b"\x1b[22;0t" * 5000,
        b"\x1b7\x1b[?1049h" * 2000,
        b"e" + "\u0301".encode() * 20_000,
        b"\x1b[999999999b",
        b"a\x1b[999999999b" * 50,
        b"\x1b[999999999L\x1b[999999999@\x1b[999999999S\x1b[999999999I" * 50,
    ],
    ids=lambda flood: repr(flood[:12]),
)
def test_excess_is_taken_and_the_next_text_is_shown(flood: bytes, backend: str) -> None:
    terminal = open_terminal(24, 80, backend=backend)
    terminal.feed(flood)
    check(terminal)
    terminal.feed(b"\x18\x1b\\\x1b[?1049l\x1bcnext")
    assert terminal.text()[0] == "next"
    terminal.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_questions_without_end_are_answered_within_bounds(backend: str) -> None:
    terminal = open_terminal(24, 80, backend=backend)
    answers = terminal.feed(b"\x1b[c" * 100_000)
    assert 0 < len(answers) <= MOST_ANSWER_BYTES
    assert answers == b"\x1b[?62;22c" * (len(answers) // len(b"\x1b[?62;22c"))
    terminal.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_largest_and_the_smallest_terminal_work(backend: str) -> None:
    for size in ((LARGEST_SIZE, LARGEST_SIZE), (1, 1)):
        terminal = open_terminal(*size, backend=backend)
        terminal.feed(b"\x1b[999;999Hx")
        check(terminal)
        terminal.resize(1, LARGEST_SIZE)
        check(terminal)
        terminal.close()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(20))
def test_what_is_stored_of_soup_comes_back(seed: int, backend: str) -> None:
    chance = random.Random(seed)
    terminal = open_terminal(
        chance.randint(2, 30), chance.randint(2, 100), scrollback_lines=100, backend=backend
    )
    for _ in range(5):
        terminal.feed(soup(chance, chance.randint(1, 300)))
        again = restore(terminal.snapshot(), scrollback_lines=100)
        assert look_of(again) == look_of(terminal)
        again.close()
    terminal.close()
