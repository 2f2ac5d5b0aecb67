"""What keys, mouse, paste and focus type in the fallback."""

from __future__ import annotations

import pytest

from cloche_term.keys import Key
from cloche_term.on_bittty import BitttyTerminal
from cloche_term.terminal import Mouse, MouseAction, MouseButton


@pytest.mark.parametrize(
    ("given", "key", "typed"),
    [
        (b"", Key("a"), b"a"),
        (b"", Key("A"), b"A"),
        (b"", Key("a", shift=True), b"A"),
        (b"", Key("a", command=True), b"a"),
        (b"\x1b[>1u", Key("a", command=True), b"\x1b[97;9u"),
        (b"", Key("ä"), "ä".encode()),
        (b"", Key("a", ctrl=True), b"\x01"),
        (b"", Key("a", alt=True), b"\x1ba"),
        (b"", Key("."), b"."),
        (b"", Key(".", alt=True), b"\x1b."),
        (b"", Key("i", ctrl=True), b"\t"),
        (b"", Key("h", ctrl=True), b"\x08"),
        (b"", Key("[", ctrl=True), b"\x1b"),
        (b"", Key(" ", ctrl=True), b"\x00"),
        (b"", Key("enter"), b"\r"),
        (b"", Key("tab"), b"\t"),
        (b"", Key("tab", shift=True), b"\x1b[Z"),
        (b"", Key("escape"), b"\x1b"),
        (b"", Key("backspace"), b"\x7f"),
        (b"", Key("delete"), b"\x1b[3~"),
        (b"", Key("up"), b"\x1b[A"),
        (b"\x1b[?1h", Key("up"), b"\x1bOA"),
        (b"", Key("left", ctrl=True), b"\x1b[1;5D"),
        (b"", Key("home"), b"\x1b[H"),
        (b"", Key("pageup"), b"\x1b[5~"),
        (b"", Key("f1"), b"\x1bOP"),
        (b"", Key("f5"), b"\x1b[15~"),
        (b"", Key("f3", shift=True), b"\x1b[1;2R"),
        (b"", Key("kp_5"), b"5"),
        (b"\x1b[>1u", Key("i", ctrl=True), b"\x1b[105;5u"),
        (b"\x1b[>1u", Key("escape"), b"\x1b[27u"),
        (b"\x1b[>1u", Key("a"), b"a"),
    ],
)
def test_a_key_types(given: bytes, key: Key, typed: bytes) -> None:
    terminal = BitttyTerminal(4, 10)
    terminal.feed(given)
    assert terminal.encode_key(key) == typed


PRESS = Mouse(MouseAction.PRESS, MouseButton.LEFT, 1, 2)


@pytest.mark.parametrize(
    ("given", "mouse", "typed"),
    [
        (b"", PRESS, b""),
        (b"\x1b[?1000h", PRESS, b"\x1b[M \x23\x22"),
        (b"\x1b[?1000h\x1b[?1006h", PRESS, b"\x1b[<0;3;2M"),
        (b"\x1b[?1000h\x1b[?1006h", Mouse(MouseAction.RELEASE, MouseButton.LEFT, 1, 2), b"\x1b[<0;3;2m"),
        (b"\x1b[?1000h\x1b[?1006h", Mouse(MouseAction.MOVE, MouseButton.LEFT, 1, 2), b""),
        (b"\x1b[?1002h\x1b[?1006h", Mouse(MouseAction.MOVE, MouseButton.LEFT, 1, 2), b"\x1b[<32;3;2M"),
        (b"\x1b[?1002h\x1b[?1006h", Mouse(MouseAction.MOVE, MouseButton.NONE, 1, 2), b""),
        (b"\x1b[?1003h\x1b[?1006h", Mouse(MouseAction.MOVE, MouseButton.NONE, 1, 2), b"\x1b[<35;3;2M"),
        (b"\x1b[?1000h\x1b[?1006h", Mouse(MouseAction.PRESS, MouseButton.WHEEL_UP, 1, 2), b"\x1b[<64;3;2M"),
        (
            b"\x1b[?1000h\x1b[?1006h",
            Mouse(MouseAction.PRESS, MouseButton.RIGHT, 1, 2, ctrl=True, alt=True, shift=True),
            b"\x1b[<30;3;2M",
        ),
    ],
)
def test_the_mouse_types(given: bytes, mouse: Mouse, typed: bytes) -> None:
    terminal = BitttyTerminal(4, 10)
    terminal.feed(given)
    assert terminal.encode_mouse(mouse) == typed


def test_a_paste_is_typed_without_brackets_and_with_returns() -> None:
    assert BitttyTerminal(4, 10).encode_paste("a\nb\x1b[201~") == b"a\rb [201~"


def test_a_bracketed_paste_cannot_end_its_brackets() -> None:
    terminal = BitttyTerminal(4, 10)
    terminal.feed(b"\x1b[?2004h")
    assert terminal.encode_paste("a\nb\x1b[201~c") == b"\x1b[200~a\nb [201~c\x1b[201~"


def test_a_long_paste_is_typed_whole() -> None:
    assert len(BitttyTerminal(4, 10).encode_paste("x" * 100_000)) == 100_000


def test_focus_is_told_where_it_is_asked_for() -> None:
    terminal = BitttyTerminal(4, 10)
    assert terminal.encode_focus(has_focus=True) == b""
    terminal.feed(b"\x1b[?1004h")
    assert (terminal.encode_focus(has_focus=True), terminal.encode_focus(has_focus=False)) == (
        b"\x1b[I",
        b"\x1b[O",
    )
