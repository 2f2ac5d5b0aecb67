"""Commands with a text: which pass, and in which words."""

from __future__ import annotations

import pytest

from cloche.cli.viewing.commands import COMMANDS
from cloche.cli.viewing.modes import Modes


def _passed(kind: str, text: str, modes: Modes | None = None) -> str:
    return COMMANDS[kind](modes or Modes(), text)


def test_the_title_before_is_saved_once() -> None:
    modes = Modes()
    assert _passed("2", "vim", modes) == "\x1b[22;0t\x1b]2;vim\x1b\\"
    assert _passed("k", "sh", modes) == "\x1b]2;sh\x1b\\"
    assert modes.has_title


def test_of_a_title_only_what_shows_is_left() -> None:
    assert _passed("0", "a\x9cb\u202e\nc" + "x" * 500) == "\x1b[22;0t\x1b]0;abc" + "x" * 197 + "\x1b\\"


@pytest.mark.parametrize("colour", ["#fff", "#00ff7f", "rgb:ff/80/00", "rgba:ff/80/00/80", "light blue"])
def test_colours_are_set_and_to_be_put_back(colour: str) -> None:
    modes = Modes()
    assert _passed("11", colour, modes) == f"\x1b]11;{colour}\x1b\\"
    assert _passed("4", f"1;{colour}", modes) == f"\x1b]4;1;{colour}\x1b\\"
    assert modes.colours == {"111", "104"}


@pytest.mark.parametrize("question", ["?", "#fff;?", "", "#ff", "rgb:ff", "red\x9c"])
def test_nothing_asks_for_a_colour(question: str) -> None:
    modes = Modes()
    assert _passed("10", question, modes) == ""
    assert _passed("4", f"1;{question}", modes) == ("" if ";" not in question else "\x1b]4;1;#fff\x1b\\")
    assert modes.colours <= {"104"}


def test_of_a_palette_only_colours_pass() -> None:
    assert _passed("4", "1;red;2;?;x;red;3;#fff;4") == "\x1b]4;1;red;3;#fff\x1b\\"


def test_colours_can_be_put_back() -> None:
    assert _passed("104", "") == "\x1b]104\x1b\\"
    assert _passed("104", "1;22") == "\x1b]104;1;22\x1b\\"
    assert _passed("104", "1;?") == ""
    assert [_passed(kind, "") for kind in ("110", "111", "112")] == [
        f"\x1b]{kind}\x1b\\" for kind in ("110", "111", "112")
    ]
    assert _passed("111", "?") == ""


def test_links_lead_to_pages_and_letters_only() -> None:
    begun, ended = Modes(), Modes(has_link=True)
    assert _passed("8", ";https://example.org/?a=b;c", begun) == "\x1b]8;;https://example.org/?a=b;c\x1b\\"
    assert _passed("8", ";", ended) == "\x1b]8;;\x1b\\"
    assert (begun.has_link, ended.has_link) == (True, False)
    assert _passed("8", "id=a.1:x=y;mailto:a@b") == "\x1b]8;id=a.1;mailto:a@b\x1b\\"


@pytest.mark.parametrize(
    "address",
    ["file:///etc/passwd", "ssh://host", "javascript:1", "https://a b", "https://" + "a" * 3000, "x"],
)
def test_any_other_address_ends_the_link_before(address: str) -> None:
    modes = Modes(has_link=True)
    assert _passed("8", f";{address}", modes) == "\x1b]8;;\x1b\\"
    assert not modes.has_link
