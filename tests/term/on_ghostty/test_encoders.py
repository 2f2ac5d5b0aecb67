"""What keys, mouse, paste and focus type in the modes that are on."""

from __future__ import annotations

import pytest

from cloche_term.keys import NAMED_KEYS, Key, key_named
from cloche_term.terminal import Mouse, MouseAction, MouseButton
from tests.term.on_ghostty.conftest import Opener

_OLD = {
    "a": b"a",
    "A": b"A",
    "shift+a": b"A",
    "é": "é".encode(),
    "full_stop": b".",
    "space": b" ",
    "ctrl+a": b"\x01",
    "ctrl+A": b"\x01",
    "ctrl+h": b"\x08",
    "ctrl+i": b"\t",
    "ctrl+m": b"\r",
    "ctrl+left_square_bracket": b"\x1b",
    "ctrl+@": b"\x00",
    "ctrl+space": b"\x00",
    "ctrl+backslash": b"\x1c",
    "ctrl+right_square_bracket": b"\x1d",
    "ctrl+circumflex_accent": b"\x1e",
    "ctrl+underscore": b"\x1f",
    "ctrl+full_stop": b".",
    "alt+a": b"\x1ba",
    "alt+A": b"\x1bA",
    "alt+full_stop": b"\x1b.",
    "ctrl+alt+a": b"\x1b\x01",
    "ctrl+alt+i": b"\x1b\t",
    "alt+backspace": b"\x1b\x7f",
    "enter": b"\r",
    "shift+enter": b"\r",
    "tab": b"\t",
    "shift+tab": b"\x1b[Z",
    "backspace": b"\x7f",
    "ctrl+backspace": b"\x08",
    "escape": b"\x1b",
    "up": b"\x1b[A",
    "home": b"\x1b[H",
    "ctrl+left": b"\x1b[1;5D",
    "ctrl+shift+right": b"\x1b[1;6C",
    "delete": b"\x1b[3~",
    "pageup": b"\x1b[5~",
    "f1": b"\x1bOP",
    "f5": b"\x1b[15~",
    "f12": b"\x1b[24~",
    "shift+f3": b"\x1b[13;2~",
    "kp_5": b"5",
    "kp_enter": b"\r",
    "caps_lock": b"",
}


@pytest.mark.parametrize("name", _OLD)
def test_a_key_types_what_programs_of_old_know(name: str, opened: Opener) -> None:
    key = key_named(name)
    assert key is not None
    assert opened().encode_key(key) == _OLD[name]


@pytest.mark.parametrize(
    ("modes", "name", "typed"),
    [
        (b"\x1b[?1h", "up", b"\x1bOA"),
        (b"\x1b[?1h", "ctrl+up", b"\x1b[1;5A"),
        (b"\x1b[?67h", "backspace", b"\x08"),
        (b"\x1b[>4;2m", "ctrl+i", b"\x1b[27;5;105~"),
        (b"\x1b[>4;2m", "shift+enter", b"\x1b[27;2;13~"),
        (b"\x1b[>1u", "ctrl+i", b"\x1b[105;5u"),
        (b"\x1b[>1u", "escape", b"\x1b[27u"),
        (b"\x1b[>1u", "shift+enter", b"\x1b[13;2u"),
        (b"\x1b[>8u", "a", b"\x1b[97u"),
        (b"\x1b[>1u\x1b[<u", "escape", b"\x1b"),
    ],
)
def test_a_key_types_what_the_program_has_asked_for(
    modes: bytes, name: str, typed: bytes, opened: Opener
) -> None:
    key = key_named(name)
    assert key is not None
    assert opened(fed=modes).encode_key(key) == typed


@pytest.mark.parametrize("modes", [b"", b"\x1b[?1h\x1b=", b"\x1b[>4;2m", b"\x1b[>31u"])
def test_every_key_can_be_typed_with_every_modifier(modes: bytes, opened: Opener) -> None:
    terminal = opened(fed=modes)
    for name in (*sorted(NAMED_KEYS), *"aZ5.é日ß"):
        for held in range(16):
            key = Key(
                name, ctrl=bool(held & 1), alt=bool(held & 2), shift=bool(held & 4), command=bool(held & 8)
            )
            assert len(terminal.encode_key(key)) < 32


_PRESS, _RELEASE, _MOVE = MouseAction.PRESS, MouseAction.RELEASE, MouseAction.MOVE
_LEFT, _NONE = MouseButton.LEFT, MouseButton.NONE


@pytest.mark.parametrize(
    ("modes", "mouse", "typed"),
    [
        (b"", Mouse(_PRESS, _LEFT, 4, 9), b""),
        (b"\x1b[?9h", Mouse(_PRESS, _LEFT, 4, 9), b"\x1b[M *%"),
        (b"\x1b[?9h", Mouse(_RELEASE, _LEFT, 4, 9), b""),
        (b"\x1b[?1000h", Mouse(_RELEASE, _LEFT, 4, 9), b"\x1b[M#*%"),
        (b"\x1b[?1000h", Mouse(_MOVE, _LEFT, 3, 9), b""),
        (b"\x1b[?1002h", Mouse(_MOVE, _LEFT, 3, 9), b"\x1b[M@*$"),
        (b"\x1b[?1002h", Mouse(_MOVE, _NONE, 3, 9), b""),
        (b"\x1b[?1003h", Mouse(_MOVE, _NONE, 3, 9), b"\x1b[MC*$"),
        (b"\x1b[?1000h\x1b[?1006h", Mouse(_PRESS, _LEFT, 4, 9), b"\x1b[<0;10;5M"),
        (b"\x1b[?1000h\x1b[?1006h", Mouse(_RELEASE, _LEFT, 4, 9), b"\x1b[<0;10;5m"),
        (b"\x1b[?1000h\x1b[?1006h", Mouse(_PRESS, MouseButton.WHEEL_DOWN, 0, 0), b"\x1b[<65;1;1M"),
        (
            b"\x1b[?1000h\x1b[?1006h",
            Mouse(_PRESS, MouseButton.MIDDLE, 0, 0, ctrl=True, alt=True, shift=True),
            b"\x1b[<29;1;1M",
        ),
        (b"\x1b[?1000h\x1b[?1006h", Mouse(_PRESS, _LEFT, 99, 99), b""),
    ],
)
def test_the_mouse_types_what_the_program_wants_to_hear(
    modes: bytes, mouse: Mouse, typed: bytes, opened: Opener
) -> None:
    assert opened(5, 20, modes).encode_mouse(mouse) == typed


def test_the_mouse_is_told_in_cells_of_the_size_the_screen_has_now(opened: Opener) -> None:
    terminal = opened(5, 20, b"\x1b[?1000h\x1b[?1006h")
    terminal.resize(50, 200)
    assert terminal.encode_mouse(Mouse(_PRESS, _LEFT, 49, 199)) == b"\x1b[<0;200;50M"


@pytest.mark.parametrize(
    ("text", "plain", "bracketed"),
    [
        ("a\nb", b"a\rb", b"a\nb"),
        ("é\t", "é\t".encode(), "é\t".encode()),
        ("x\x1b[201~rm -rf ~\n", b"x [201~rm -rf ~\r", b"x [201~rm -rf ~\n"),
        ("\x03", b" ", b" "),
        ("", b"", b""),
        ("\ud800", b"?", b"?"),
    ],
)
def test_a_paste_cannot_end_its_own_brackets(
    text: str, plain: bytes, bracketed: bytes, opened: Opener
) -> None:
    terminal = opened()
    assert terminal.encode_paste(text) == plain
    terminal.feed(b"\x1b[?2004h")
    assert terminal.encode_paste(text) == b"\x1b[200~" + bracketed + b"\x1b[201~"


def test_the_focus_is_told_to_who_asked(opened: Opener) -> None:
    terminal = opened()
    assert terminal.encode_focus(has_focus=True) == b""
    terminal.feed(b"\x1b[?1004h")
    assert terminal.encode_focus(has_focus=True) == b"\x1b[I"
    assert terminal.encode_focus(has_focus=False) == b"\x1b[O"
