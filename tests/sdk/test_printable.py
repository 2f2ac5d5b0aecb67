"""What a guest wrote, in messages."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from rich.cells import cell_len

from cloche.printable import MOST_MARKS, is_unseen, printable


def test_what_shows_stays_and_everything_else_is_escaped() -> None:
    assert printable("né\N{BLACK STAR} a") == "né\N{BLACK STAR} a"
    assert printable("a\n\t\x1b[31m\x00\N{RIGHT-TO-LEFT OVERRIDE}") == r"a\n\t\x1b[31m\x00\u202e"


@pytest.mark.parametrize(
    "text",
    [
        "हिन्दी में लिखा हुआ, क्षत्रिय",
        "ภาษาไทย ที่นี่ น้ำ",
        "בְּרֵאשִׁ֖ית בָּרָ֣א",
        "العَرَبِيَّةُ",
        "한국어 조선글",
        "한글",
        "Tiếng Việt",
        "မြန်မာ ကြွှော့်",
        "བསྒྲུབས་ རྐྱེན",
        "é ñ o̧̱",
        "日本語 ﾊﾝｶｸ",
        "😀 👍🏽 🇫🇷",
        "⠁⠃",
        "",
    ],
)
def test_real_writing_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    "unseen",
    [
        *("\u115f", "\u1160", "\u3164", "\uffa0"),
        *("\u2800", "\U0001d159", "\U00016fe4"),
        *("\ufe00", "\ufe0f", "\U000e0100", "\U000e01ef", "\u180b", "\u180f"),
        *("\u034f", "\u17b4", "\u17b5"),
        *("\U000e0001", "\U000e0041", "\U000e007f"),
        *("\u00ad", "\u200b", "\u200d", "\u2060", "\ufeff", "\u202f", "\u3000", "\ue000", "\ud800"),
    ],
)
def test_letters_that_nobody_sees_are_shown(unseen: str) -> None:
    assert printable(f"adm{unseen}in") == f"adm{ascii(unseen)[1:-1]}in"
    assert printable(unseen * 2) == ascii(unseen * 2)[1:-1]


@pytest.mark.parametrize("mark", ["\u0301", "\u20dd", "\u0903", "\u1161", "\u11a8", "\ud7b0", "\U0001f3fd"])
def test_only_so_many_marks_are_drawn_on_one_character(mark: str) -> None:
    escaped = ascii(mark)[1:-1]
    assert printable("e" + mark * MOST_MARKS + "x" + mark) == "e" + mark * MOST_MARKS + "x" + mark
    assert printable("e" + mark * (MOST_MARKS + 3) + "x") == "e" + mark * MOST_MARKS + escaped * 3 + "x"


@pytest.mark.parametrize("mark", ["\u0301", "\u0903", "\u1161", "\U0001f3fd"])
def test_a_mark_is_not_drawn_on_what_is_ours(mark: str) -> None:
    escaped = ascii(mark)[1:-1]
    assert printable(mark * 2 + "a") == escaped * 2 + "a"
    assert printable(f"\x1b{mark}") == rf"\x1b{escaped}"
    assert printable(f"a\ufe0f{mark}b{mark}") == rf"a\ufe0f{escaped}b{mark}"


def test_what_is_made_printable_is_not_changed_again() -> None:
    text = "\u0301a" + "\u0301" * 20 + "\u3164\x1b\u1161가\ufe0f\u0300 b"
    assert printable(printable(text)) == printable(text)


def test_whatever_stays_has_a_place_of_its_own_or_is_drawn_into_what_is_before_it() -> None:
    for character in filter(str.isprintable, map(chr, range(sys.maxunicode + 1))):
        if not cell_len(character) and not is_unseen(character):
            assert printable(character) == ascii(character)[1:-1], hex(ord(character))
        if unicodedata.category(character) == "Cf":
            assert is_unseen(character), hex(ord(character))
