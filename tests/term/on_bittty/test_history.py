"""The fallback's scrollback: bounded, numbered, wrapped anew."""

from __future__ import annotations

import pytest
from bittty.style import Color, Style

from cloche_term.on_bittty.history import History
from cloche_term.on_bittty.rows import Cell, text_of
from cloche_term.on_bittty.wrapping import Row
from cloche_term.terminal import MOST_SCROLLBACK_BYTES

_PLAIN = Style()


def cells(text: str) -> list[Cell]:
    return [(_PLAIN, character) for character in text]


def texts(history: History) -> list[str]:
    return [text_of(row.cells) for row in history]


def test_the_oldest_rows_go_first_and_numbers_go_on() -> None:
    history = History(2)
    for number in range(5):
        history.append(cells(f"{number}   "), is_wrapped=False)
    assert (texts(history), history.dropped, history.end) == (["3", "4"], 3, 5)


def test_none_are_kept_where_none_may_be() -> None:
    history = History(0)
    history.append(cells("a"), is_wrapped=False)
    assert (len(history), history.end) == (0, 1)


def test_clearing_keeps_the_numbers() -> None:
    history = History(10)
    history.append(cells("a"), is_wrapped=False)
    history.clear()
    assert (len(history), history.end) == (0, 1)


def test_rows_taken_back_give_their_numbers_back() -> None:
    history = History(10)
    for text in "abc":
        history.append(cells(text), is_wrapped=False)
    assert [text_of(row.cells) for row in history.take_back(2)] == ["b", "c"]
    assert (texts(history), history.end) == (["a"], 1)
    assert len(history.take_back(5)) == 1


@pytest.mark.parametrize("kind", ["long rows", "colors", "links"])
def test_the_scrollback_is_bounded_in_bytes(kind: str) -> None:
    history = History(10**9)
    for number in range(400):
        style = Style(hyperlink=f"{number}" + "x" * 2000) if kind == "links" else _PLAIN
        row: list[Cell] = [(style, "x")] * 1000
        if kind != "long rows":
            row = [
                (Style(fg=Color("rgb", (number % 256, x % 256, 0)), hyperlink=style.hyperlink), "x")
                for x in range(1000)
            ]
        history.append(row, is_wrapped=False)
        assert sum(kept.size for kept in history) <= MOST_SCROLLBACK_BYTES
    assert (len(history) < 400) == (kind != "long rows")


def test_other_rows_take_the_place_of_those_kept_and_their_numbers_go_on_from_the_same() -> None:
    history = History(2)
    for text in "abc":
        history.append(cells(text), is_wrapped=False)
    history.replace([Row(cells("b"), is_wrapped=True), Row(cells("c"), is_wrapped=False)])
    assert (texts(history), [row.is_wrapped for row in history], history.end) == (
        ["b", "c"],
        [True, False],
        3,
    )
