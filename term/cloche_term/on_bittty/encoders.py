"""What keys, mouse, paste and focus type, by bittty's keyboard and mouse in the modes that are on."""

from __future__ import annotations

from typing import Any

from bittty import KeyEvent, KeyModifiers

from cloche_term.keys import KEYPAD_TEXT, NAMED_KEYS, UNSHIFTED, Key
from cloche_term.on_bittty.answers import Answers
from cloche_term.terminal import Mouse, MouseAction, MouseButton

_BUTTONS = {
    MouseButton.LEFT: 0,
    MouseButton.MIDDLE: 1,
    MouseButton.RIGHT: 2,
    MouseButton.WHEEL_UP: 64,
    MouseButton.WHEEL_DOWN: 65,
    MouseButton.WHEEL_LEFT: 66,
    MouseButton.WHEEL_RIGHT: 67,
}
_ACTIONS = {MouseAction.PRESS: "press", MouseAction.RELEASE: "release", MouseAction.MOVE: "move"}
_PASTE_START, _PASTE_END = b"\x1b[200~", b"\x1b[201~"


def encode_key(board: Any, answers: Answers, key: Key) -> bytes:
    """What this key types."""
    character = key.name if key.name not in NAMED_KEYS else ""
    if key.shift and len(character.upper()) == 1:
        character = character.upper()
    unshifted = character.lower() if len(character.lower()) == 1 else character
    unshifted = UNSHIFTED.get(unshifted, unshifted)
    # Only the kitty protocol knows the command key.
    command = key.command and bool(board.keyboard.kitty_flags)
    held = (
        KeyModifiers.CTRL * key.ctrl
        | KeyModifiers.ALT * key.alt
        | KeyModifiers.SHIFT * (key.shift or unshifted != character)
        | KeyModifiers.SUPER * command
    )
    keypad_text = None if key.ctrl or key.alt or command else KEYPAD_TEXT.get(key.name)
    event = KeyEvent(
        unshifted or key.name,
        KeyModifiers(held),
        text=character or keypad_text,
        shifted_key=character if unshifted != character else None,
    )
    board.input_key_event(event)
    return answers.take()


def encode_mouse(board: Any, answers: Answers, mouse: Mouse) -> bytes:
    """What this move of the mouse types."""
    names = (("shift", mouse.shift), ("meta", mouse.alt), ("ctrl", mouse.ctrl))
    modifiers = {name for name, is_held in names if is_held}
    button = _BUTTONS.get(mouse.button)
    if mouse.action is MouseAction.MOVE:
        # bittty goes by what was pressed before; the event itself says what is held.
        board.mouse._pressed = set() if button is None else {button}  # noqa: SLF001
    board.input_mouse(mouse.col + 1, mouse.row + 1, button or 0, _ACTIONS[mouse.action], modifiers)
    return answers.take()


def encode_paste(text: str, *, bracketed: bool) -> bytes:
    """What a paste types: control characters as blanks, and without brackets a line's end as Return."""
    clean = "".join(c if c in "\t\n\r" or c.isprintable() or ord(c) > 159 else " " for c in text)
    if bracketed:
        return _PASTE_START + clean.encode(errors="replace") + _PASTE_END
    return clean.replace("\n", "\r").encode(errors="replace")


def encode_focus(*, has_focus: bool) -> bytes:
    """What getting or losing the focus types."""
    return b"\x1b[I" if has_focus else b"\x1b[O"
