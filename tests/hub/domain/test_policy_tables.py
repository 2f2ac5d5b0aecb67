"""Reading tables: every problem with its place, and what was probably meant."""

from __future__ import annotations

from enum import StrEnum

import pytest

from cloche_hub.domain.policy_tables import Table, Wrong, is_table, member_of, quoted, tables, text_of, texts


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


def test_a_value_is_read_and_an_absent_one_is_the_default() -> None:
    problems: list[str] = []
    table = Table("t: ", {"a": "x"}, problems, ("a", "b"))
    assert (table.take("a", str.upper, "-"), table.take("b", str.upper, "-")) == ("X", "-")
    assert problems == []


def test_all_problems_of_a_table_are_told_with_its_place() -> None:
    problems: list[str] = []
    table = Table("t: ", {"colour": "gren", "colr": 1, "xyzzy": 1}, problems, ("colour", "size"))
    assert table.need("size", str, "-") == "-"
    assert table.take("colour", lambda value: member_of(Colour, value), Colour.RED) is Colour.RED
    assert problems == [
        "t: unknown key 'colr'; did you mean 'colour'?",
        "t: unknown key 'xyzzy'; known are colour, size",
        "t: size: is missing",
        "t: colour: expected 'red' or 'green'; it is 'gren'; did you mean 'green'?",
    ]


def test_a_word_that_is_none_is_refused_whatever_its_type() -> None:
    assert member_of(Colour, "red") is Colour.RED
    for wrong in (1, None, ["red"], "Red"):
        with pytest.raises(Wrong, match="expected 'red' or 'green'"):
            member_of(Colour, wrong)
    with pytest.raises(Wrong, match=r"^expected 'green'; it is 'red'$"):
        member_of(Colour, "red", but=(Colour.RED,))


def test_the_words_that_would_do_are_listed_once() -> None:
    with pytest.raises(Wrong, match=r"^expected 'red' or 'green'; it is 'maybe'$"):
        member_of(Colour, "maybe")
    with pytest.raises(Wrong, match=r"^expected 'red' or 'green'; it is 'gren'; did you mean 'green'\?$"):
        member_of(Colour, "gren")


@pytest.mark.parametrize("wrong", ["", "abcd", "a\n", 1, None])
def test_a_text_has_a_length_and_one_line(wrong: object) -> None:
    assert text_of("abc", most=3) == "abc"
    with pytest.raises(Wrong, match="expected one line of text of at most 3 characters"):
        text_of(wrong, most=3)


def test_a_text_may_be_of_several_lines_where_that_is_meant() -> None:
    assert text_of("a\n", most=3, printable=False) == "a\n"
    with pytest.raises(Wrong, match="expected a text of"):
        text_of("", most=3, printable=False)


@pytest.mark.parametrize("wrong", [[], ["a", "b", "c"], ["a", 1], "ab", None])
def test_a_list_of_texts_has_some_and_not_too_many(wrong: object) -> None:
    assert texts(["a", "b"], most=2) == ("a", "b")
    with pytest.raises(Wrong, match="expected a list of 1 to 2 texts"):
        texts(wrong, most=2)


def test_tables_are_told_from_other_values() -> None:
    assert is_table({"a": 1}) == {"a": 1}
    assert tables([{"a": 1}]) == [{"a": 1}]
    with pytest.raises(Wrong, match="expected a table; it is 3"):
        is_table(3)
    wrongs: list[object] = [{}, [1], 3]
    for wrong in wrongs:
        with pytest.raises(Wrong, match="expected a list of tables"):
            tables(wrong)


def test_what_is_shown_of_a_value_is_short_also_of_a_number_python_will_not_print() -> None:
    assert quoted("a" * 99) == "'" + "a" * 59 + "…"
    assert quoted(1 << 99_999) == "a number of thousands of digits"
