"""What keys, mouse, paste and focus type: the library's encoders, told which modes are on.

The encoders read modes from the terminal at every call, so nothing here can be out of date.
"""

from __future__ import annotations

import re
import string
from typing import Any

from cloche_term.keys import KEYPAD_TEXT, UNSHIFTED, Key
from cloche_term.on_ghostty.library import NULL, check, ffi, lib, new, read_bytes, sized
from cloche_term.on_ghostty.native import NativeTerminal
from cloche_term.on_ghostty.state import tells_other_keys
from cloche_term.terminal import Mouse, MouseAction, MouseButton

_SHIFT, _CTRL, _ALT, _COMMAND = 1, 2, 4, 8
_MOST_BYTES = 128
"""More than any one key or move of the mouse types."""

_NAMES = {
    "escape": "ESCAPE",
    "enter": "ENTER",
    "tab": "TAB",
    "backspace": "BACKSPACE",
    "insert": "INSERT",
    "delete": "DELETE",
    "home": "HOME",
    "end": "END",
    "pageup": "PAGE_UP",
    "pagedown": "PAGE_DOWN",
    "up": "ARROW_UP",
    "down": "ARROW_DOWN",
    "left": "ARROW_LEFT",
    "right": "ARROW_RIGHT",
    "caps_lock": "CAPS_LOCK",
    "scroll_lock": "SCROLL_LOCK",
    "num_lock": "NUM_LOCK",
    "print_screen": "PRINT_SCREEN",
    "pause": "PAUSE",
    "menu": "CONTEXT_MENU",
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
    **{f"kp_{number}": f"NUMPAD_{number}" for number in range(10)},
    **{
        f"kp_{name}": f"NUMPAD_{name.upper()}"
        for name in ("decimal", "divide", "multiply", "subtract", "add", "enter", "equal")
    },
}
# Which key of a US keyboard a character is on. The library needs it for what ctrl does to a character.
_PLACES = {
    **{letter: letter.upper() for letter in string.ascii_lowercase},
    **{digit: f"DIGIT_{digit}" for digit in string.digits},
    "`": "BACKQUOTE",
    "-": "MINUS",
    "=": "EQUAL",
    "[": "BRACKET_LEFT",
    "]": "BRACKET_RIGHT",
    "\\": "BACKSLASH",
    ";": "SEMICOLON",
    "'": "QUOTE",
    ",": "COMMA",
    ".": "PERIOD",
    "/": "SLASH",
    " ": "SPACE",
}

_CONTROL_CHARACTERS = string.ascii_lowercase + "@[\\]^_"
_EXTENDED = re.compile(rb"\x1b\[(\d+;\d+u|27;\d+;\d+~)")
"""How keys are told that have no form of old."""
_OLD_FORMS = {"enter": "\r", "tab": "\t", "escape": "\x1b", "backspace": "\x7f"}

_ACTIONS = {
    MouseAction.PRESS: lib.GHOSTTY_MOUSE_ACTION_PRESS,
    MouseAction.RELEASE: lib.GHOSTTY_MOUSE_ACTION_RELEASE,
    MouseAction.MOVE: lib.GHOSTTY_MOUSE_ACTION_MOTION,
}
_BUTTONS = {
    MouseButton.LEFT: lib.GHOSTTY_MOUSE_BUTTON_LEFT,
    MouseButton.MIDDLE: lib.GHOSTTY_MOUSE_BUTTON_MIDDLE,
    MouseButton.RIGHT: lib.GHOSTTY_MOUSE_BUTTON_RIGHT,
    MouseButton.WHEEL_UP: lib.GHOSTTY_MOUSE_BUTTON_FOUR,
    MouseButton.WHEEL_DOWN: lib.GHOSTTY_MOUSE_BUTTON_FIVE,
    MouseButton.WHEEL_LEFT: lib.GHOSTTY_MOUSE_BUTTON_SIX,
    MouseButton.WHEEL_RIGHT: lib.GHOSTTY_MOUSE_BUTTON_SEVEN,
}


class KeyEncoder:
    """Types keys. `close` gives back its native parts."""

    def __init__(self) -> None:
        self._encoder = new("GhosttyKeyEncoder*")
        check(lib.ghostty_key_encoder_new(NULL, self._encoder), "making a key encoder")
        self._event = new("GhosttyKeyEvent*")
        check(lib.ghostty_key_event_new(NULL, self._event), "making a key event")
        self._typed = new("char[]", _MOST_BYTES)

    def close(self) -> None:
        """Gives back the encoder and its event."""
        lib.ghostty_key_event_free(self._event[0])
        lib.ghostty_key_encoder_free(self._encoder[0])

    def encode(self, native: NativeTerminal, key: Key) -> bytes:
        """What this key types."""
        encoded = self._encoded(native.handle, key)
        is_extended = _EXTENDED.fullmatch(encoded) and not native.get("KITTY_KEYBOARD_FLAGS", "uint8_t")
        if is_extended and not tells_other_keys(native):
            # Programs that asked for neither of the new forms know none of them: ctrl+i is a tab to them.
            return _in_old_form(key)
        return encoded

    def _encoded(self, terminal: Any, key: Key) -> bytes:
        event = self._event[0]
        text = KEYPAD_TEXT.get(key.name, "") if key.name in _NAMES else key.name
        if key.shift and len(text.upper()) == 1:
            text = text.upper()
        unshifted = text.lower() if len(text.lower()) == 1 else text
        unshifted = UNSHIFTED.get(unshifted, unshifted)
        # A character that is only typed with shift says so itself; whoever names the key `A` need not.
        takes_shift = bool(text) and key.name not in _NAMES and text != unshifted
        place = _NAMES.get(key.name) or _PLACES.get(unshifted, "UNIDENTIFIED")
        mods = _modifiers(ctrl=key.ctrl, alt=key.alt, shift=key.shift or takes_shift, command=key.command)
        typed = text.encode()
        lib.ghostty_key_event_set_action(event, lib.GHOSTTY_KEY_ACTION_PRESS)
        lib.ghostty_key_event_set_key(event, getattr(lib, f"GHOSTTY_KEY_{place}"))
        lib.ghostty_key_event_set_mods(event, mods)
        lib.ghostty_key_event_set_consumed_mods(event, _SHIFT if takes_shift else 0)
        lib.ghostty_key_event_set_utf8(event, typed, len(typed))
        lib.ghostty_key_event_set_unshifted_codepoint(event, ord(unshifted) if unshifted else 0)
        lib.ghostty_key_encoder_setopt_from_terminal(self._encoder[0], terminal)
        length = new("size_t*")
        code = lib.ghostty_key_encoder_encode(self._encoder[0], event, self._typed, len(self._typed), length)
        check(code, "encoding a key")
        return bytes(ffi.buffer(self._typed, length[0]))


def _in_old_form(key: Key) -> bytes:
    """What a terminal of old types, which does not tell all modifiers."""
    character = _OLD_FORMS.get(key.name, key.name if len(key.name) == 1 else "")
    if key.ctrl and character.lower() in _CONTROL_CHARACTERS and character:
        character = chr(ord(character.upper()) & 0x1F)
    return (b"\x1b" if key.alt else b"") + character.encode()


class MouseEncoder:
    """Types moves of the mouse. `close` gives back its native parts."""

    def __init__(self) -> None:
        self._encoder = new("GhosttyMouseEncoder*")
        check(lib.ghostty_mouse_encoder_new(NULL, self._encoder), "making a mouse encoder")
        self._event = new("GhosttyMouseEvent*")
        check(lib.ghostty_mouse_event_new(NULL, self._event), "making a mouse event")
        self._position = new("GhosttyMousePosition*")
        self._size = sized("GhosttyMouseEncoderSize")
        self._typed = new("char[]", _MOST_BYTES)

    def close(self) -> None:
        """Gives back the encoder and its event."""
        lib.ghostty_mouse_event_free(self._event[0])
        lib.ghostty_mouse_encoder_free(self._encoder[0])

    def encode(self, terminal: Any, rows: int, cols: int, mouse: Mouse) -> bytes:
        """What this move types on a screen of that size."""
        event, encoder = self._event[0], self._encoder[0]
        lib.ghostty_mouse_event_set_action(event, _ACTIONS[mouse.action])
        button = _BUTTONS.get(mouse.button)
        if button is None:
            lib.ghostty_mouse_event_clear_button(event)
        else:
            lib.ghostty_mouse_event_set_button(event, button)
        mods = _modifiers(ctrl=mouse.ctrl, alt=mouse.alt, shift=mouse.shift, command=False)
        lib.ghostty_mouse_event_set_mods(event, mods)
        # A cell is one pixel, so that positions in pixels are positions in cells.
        self._size.screen_width, self._size.screen_height = cols, rows
        self._size.cell_width = self._size.cell_height = 1
        self._position.x, self._position.y = mouse.col, mouse.row
        lib.ghostty_mouse_event_set_position(event, self._position[0])
        lib.ghostty_mouse_encoder_setopt_from_terminal(encoder, terminal)
        lib.ghostty_mouse_encoder_setopt(encoder, lib.GHOSTTY_MOUSE_ENCODER_OPT_SIZE, self._size)
        held = new("bool*", mouse.action is MouseAction.MOVE and button is not None)
        lib.ghostty_mouse_encoder_setopt(encoder, lib.GHOSTTY_MOUSE_ENCODER_OPT_ANY_BUTTON_PRESSED, held)
        length = new("size_t*")
        code = lib.ghostty_mouse_encoder_encode(encoder, event, self._typed, len(self._typed), length)
        check(code, "encoding a move of the mouse")
        return bytes(ffi.buffer(self._typed, length[0]))


def encode_paste(text: str, *, bracketed: bool) -> bytes:
    """What a paste types."""
    data = text.encode(errors="replace")
    buffer = new("char[]", data)  # the library replaces in place what must not be typed

    def encode(out: Any, capacity: int, length: Any) -> int:
        return int(
            lib.ghostty_paste_encode(buffer, len(data), bracketed, ffi.cast("char*", out), capacity, length)
        )

    return read_bytes(encode, "encoding a paste")


def encode_focus(*, has_focus: bool) -> bytes:
    """What getting or losing the focus types."""
    event = lib.GHOSTTY_FOCUS_GAINED if has_focus else lib.GHOSTTY_FOCUS_LOST

    def encode(out: Any, capacity: int, length: Any) -> int:
        return int(lib.ghostty_focus_encode(event, ffi.cast("char*", out), capacity, length))

    return read_bytes(encode, "encoding the focus")


def _modifiers(*, ctrl: bool, alt: bool, shift: bool, command: bool) -> int:
    return _SHIFT * shift | _CTRL * ctrl | _ALT * alt | _COMMAND * command
