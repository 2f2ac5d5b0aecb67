"""What workers and hubs say to each other: what is written is read again, and what cannot be is refused."""

from __future__ import annotations

import pytest

from cloche_term import open_terminal
from cloche_term.apart.frames import (
    HEAD,
    LINES,
    MOST_FRAME,
    MOST_TEXT,
    FrameError,
    Kind,
    Look,
    State,
    frame,
    look_at,
    pack_lines,
    read_look,
    read_state,
    state_of,
)

STATE = State(rows=2, cols=10, title="a title", is_alternate=True, revision=7, cpu_s=0.5)


def told(data: bytes, *, rows: int = 2, cols: int = 10) -> bytes:
    """What is told of a terminal that has been fed this: its state, and a look."""
    terminal = open_terminal(rows, cols)
    terminal.feed(data)
    payload = state_of(terminal, revision=7, cpu_s=0.5) + look_at(terminal)
    terminal.close()
    return payload


def test_a_frame_is_its_kind_its_length_and_its_payload() -> None:
    assert frame(Kind.FEED, b"abc") == HEAD.pack(Kind.FEED, 3) + b"abc"


def test_a_frame_that_is_too_large_is_not_made() -> None:
    with pytest.raises(ValueError, match="at once"):
        frame(Kind.FEED, bytes(MOST_FRAME + 1))


def test_what_is_told_of_a_terminal_is_read_again() -> None:
    state, rest = read_state(told(b"\x1b]2;a title\x07\x1b[?1049h\x1b[Hone\r\ntwo"))
    assert state == STATE
    assert read_look(state, rest) == Look(
        rows=2,
        cols=10,
        lines=("one", "two"),
        cursor_row=1,
        cursor_col=3,
        is_cursor_visible=True,
        title="a title",
        is_alternate=True,
        first_line=0,
        revision=7,
    )


def test_the_text_of_a_look_is_bounded() -> None:
    rows, cols = 20, 500
    state, rest = read_state(told(("e" + "\u0301" * 63).encode() * rows * cols, rows=rows, cols=cols))
    assert len(rest) + rows * 200 > MOST_TEXT
    look = read_look(state, rest)
    assert all(0 < len(line.encode()) <= MOST_TEXT // rows for line in look.lines)


@pytest.mark.parametrize("cut", [0, 3, 17])
def test_a_state_that_is_cut_is_none(cut: int) -> None:
    with pytest.raises(FrameError):
        read_state(told(b"\x1b]2;a title\x07")[:cut])


@pytest.mark.parametrize(
    "change",
    [(b"\x00\x02\x00\x0a", b"\x00\x00\x00\x0a"), (b"\x00\x02\x00\x0a", b"\x00\x02\xff\xff")],
    ids=["no rows", "too many columns"],
)
def test_a_size_that_no_terminal_has_is_refused(change: tuple[bytes, bytes]) -> None:
    with pytest.raises(FrameError, match="columns"):
        read_state(told(b"").replace(*change, 1))


@pytest.mark.parametrize("title", [b"a\x1bc  ab", b"a\xff title"])
def test_a_title_that_no_terminal_has_is_refused(title: bytes) -> None:
    with pytest.raises(FrameError):
        read_state(told(b"\x1b]2;a title\x07").replace(b"a title", title))


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        (b"one\ntwo", b"one"),
        (b"one\ntwo", b"one\ntwo\nsix"),
        (b"one\ntwo", b"one\n\x1b[A"),
        (b"one\ntwo", b"one\n\xff"),
        (b"one\ntwo", b"one\n" + b"x" * (MOST_TEXT + 10)),
    ],
    ids=["fewer rows", "more rows", "controls", "no text", "too much"],
)
def test_a_look_at_what_no_screen_shows_is_refused(was: bytes, becomes: bytes) -> None:
    state, rest = read_state(told(b"one\r\ntwo"))
    with pytest.raises(FrameError):
        read_look(state, rest.replace(was, becomes))


def test_a_look_that_is_cut_is_refused() -> None:
    with pytest.raises(FrameError):
        read_look(STATE, b"\x00")


def test_a_cursor_outside_of_the_screen_is_refused() -> None:
    state, rest = read_state(told(b"one\r\ntwo"))
    with pytest.raises(FrameError):
        read_look(state, b"\x00\x02" + rest[2:])


@pytest.mark.parametrize(("count", "packed"), [(-1, 0), (5, 5), (1 << 40, 0xFFFFFFFF)])
def test_lines_are_as_many_as_there_can_be(count: int, packed: int) -> None:
    assert LINES.unpack(pack_lines(count)) == (packed,)
