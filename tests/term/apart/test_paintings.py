"""What viewers paint is what the terminal shows, and whatever else claims to be a painting is refused."""

from __future__ import annotations

import random
from array import array
from contextlib import closing

import pytest

from cloche_term import CursorShape, MouseTracking, Run, Style, Underline, open_terminal
from cloche_term.apart import paintings
from cloche_term.apart.frames import FrameError, State
from cloche_term.apart.paintings import (
    MOST_CHARACTERS_A_CELL,
    UNKNOWN,
    Painting,
    painting_of,
    read_painting,
)
from cloche_term.opening import BACKENDS
from cloche_term.terminal import PLAIN, Terminal
from tests.term.hostile import soup


def state_of(terminal: Terminal) -> State:
    title, is_alternate = terminal.title, terminal.modes.is_alternate
    return State(terminal.rows, terminal.cols, title, is_alternate, revision=3, cpu_s=0.0)


def painted(terminal: Terminal) -> bytes:
    """All rows, as a worker tells them."""
    terminal.update()
    return painting_of(terminal, range(terminal.rows), number=1)


def read(terminal: Terminal) -> Painting:
    return read_painting(state_of(terminal), painted(terminal), known_size=None)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_painting_says_all_that_a_widget_shows(backend: str) -> None:
    with closing(open_terminal(3, 20, backend=backend)) as terminal:
        terminal.feed(b"line\r\n" * 5 + b"\x1b[2J\x1b[H\x1b[1;4:3;38;5;9;48;2;1;2;3mbold\x1b[0m and plain")
        terminal.feed(
            "\x1b]2;a title\x07\x1b[2;1H日本\x1b[3 q\x1b[?1003h\x1b[?2004h\x1b[?1h\x1b[=5u".encode()
        )
        painting = read(terminal)
        style = Style(foreground=9, background=(1, 2, 3), is_bold=True, underline=Underline.CURLY)
        assert painting.rows[0] == (Run("bold", style, 4), Run(" and plain      ", PLAIN, 16))
        assert painting.rows[1] == (Run("日本" + " " * 16, PLAIN, 20),)
        assert painting.size == (3, 20)
        assert (painting.cursor.row, painting.cursor.col, painting.cursor.is_visible) == (1, 4, True)
        assert painting.cursor.shape is CursorShape.UNDERLINE
        assert painting.modes == terminal.modes
        assert painting.modes.mouse is MouseTracking.MOVES
        assert painting.title == "a title"
        lines = (painting.first_line, painting.view_line, painting.scrollback_rows)
        assert lines == (terminal.first_line, terminal.view_line, terminal.scrollback_rows)
        assert (painting.revision, painting.number) == (3, 1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(10))
def test_soup_is_painted_as_it_is_shown(seed: int, backend: str) -> None:
    chance = random.Random(seed)
    with closing(open_terminal(chance.randint(1, 40), chance.randint(1, 120), backend=backend)) as terminal:
        for _ in range(10):
            terminal.feed(soup(chance, 200))
            painting = read(terminal)
            assert painting.rows == {y: terminal.row(y) for y in range(terminal.rows)}
            assert painting.modes == terminal.modes
            assert painting.cursor == terminal.cursor


def test_a_style_is_read_as_one_object_however_often_it_is_there() -> None:
    with closing(open_terminal(2, 20)) as terminal:
        terminal.feed(b"\x1b[31mred\x1b[0m or \x1b[31mred\r\nred")
        rows = read(terminal).rows
        assert rows[0][0].style is rows[0][2].style is rows[1][0].style


class OneRun:
    """A terminal's row that is not one of a real one."""

    def __init__(self, terminal: Terminal, run: Run) -> None:
        self._terminal, self._run = terminal, run

    def row(self, _y: int) -> tuple[Run, ...]:
        return (self._run,)

    def __getattr__(self, name: str) -> object:
        return getattr(self._terminal, name)


def told(run: Run) -> tuple[State, bytes]:
    """A painting of one row that is this run."""
    with closing(open_terminal(1, 10, backend="bittty")) as terminal:
        strange: Terminal = OneRun(terminal, run)  # type: ignore[assignment]
        return state_of(terminal), painting_of(strange, [0], number=1)


def test_a_run_of_more_characters_than_anybody_could_see_is_shown_as_unknown_ones() -> None:
    state, payload = told(Run("e" + "\u0301" * 10 * MOST_CHARACTERS_A_CELL, PLAIN, 10))
    assert read_painting(state, payload, known_size=None).rows == {0: (Run(UNKNOWN * 10, PLAIN, 10),)}


@pytest.mark.parametrize(
    "run",
    [
        Run("x" * 9, PLAIN, 9),
        Run("x" * 11, PLAIN, 11),
        Run("\x1b" + "x" * 9, PLAIN, 10),
        Run("\x85" + "x" * 9, PLAIN, 10),
        Run("", PLAIN, 10),
    ],
    ids=["narrow", "wide", "controls", "new controls", "no text"],
)
def test_a_row_that_no_screen_shows_is_refused(run: Run) -> None:
    with pytest.raises(FrameError):
        read_painting(*told(run), known_size=None)


def test_what_has_not_been_painted_yet_must_be_whole() -> None:
    with closing(open_terminal(3, 10)) as terminal:
        terminal.update()
        part = painting_of(terminal, [1], number=2)
        painting = read_painting(state_of(terminal), part, known_size=(3, 10))
        assert set(painting.rows) == {1}
        for known_size in (None, (4, 10), (3, 11)):
            with pytest.raises(FrameError, match="not been painted"):
                read_painting(state_of(terminal), part, known_size=known_size)


def test_rows_stand_in_order_and_in_the_view() -> None:
    with closing(open_terminal(3, 10)) as terminal:
        terminal.update()
        size = (3, 10)
        backwards = painting_of(terminal, [1, 0], number=2)
        with pytest.raises(FrameError, match="order"):
            read_painting(state_of(terminal), backwards, known_size=size)
        outside = painting_of(terminal, [0, 2], number=2)
        terminal.resize(2, 10)
        with pytest.raises(FrameError):
            read_painting(state_of(terminal), outside, known_size=(2, 10))


@pytest.mark.parametrize(
    ("place", "value"),
    [(4, 0xFF), (6, 0xFF), (9, 3), (13, 5), (14, 32), (15, 0xFF), (23, 0xFF), (31, 0xFF)],
    ids=["row", "column", "shape", "mouse", "keyboard", "first line", "view line", "scrollback"],
)
def test_a_head_that_says_what_cannot_be_is_refused(place: int, value: int) -> None:
    with closing(open_terminal(3, 10)) as terminal:
        payload = bytearray(painted(terminal))
        payload[place] = value
        with pytest.raises(FrameError):
            read_painting(state_of(terminal), bytes(payload), known_size=None)


@pytest.mark.parametrize(
    ("styles", "places", "runs", "why"),
    [
        ([b""], [0, 1], [(10, 0, 10)], None),
        ([b""] * 2, [0, 1], [(10, 0, 10)], "styles"),
        ([b""], [0, 1, 1, 1], [(10, 0, 10), (10, 0, 10)], "rows"),
        ([b""], [0, 11], [(1, 0, 1)] * 11, "runs"),
        ([b""], [0, 1], [(5, 0, 10), (5, 0, 1)], "no row"),
        ([b""], [0, 1], [(10 * MOST_CHARACTERS_A_CELL + 1, 0, 10)], "characters"),
        ([b""], [0, 1], [(10, 1, 10)], "no style"),
        ([b"\1"], [0, 1], [(10, 0, 10)], "color"),
    ],
    ids=["right", "styles", "rows", "runs", "runs of no row", "characters", "no style", "color"],
)
def test_a_body_that_says_too_much_is_refused(
    styles: list[bytes], places: list[int], runs: list[tuple[int, int, int]], why: str | None
) -> None:
    with closing(open_terminal(1, 10, backend="bittty")) as terminal:
        state, head = state_of(terminal), painted(terminal)[: paintings._HEAD.size]
    text = b"x" * sum(run[0] for run in runs)
    told = b"".join(
        (
            head,
            paintings._COUNTS.pack(len(styles), len(places) // 2, len(runs), len(text)),
            *(style.rjust(4, b"\0").ljust(paintings._STYLE.size, b"\0") for style in styles),
            array(
                "I", [*places, *(number for numbers in zip(*runs, strict=True) for number in numbers)]
            ).tobytes(),
            text,
        )
    )
    if why is None:
        assert set(read_painting(state, told, known_size=None).rows) == {0}
    else:
        with pytest.raises(FrameError, match=why):
            read_painting(state, told, known_size=None)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_spoilt_is_refused_or_a_painting_within_all_bounds(seed: int) -> None:
    chance = random.Random(seed)
    with closing(open_terminal(5, 30)) as terminal:
        terminal.feed(soup(chance, 300) + b"\x1b[35;48;2;9;8;7mcolors\x1b[4:3m" + "日本".encode())
        state, whole = state_of(terminal), painted(terminal)
        refused = 0
        for _ in range(500):
            spoilt = bytearray(whole)
            for _ in range(chance.randint(1, 3)):
                spoilt[chance.randrange(len(spoilt))] = chance.choice((0, 1, 0x1B, 0x7F, 0xFF))
            if chance.random() < 0.2:
                del spoilt[chance.randrange(len(spoilt)) :]
            try:
                painting = read_painting(state, bytes(spoilt), known_size=None)
            except FrameError:
                refused += 1
            else:
                check(painting, state)
        assert refused


def check(painting: Painting, state: State) -> None:
    """What is so of every painting that has been read."""
    assert list(painting.rows) == list(range(state.rows))
    for runs in painting.rows.values():
        assert sum(run.cells for run in runs) == state.cols
        assert all(run.text and run.cells > 0 for run in runs)
        assert not any(
            ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for run in runs for character in run.text
        )
    assert 0 <= painting.cursor.row < state.rows
    assert 0 <= painting.cursor.col < state.cols
