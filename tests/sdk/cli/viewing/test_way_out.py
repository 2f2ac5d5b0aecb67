"""The key that leaves, in whatever form and beside whatever it is typed."""

from __future__ import annotations

import pytest

from cloche.cli.viewing.way_out import WAIT_S, DetachKey, Move, WayOut
from cloche.errors import BadRequest

SOON = WAIT_S / 2
LATE = WAIT_S * 2


def _typed(*pieces: tuple[float, bytes], key: str = "ctrl+]") -> list[bytes | Move]:
    way_out = WayOut(DetachKey.parse(key))
    return [meant for now, data in pieces for meant in way_out.typed(data, now)]


def test_what_is_typed_passes_untouched() -> None:
    data = b"ls -l\r\x03\x04\x1b\x1bOA\x1b[A\x1b[1;5C\x1b[<0;3;4M\x1b[97;5u\xc3\xa9\xff\x00" + bytes(
        range(30, 256)
    )
    assert _typed((0, data)) == [data]


@pytest.mark.parametrize(
    "form",
    [
        b"\x1d",
        b"\x1b[93;5u",
        b"\x1b[93;5:1u",
        b"\x1b[93::93;5u",
        b"\x1b[93:125:93;5:2;29u",
        b"\x1b[93;69u",  # with caps lock
        b"\x1b[93;133u",  # with num lock
        b"\x1b[27;5;93~",
    ],
)
def test_the_key_is_found_in_every_form_a_terminal_sends(form: bytes) -> None:
    way_out = WayOut(DetachKey("]"))
    assert list(way_out.typed(b"ls" + form, 10.0)) == [b"ls"]
    deadlines = [way_out.deadline]
    moves = [way_out.time_is_up(), way_out.time_is_up()]
    deadlines.append(way_out.deadline)
    assert (deadlines, moves) == ([10.0 + WAIT_S, None], [Move.LEAVE, None])


@pytest.mark.parametrize(
    "form", [b"\x1b[93;5:3u", b"\x1b[93;6u", b"\x1b[93u", b"]", b"\x1b[27;6;93~", b"\x1b[29u"]
)
def test_another_key_is_not_taken_for_it(form: bytes) -> None:
    way_out = WayOut(DetachKey("]"))
    assert list(way_out.typed(form, 0)) == [form]
    assert way_out.deadline is None


@pytest.mark.parametrize("form", [b"\x1d", b"\x1b[93;5u"])
def test_twice_in_time_types_it_once(form: bytes) -> None:
    assert _typed((0, form), (SOON, form + b"x")) == [form + b"x"]
    assert _typed((0, b"a" + form + form + b"b")) == [b"a" + form + b"b"]


def test_three_times_types_it_once_and_waits() -> None:
    way_out = WayOut(DetachKey("]"))
    assert list(way_out.typed(b"\x1d\x1d\x1d", 0)) == [b"\x1d"]
    assert way_out.time_is_up() is Move.LEAVE


def test_twice_too_late_leaves() -> None:
    assert _typed((0, b"\x1d"), (LATE, b"\x1dx")) == [Move.LEAVE]
    assert _typed((0, b"\x1d"), (LATE, b"g")) == [Move.LEAVE]


def test_another_key_leaves_at_once_and_is_not_typed() -> None:
    assert _typed((0, b"ls\x1d"), (SOON, b"xy")) == [b"ls", Move.LEAVE]


@pytest.mark.parametrize("g", [b"g", b"\x1b[103u", b"\x1b[103;1:1;103u"])
def test_g_gives_and_what_follows_is_typed(g: bytes) -> None:
    assert _typed((0, b"a\x1d"), (SOON, g), (SOON, b"g")) == [b"a", Move.GIVE, b"g"]


@pytest.mark.parametrize("g", [b"G", b"\x07", b"\x1b[103;5u"])
def test_only_a_plain_g_gives(g: bytes) -> None:
    assert _typed((0, b"\x1d"), (SOON, g)) == [Move.LEAVE]


def test_keys_let_go_modifiers_mouse_and_focus_do_not_count_in_between() -> None:
    quiet = b"\x1b[93;5:3u\x1b[57442;5:3u\x1b[<35;3;4M\x1b[M !!\x1b[O\x1b[I"
    assert _typed((0, b"\x1b[93;5u"), (SOON, quiet), (SOON, b"g")) == [Move.GIVE]


def test_what_is_pasted_is_never_taken_for_the_key() -> None:
    paste = b"\x1b[200~a\x1d\x1b[93;5ub\x1b[201~"
    assert _typed((0, paste + b"\x1d"), (LATE, b"")) == [paste]
    for cut in range(1, len(paste)):
        pieces = _typed((0, paste[:cut]), (0, paste[cut:] + b"\x1dx"))
        # A mark that is cut in two is none, since a terminal sends it in one piece.
        if cut > 5:
            assert pieces == [paste[:cut], paste[cut:], Move.LEAVE]


def test_a_paste_without_an_end_does_not_keep_anybody_in() -> None:
    way_out = WayOut(DetachKey("]"))
    assert list(way_out.typed(b"\x1b[200~abc", 0)) == [b"\x1b[200~abc"]
    assert list(way_out.typed(b"\x1d", 1)) == [b"\x1d"]
    assert list(way_out.typed(b"\x1d", 4)) == []
    assert way_out.time_is_up() is Move.LEAVE


@pytest.mark.parametrize(
    ("text", "name", "byte"),
    [("ctrl+]", "ctrl+]", 0x1D), ("CTRL-Q", "ctrl+q", 0x11), ("^a", "ctrl+a", 1), ("C-\\", "ctrl+\\", 0x1C)],
)
def test_a_key_is_read_as_people_write_it(text: str, name: str, byte: int) -> None:
    key = DetachKey.parse(text)
    assert (key.name, key.byte) == (name, byte)
    assert _typed((0, bytes([byte]) + b"x"), key=text) == [Move.LEAVE]


@pytest.mark.parametrize("text", ["", "q", "ctrl+", "ctrl+qq", "alt+q", "ctrl+1", "ctrl+é", "f12"])
def test_what_is_no_such_key_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadRequest, match=r"such as ctrl\+\] or ctrl\+q"):
        DetachKey.parse(text)


@pytest.mark.parametrize(("letter", "name"), [("m", "Enter"), ("i", "Tab"), ("[", "Esc"), ("h", "Backspace")])
def test_keys_needed_for_typing_are_refused(letter: str, name: str) -> None:
    with pytest.raises(BadRequest, match=f"is {name} to a terminal"):
        DetachKey.parse(f"ctrl+{letter}")
