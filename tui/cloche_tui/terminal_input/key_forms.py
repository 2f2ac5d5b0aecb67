"""The bytes of one key, in the form a console's program expects them in. Pure.

A person's terminal tells a key in the form it was told to use; the program in the console has asked its own terminal,
the emulator, for one. Most keys are the same in both and pass as they are. What can differ:

    cursor keys     CSI or SS3, by the program's cursor key mode (DECCKM)
    numeric keypad  a character or SS3, by its keypad mode (DECKPAM)
    any key         kitty's form, or the one of old, by the program's flags

Rules:
- Only whole sequences come here; `grab` cuts them out.
- Whatever is not known here passes unchanged: a key too many is seen, one too few is not.
- Forms a terminal sends because it has not yet heard that another one is wanted are told in the wanted one too.

Sources: xterm's control sequences, "PC-Style Function Keys"; kitty's keyboard protocol.
"""

from __future__ import annotations

import re

from cloche_term.terminal import Modes

DISAMBIGUATE, EVENT_TYPES, ALL_KEYS = 1, 2, 8
"""Flags of kitty's protocol: keys that had no form of their own, keys let go, keys that type text."""

_ESC = b"\x1b"
_CURSOR_KEY = re.compile(rb"\x1b(?P<alt>\x1b?)[\[O](?P<key>[ABCDEFH])")
# What rxvt, screen and tmux send for Home and End; the programs here have been told the terminal is an xterm.
_OTHER_CURSOR_KEYS = {b"1~": b"H", b"7~": b"H", b"4~": b"F", b"8~": b"F"}
_OTHER_CURSOR_KEY = re.compile(rb"\x1b\[(?P<key>[1478]~)")
_KEYPAD_KEY = re.compile(rb"\x1bO(?P<key>[j-yMX])")
_KEYPAD_CHARACTERS = {
    **{ord("p") + digit: b"%d" % digit for digit in range(10)},
    **dict(zip(b"jklmnoXM", (b"*", b"+", b",", b"-", b".", b"/", b"=", b"\r"), strict=True)),
}
# F1 to F4 as kitty's protocol tells them.
_KITTY_FUNCTION_KEYS = {
    b"\x1b[P": b"\x1bOP",
    b"\x1b[Q": b"\x1bOQ",
    b"\x1b[13~": b"\x1bOR",
    b"\x1b[S": b"\x1bOS",
}
_KITTY_KEY = re.compile(
    rb"\x1b\[(?P<code>[0-9]{1,7})(?::(?P<shifted>[0-9]*))?(?::[0-9]*)?"
    rb"(?:;(?P<held>[0-9]{0,3})(?::(?P<event>[0-9]))?)?(?:;(?P<text>[0-9:]*))?u"
)
# A key with what kitty's protocol may add to it: other codes of the key, and whether it was pressed or let go.
_KITTY_EVENT = re.compile(
    rb"\x1b\[(?P<code>[0-9]*)(?::[0-9:]*)?(?:;(?P<held>[0-9]*)(?::(?P<event>[0-9]))?(?P<text>;[0-9:]*)?)?(?P<last>[u~A-S])"
)
_RELEASE = b"3"

_SHIFT, _ALT, _CTRL, _LOCKS = 1, 2, 4, 64 | 128
_ESCAPE, _ENTER, _TAB, _BACKSPACE = 27, 13, 9, 127
_OLD_FORMS = {_ESCAPE: b"\x1b", _ENTER: b"\r", _TAB: b"\t", _BACKSPACE: b"\x7f"}
_PRIVATE = range(0xE000, 0xF900)
"""Where kitty's protocol has the keys that type no character."""
_PAD = 57399
_PAD_TEXTS = {_PAD + number: bytes([byte]) for number, byte in enumerate(b"0123456789./*-+\r=,")}
_PAD_CURSOR_KEYS = dict(
    zip(range(57417, 57427), (b"D", b"C", b"A", b"B", b"5~", b"6~", b"H", b"F", b"2~", b"3~"), strict=True)
)
_CONTROL_CHARACTERS = {
    **{code: bytes([code & 0x1F]) for code in (*b"abcdefghijklmnopqrstuvwxyz", *rb"@[\]^_")},
    **dict(
        zip(
            b" 2345678/?",
            (b"\x00", b"\x00", *(bytes([at]) for at in range(27, 32)), b"\x7f", b"\x1f", b"\x7f"),
            strict=True,
        )
    ),
}
# The controls that are keys of their own: Tab, Enter. Escape begins sequences and is told apart from them before.
_CONTROLS = re.compile(rb"[\x00-\x08\x0a-\x0c\x0e-\x1a\x1c-\x1f]")
_CODES_OF_CONTROLS = {0: b" ", 28: b"\\", 29: b"]", 30: b"^", 31: b"_"}


def typed_text(data: bytes, modes: Modes) -> bytes:
    """What characters and control characters come to: bytes without any ESC.

    A terminal that does not know kitty's protocol sends control characters where the program has asked for that.
    """
    if not modes.kitty_keyboard & DISAMBIGUATE:
        return data
    return _CONTROLS.sub(lambda found: _told(_code_of_control(found[0][0]), _CTRL), data)


def typed_escape(modes: Modes) -> bytes:
    """What the Esc key comes to."""
    return _told(b"%d" % _ESCAPE, 0) if modes.kitty_keyboard & DISAMBIGUATE else _ESC


def typed_sequence(sequence: bytes, modes: Modes) -> bytes:
    """What a sequence comes to: ESC and what belongs to it."""
    if found := _KITTY_KEY.fullmatch(sequence):
        return _of_kitty_key(found, modes)
    if found := _CURSOR_KEY.fullmatch(sequence) or _OTHER_CURSOR_KEY.fullmatch(sequence):
        key = _OTHER_CURSOR_KEYS.get(found["key"], found["key"])
        return found.groupdict().get("alt", b"") + _cursor_key(key, modes)
    if (found := _KEYPAD_KEY.fullmatch(sequence)) and not modes.application_keypad:
        return _KEYPAD_CHARACTERS[found["key"][0]]
    if modes.kitty_keyboard == 0:
        return _KITTY_FUNCTION_KEYS.get(sequence) or without_events(sequence)
    if len(sequence) == 2 and modes.kitty_keyboard & DISAMBIGUATE:
        return _with_alt(sequence[1], modes)
    return sequence


def without_events(data: bytes) -> bytes:
    """What was typed, without keys that were let go, and of others only what Textual has asked to know.

    It cannot read the rest, which comes when the program had asked for it that has just lost the keyboard.
    """
    return _KITTY_EVENT.sub(_plain_event, data)


def is_way_out(sequence: bytes) -> bool:
    """Whether this is ctrl+] in one of the forms it has as a sequence."""
    if sequence == b"\x1b[27;5;93~":
        return True
    found = _KITTY_KEY.fullmatch(sequence)
    return (
        found is not None
        and found["event"] != _RELEASE
        and int(found["code"]) == ord("]")
        and _held(found) == _CTRL
    )


def _of_kitty_key(found: re.Match[bytes], modes: Modes) -> bytes:
    flags, code, held = modes.kitty_keyboard, int(found["code"]), _held(found)
    if found["event"] == _RELEASE and not flags & EVENT_TYPES:
        return b""
    if flags & ALL_KEYS:
        return found[0]
    types_text = code not in _PRIVATE and held in (0, _SHIFT) and code not in (_ESCAPE, *_OLD_FORMS)
    is_plain_key = code in (_ENTER, _TAB, _BACKSPACE) and held == 0
    is_modifier = code in _PRIVATE and code not in _PAD_TEXTS and code not in _PAD_CURSOR_KEYS
    if flags == 0 or types_text or is_plain_key or is_modifier:
        return _in_old_form(code, held, found, modes)
    return found[0]


def _in_old_form(code: int, held: int, found: re.Match[bytes], modes: Modes) -> bytes:
    """What a terminal types that knows nothing of kitty's protocol; nothing for keys it has no form for."""
    alt = _ESC if held & _ALT else b""
    if code in _PAD_CURSOR_KEYS:
        key = _PAD_CURSOR_KEYS[code]
        return alt + (_ESC + b"[" + key if key.endswith(b"~") else _cursor_key(key, modes))
    if code in _PAD_TEXTS:
        return alt + _PAD_TEXTS[code]
    if code in _PRIVATE or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return b""
    if code == _TAB and held & _SHIFT:
        return alt + b"\x1b[Z"
    if code == _BACKSPACE and held & _CTRL:
        return alt + b"\x08"
    if code in _OLD_FORMS:
        return alt + _OLD_FORMS[code]
    if held & _CTRL:
        return alt + _CONTROL_CHARACTERS.get(code, chr(code).encode())
    return alt + (_text_of(found["text"]) or _shifted(code, held, found).encode())


def _shifted(code: int, held: int, found: re.Match[bytes]) -> str:
    if not held & _SHIFT:
        return chr(code)
    shifted = int(found["shifted"] or 0)
    return chr(shifted) if 0x20 <= shifted < 0xD800 else chr(code).upper()


def _text_of(codes: bytes | None) -> bytes:
    numbers = [int(code) for code in (codes or b"").split(b":") if code]
    # A control is no text, and half of a character none either.
    is_text = all(0x20 <= number < 0xD800 or 0xE000 <= number <= 0x10FFFF for number in numbers)
    return "".join(map(chr, numbers)).encode() if is_text else b""


def _held(found: re.Match[bytes]) -> int:
    """The modifiers, without the locks."""
    return max(int(found["held"] or 1) - 1, 0) & ~_LOCKS


def _cursor_key(key: bytes, modes: Modes) -> bytes:
    """A cursor key without modifiers. Kitty's form has none but CSI."""
    is_application = modes.application_cursor and not modes.kitty_keyboard
    return (b"\x1bO" if is_application else b"\x1b[") + key


def _with_alt(byte: int, modes: Modes) -> bytes:
    """Alt and an ASCII character, in kitty's form."""
    if byte >= 0x80:
        # The first byte of a character that has more: let it pass as it is.
        return bytes([0x1B, byte])
    if byte < 0x20 or byte == _BACKSPACE:
        if byte in _OLD_FORMS:
            return _told(b"%d" % byte, _ALT)
        return _told(_code_of_control(byte), _ALT | _CTRL)
    character = chr(byte)
    held = _ALT | _SHIFT if character.isupper() else _ALT
    return _told(b"%d" % ord(character.lower()), held)


def _code_of_control(byte: int) -> bytes:
    return b"%d" % (_CODES_OF_CONTROLS.get(byte) or bytes([byte | 0x60]))[0]


def _told(code: bytes, held: int) -> bytes:
    """A key in kitty's form."""
    return b"\x1b[" + code + (b";%d" % (held + 1) if held else b"") + b"u"


def _plain_event(found: re.Match[bytes]) -> bytes:
    if found["event"] == _RELEASE:
        return b""
    held = b"" if found["held"] is None else b";" + found["held"]
    return b"\x1b[" + found["code"] + held + (found["text"] or b"") + found["last"]
