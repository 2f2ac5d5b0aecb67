"""A dump of the fallback, read by both emulators."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cloche_term import open_terminal
from cloche_term.on_bittty import BitttyTerminal
from cloche_term.opening import BACKENDS
from cloche_term.terminal import Terminal
from tests.term.hostile import soup
from tests.term.looks import look_of

SHOWN = {
    "nothing": b"",
    "text": b"one\r\ntwo",
    "scrollback": b"1\r\n2\r\n3\r\n4\r\n5\r\n6",
    "colors and attributes": b"\x1b[1;31ma\x1b[0;48;5;99mb\x1b[0;38;2;1;2;3mc\x1b[0;2;3;5;7;8;9;53md\x1b[0;94;105me",
    "underlines": b"\x1b[4ma\x1b[21mb\x1b[4:3mc\x1b[4:4md\x1b[4:5;58;5;3me\x1b[58;2;1;2;3mf",
    "blanks with a background": b"\x1b[44m\x1b[2J\x1b[2;2Hx\x1b[m\x1b[3;1H",
    "lines that were wrapped": b"0123456789abcdef\r\n0123456789\r\nx",
    "wrapping in color": b"\x1b[44m0123456789abc\x1b[m\r\nx\r\n\x1b[45m0123456789012345678901234\x1b[m",
    "a wrapped row above an empty one": b"0123456789x\x1b[2K\x1b[H",
    "a colored blank before a wide character": "\x1b[44m\x1b[2J012345678日x\x1b[m".encode(),
    "wide characters": "日本語日本語日本語\r\na日本語日本語日本".encode(),
    "a combining character": "e\u0301a\r\n".encode() * 2,
    "a cursor in the middle": b"a\r\nb\x1b[1;5H",
    "a wrap that is pending": b"\x1b[31m0123456789",
    "the alternate screen": b"1\r\n2\r\n3\r\n4\r\n5\x1b[?1049h\x1b[2;2H\x1b[42malt",
    "the alternate screen of 47": b"main\x1b[?47halt",
    "modes": b"\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h\x1b[?1007h\x1b[?1002h\x1b[?1006h\x1b[?25l",
    "a screen that is held": b"\x1b[?2026hx",
    "a reversed screen": b"\x1b[?5hx",
    "the kitty keyboard": b"\x1b[>5u",
    "a cursor's shape": b"\x1b[4 q",
    "a steady cursor": b"\x1b[2 q",
    "a title": "\x1b]2;tïtle\x07".encode(),
    "a link": b"\x1b]8;;http://x\x1b\\ab\x1b]8;;\x1b\\c",
    "margins": b"\x1b[2;3r\x1b[3;4H",
    "margins and origin": b"\x1b[2;3r\x1b[?6h\x1b[2;4H",
    "line drawing": b"\x1b(0lqk",
    "half a sequence": b"a\x1b[3",
    "half a character": b"a\xe6\x97",
    "half a title": b"a\x1b]2;ti",
}
# What is written after the dump, and must find the same terminal.
AFTER = b"m\x07x\x1b8y\r\n\nz\x1b[?1049lw\x1b[2;1H\x1b[Kv"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SHOWN)
def test_a_dump_makes_the_very_screen(name: str, backend: str) -> None:
    terminal = BitttyTerminal(4, 10)
    terminal.feed(SHOWN[name])
    again = open_terminal(4, 10, backend=backend)
    again.feed(terminal.dump(scrollback_lines=100))
    assert _screen(again) == _screen(terminal)
    after = b"\xa5" + AFTER if name == "half a character" else AFTER
    again.feed(after)
    terminal.feed(after)
    assert again.text() == terminal.text()
    assert again.lines(0, 99) == terminal.lines(0, 99)
    again.close()


def test_a_dump_holds_no_more_of_the_scrollback_than_was_asked_for() -> None:
    terminal = BitttyTerminal(2, 10)
    terminal.feed(b"1\r\n2\r\n3\r\n4\r\n5")
    again = BitttyTerminal(2, 10)
    again.feed(terminal.dump(scrollback_lines=1))
    assert again.lines(0, 9) == ("3", "4", "5")


def test_a_dump_has_tab_stops_and_the_palette() -> None:
    terminal = BitttyTerminal(4, 10)
    terminal.feed(b"\x1b[3g\x1b[4G\x1bH\r\x1b]4;1;rgb:12/34/56\x07\x1b]11;rgb:00/00/ff\x07")
    again = BitttyTerminal(4, 10)
    again.feed(terminal.dump(scrollback_lines=0))
    answers = again.feed(b"\tx\x1b]4;1;?\x07\x1b]11;?\x07")
    assert again.text()[0] == "   x"
    assert answers == b"\x1b]4;1;rgb:1212/3434/5656\x07\x1b]11;rgb:0000/0000/ffff\x07"


@pytest.mark.parametrize("seed", range(60))
def test_a_dump_of_anything_is_the_same_text_and_style_again(seed: int) -> None:
    chance = random.Random(seed)
    terminal = BitttyTerminal(chance.randint(2, 8), chance.randint(2, 20))
    for _ in range(5):
        terminal.feed(soup(chance, chance.randint(1, 60)))
    again = BitttyTerminal(terminal.rows, terminal.cols)
    again.feed(terminal.dump(scrollback_lines=10_000))
    # In origin mode a cursor that was outside of the margins is taken in.
    assert _screen(again) | {"cursor": None} == _screen(terminal) | {"cursor": None}


def _screen(terminal: Terminal) -> dict[str, Any]:
    """What is shown; lines are numbered from what the dump holds on."""
    look = look_of(terminal)
    return {name: look[name] for name in ("rows", "cursor", "modes", "title")}
