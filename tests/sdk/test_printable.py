"""What a guest wrote, in messages."""

from __future__ import annotations

from cloche.printable import printable


def test_what_shows_stays_and_everything_else_is_escaped() -> None:
    assert printable("né\N{BLACK STAR} a") == "né\N{BLACK STAR} a"
    assert printable("a\n\t\x1b[31m\x00\N{RIGHT-TO-LEFT OVERRIDE}") == r"a\n\t\x1b[31m\x00\u202e"
