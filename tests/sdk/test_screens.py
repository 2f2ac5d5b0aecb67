"""A console's screen as text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from cloche.errors import InternalError
from cloche.screens import Cursor, Screen

SCREEN: dict[str, Any] = {
    "rows": 4, "cols": 20, "lines": ["", "hi", "$", ""], "cursor": {"row": 2, "col": 2, "is_visible": True},
    "title": "sh", "is_alternate": False, "first_line": 7, "offset": 9, "state": "open",
}  # fmt: skip


def test_a_screen_is_read_field_by_field() -> None:
    assert Screen.parse({**SCREEN, "novelty": 1}) == Screen(
        4, 20, ("", "hi", "$", ""), Cursor(2, 2, True), "sh", False, 7, 9, "open"
    )


@pytest.mark.parametrize("key", sorted(SCREEN))
def test_a_field_that_is_missing_is_named(key: str) -> None:
    with pytest.raises(InternalError, match=key):
        Screen.parse({**SCREEN, key: None})


@pytest.mark.parametrize("key", ["row", "col", "is_visible"])
def test_a_field_of_the_cursor_that_is_missing_is_named(key: str) -> None:
    with pytest.raises(InternalError, match=key):
        Screen.parse({**SCREEN, "cursor": {**SCREEN["cursor"], key: None}})


def test_its_text_has_no_blank_rows_at_the_end() -> None:
    screen = Screen.parse(SCREEN)
    assert screen.text == "\nhi\n$"
    assert replace(screen, lines=("", "")).text == ""


def test_screens_that_show_the_same_are_equal_whatever_was_found_on_them() -> None:
    screen = Screen.parse(SCREEN)
    assert replace(screen, match=re.search("h", "hi")) == screen
