"""Commands with a text (OSC) that a guest may give a person's terminal: titles, colours, links. Pure.

SAFETY: each is read, judged and written anew; of what the guest wrote only characters that show are left. Asking for a
colour, the clipboard, notifications, files, fonts, what a shell tells of itself: nothing of that passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cloche.cli.viewing.modes import Modes

_LONGEST_TITLE = 200
_MOST_COLOURS = 256
_COLOUR = re.compile(
    r"#[0-9A-Fa-f]{3,12}|rgba?:[0-9A-Fa-f]{1,4}(?:/[0-9A-Fa-f]{1,4}){2,3}|[A-Za-z][A-Za-z0-9 ]{0,31}"
)
_NUMBER = re.compile(r"[0-9]{1,3}")
# What opens something else than a page or a letter (a file, a program) is none of a guest's business.
_ADDRESS = re.compile(r"(?:https?://|mailto:)[\x21-\x7e]{1,2000}")
_LINK_ID = re.compile(r"(?:^|:)id=([\w.-]{1,100})(?:$|:)", re.ASCII)
_END = "\x1b\\"


def _titled(kind: str) -> Callable[[Modes, str], str]:
    def command(modes: Modes, text: str) -> str:
        shown = "".join(filter(str.isprintable, text))[:_LONGEST_TITLE]
        saved = "" if modes.has_title else "\x1b[22;0t"
        modes.has_title = True
        return f"{saved}\x1b]{kind};{shown}{_END}"

    return command


def _coloured(kind: str) -> Callable[[Modes, str], str]:
    """The colour of text, of what is behind it, or of the cursor."""

    def command(modes: Modes, text: str) -> str:
        if not _COLOUR.fullmatch(text):
            return ""
        modes.colours.add(f"1{kind}")
        return f"\x1b]{kind};{text}{_END}"

    return command


def _palette(modes: Modes, text: str) -> str:
    parts = text.split(";")[: 2 * _MOST_COLOURS]
    pairs = [
        f"{number};{colour}"
        for number, colour in zip(parts[::2], parts[1::2], strict=False)
        if _NUMBER.fullmatch(number) and _COLOUR.fullmatch(colour)
    ]
    if not pairs:
        return ""
    modes.colours.add("104")
    return f"\x1b]4;{';'.join(pairs)}{_END}"


def _palette_as_before(_modes: Modes, text: str) -> str:
    numbers = text.split(";")[:_MOST_COLOURS] if text else []
    if not all(map(_NUMBER.fullmatch, numbers)):
        return ""
    return f"\x1b]{';'.join(['104', *numbers])}{_END}"


def _as_before(kind: str) -> Callable[[Modes, str], str]:
    return lambda _modes, text: "" if text else f"\x1b]{kind}{_END}"


def _linked(modes: Modes, text: str) -> str:
    """A link begins, or ends where there is no address that may be one."""
    parameters, _, address = text.partition(";")
    modes.has_link = _ADDRESS.fullmatch(address) is not None
    if not modes.has_link:
        return f"\x1b]8;;{_END}"
    found = _LINK_ID.search(parameters)
    return f"\x1b]8;{f'id={found[1]}' if found else ''};{address}{_END}"


COMMANDS: dict[str, Callable[[Modes, str], str]] = {
    "0": _titled("0"),
    "1": _titled("1"),
    "2": _titled("2"),
    "k": _titled("2"),
    "4": _palette,
    "8": _linked,
    "10": _coloured("10"),
    "11": _coloured("11"),
    "12": _coloured("12"),
    "104": _palette_as_before,
    "110": _as_before("110"),
    "111": _as_before("111"),
    "112": _as_before("112"),
}
"""By their numbers: what of a command passes; what it switches is noted."""
