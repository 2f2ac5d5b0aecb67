"""Names of keys."""

from __future__ import annotations

import pytest

from cloche_term.keys import NAMED_KEYS, Key, key_named


@pytest.mark.parametrize(
    ("name", "character", "key"),
    [
        ("a", "a", Key("a")),
        ("A", "A", Key("A")),
        ("upper_a", "A", Key("A")),
        ("full_stop", ".", Key(".")),
        ("slash", "/", Key("/")),
        ("at", "@", Key("@")),
        ("ctrl+underscore", None, Key("_", ctrl=True)),
        ("ctrl+right_square_bracket", None, Key("]", ctrl=True)),
        ("ctrl+@", None, Key("@", ctrl=True)),
        ("space", " ", Key(" ")),
        ("plus", "+", Key("+")),
        ("+", "+", Key("+")),
        ("ctrl++", None, Key("+", ctrl=True)),
        ("left", None, Key("left")),
        ("shift+f5", None, Key("f5", shift=True)),
        ("ctrl+alt+shift+end", None, Key("end", ctrl=True, alt=True, shift=True)),
        ("super+home", None, Key("home", command=True)),
        ("meta+x", None, Key("x", alt=True)),
        ("return", None, Key("enter")),
        ("page_up", None, Key("pageup")),
        ("latin_small_letter_e_with_acute", "é", Key("é")),
        ("é", None, Key("é")),
    ],
)
def test_a_name_with_its_modifiers_is_read(name: str, character: str | None, key: Key) -> None:
    assert key_named(name, character) == key


@pytest.mark.parametrize(
    ("name", "character"),
    [("left_shift", None), ("latin_small_letter_e_with_acute", None), ("x1", "\x1b"), ("", None)],
)
def test_what_is_no_key_is_none(name: str, character: str | None) -> None:
    assert key_named(name, character) is None


@pytest.mark.parametrize("name", ["", "ab", "\x1b", "ctrl+a"])
def test_a_key_has_a_known_name_or_one_character(name: str) -> None:
    with pytest.raises(ValueError, match="no key is named"):
        Key(name)


def test_every_named_key_is_read_by_its_name() -> None:
    assert [name for name in NAMED_KEYS if key_named(name) != Key(name)] == []
