"""What viewers ask for is done as the terminal does it, and answers that cannot be are refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing

import pytest

from cloche_term import Key, Match, Mouse, MouseAction, MouseButton, Terminal, open_terminal
from cloche_term.apart import viewing
from cloche_term.apart.frames import MOST_LINK_BYTES, FrameError, Kind
from cloche_term.apart.viewing import read_lines, read_link, read_matches, told
from cloche_term.opening import BACKENDS


@pytest.fixture(params=BACKENDS)
def terminal(request: pytest.FixtureRequest) -> Iterator[Terminal]:
    """One with scrollback, of each kind."""
    with closing(open_terminal(4, 20, backend=request.param)) as terminal:
        terminal.feed(b"".join(b"line %d\r\n" % number for number in range(20)))
        terminal.feed(b"\x1b]8;;http://x/y\x07link\x1b]8;;\x07")
        terminal.update()
        yield terminal


def test_the_view_is_scrolled(terminal: Terminal) -> None:
    first = terminal.first_line
    assert told(terminal, Kind.SCROLL, viewing.pack_line(-3)) == b""
    assert terminal.view_line == first - 3
    told(terminal, Kind.SCROLL_TO, viewing.pack_line(5))
    assert terminal.view_line == 5
    told(terminal, Kind.SCROLL_TO_END, b"")
    assert terminal.view_line == first


def test_it_is_scrolled_no_farther_than_there_are_lines(terminal: Terminal) -> None:
    told(terminal, Kind.SCROLL, viewing.pack_line(-(1 << 70)))
    assert terminal.view_line == terminal.first_line - terminal.scrollback_rows
    told(terminal, Kind.SCROLL, viewing.pack_line(1 << 70))
    assert terminal.view_line == terminal.first_line


def test_matches_are_those_of_the_terminal(terminal: Terminal) -> None:
    answer = told(terminal, Kind.SEARCH, viewing.pack_search("LINE 1", 3))
    assert read_matches(answer, limit=3) == terminal.search("line 1", limit=3)
    assert read_matches(answer, limit=3)[-1] == Match(19, 0, 6)
    assert told(terminal, Kind.SEARCH, viewing.pack_search("nothing", 1 << 40)) == b""


class Strange:
    """A terminal that finds a text where nothing is."""

    def search(self, _text: str, *, limit: int) -> tuple[Match, ...]:
        return (Match(1, 2, -3), Match(1, 2, 3), Match(1, 5000, 1))[:limit]


def test_matches_where_nothing_can_be_are_not_told() -> None:
    strange: Terminal = Strange()  # type: ignore[assignment]
    answer = told(strange, Kind.SEARCH, viewing.pack_search("x", 5))
    assert read_matches(answer, limit=5) == (Match(1, 2, 3),)


def test_lines_are_those_of_the_terminal(terminal: Terminal) -> None:
    answer = told(terminal, Kind.LINES, viewing.pack_lines_between(18, 1 << 70))
    assert read_lines(answer, most=10) == ("line 18", "line 19", "link")
    assert read_lines(told(terminal, Kind.LINES, viewing.pack_lines_between(5, 5)), most=0) == ()


def test_a_link_is_that_of_the_terminal(terminal: Terminal) -> None:
    assert read_link(told(terminal, Kind.LINK, viewing.PLACE.pack(3, 0))) == "http://x/y"
    assert read_link(told(terminal, Kind.LINK, viewing.PLACE.pack(0, 0))) == ""


def test_keys_the_mouse_pastes_and_the_focus_type_what_the_terminal_says(terminal: Terminal) -> None:
    terminal.feed(b"\x1b[?1h\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?1004h")
    for key in (Key("up"), Key("a", ctrl=True), Key("é", alt=True), Key("f5", shift=True)):
        assert told(terminal, Kind.KEY, viewing.pack_key(key)) == terminal.encode_key(key) != b""
    mouse = Mouse(MouseAction.PRESS, MouseButton.WHEEL_UP, 2, 7, ctrl=True, shift=True)
    assert told(terminal, Kind.MOUSE, viewing.pack_mouse(mouse)) == terminal.encode_mouse(mouse) != b""
    assert told(terminal, Kind.PASTE, "grüße".encode()) == terminal.encode_paste("grüße")
    assert told(terminal, Kind.FOCUS, b"\1") == terminal.encode_focus(has_focus=True) == b"\x1b[I"
    assert told(terminal, Kind.FOCUS, b"\0") == terminal.encode_focus(has_focus=False)


def test_a_mouse_outside_of_the_screen_is_told_like_any_other(terminal: Terminal) -> None:
    terminal.feed(b"\x1b[?1003h\x1b[?1006h")
    mouse = Mouse(MouseAction.MOVE, MouseButton.LEFT, -1, 1 << 40)
    assert len(told(terminal, Kind.MOUSE, viewing.pack_mouse(mouse))) <= 100


@pytest.mark.parametrize(
    ("answer", "limit"),
    [
        (b"x", 10),
        (viewing._MATCH.pack(1, 2, 3) * 2, 1),
        (viewing._MATCH.pack(1 << 60, 0, 1), 10),
        (viewing._MATCH.pack(-(1 << 60), 0, 1), 10),
        (viewing._MATCH.pack(1, 1000, 1), 10),
        (viewing._MATCH.pack(1, 1, 0), 10),
        (viewing._MATCH.pack(1, 1, 0xFFFFFFFF), 10),
    ],
    ids=["cut", "too many", "too far down", "too far up", "too far right", "nothing", "too much"],
)
def test_matches_where_nothing_can_be_are_refused(answer: bytes, limit: int) -> None:
    with pytest.raises(FrameError):
        read_matches(answer, limit=limit)


@pytest.mark.parametrize("answer", [b"one\ntwo\n", b"one", b"\x1b[2J\n", b"\xff\n"])
def test_lines_that_nobody_has_asked_for_are_refused(answer: bytes) -> None:
    with pytest.raises(FrameError):
        read_lines(answer, most=1)


@pytest.mark.parametrize("answer", [b"http://\x1b[", b"\xff", b"x" * (MOST_LINK_BYTES + 1)])
def test_a_link_that_is_none_is_refused(answer: bytes) -> None:
    with pytest.raises(FrameError):
        read_link(answer)


@pytest.mark.parametrize("seed", range(10))
def test_whatever_is_answered_is_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        answer = chance.randbytes(chance.randint(0, 60))
        for read in (
            lambda told: read_matches(told, limit=5),
            lambda told: read_lines(told, most=5),
            read_link,
        ):
            try:
                read(answer)
            except FrameError:
                continue
