"""What is typed behind `:`: read by the beginnings of names, completed, and remembered."""

from __future__ import annotations

import pytest

from cloche.errors import BadRequest
from cloche_tui.model.commands import MOST_REMEMBERED, History, complete, read_command

COMMANDS = ("create", "destroy", "detail", "sort")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("destroy box", ("destroy", "box")),
        ("  sort   name  ", ("sort", "name")),
        ("des box", ("destroy", "box")),
        ("create", ("create", "")),
        ("c python small", ("create", "python small")),
    ],
)
def test_a_command_is_read_with_its_argument(typed: str, meant: tuple[str, str]) -> None:
    assert read_command(typed, COMMANDS) == meant


def test_a_name_that_begins_another_one_is_itself() -> None:
    assert read_command("sort", ("sort", "sort-by")) == ("sort", "")


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "there is no command ''"),
        ("fly", "there is no command 'fly'"),
        ("de", "'de' could be destroy or detail"),
    ],
)
def test_what_is_no_command_is_refused_with_what_there_is(typed: str, why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        read_command(typed, COMMANDS)


def test_names_are_completed_until_a_blank_is_typed_and_arguments_behind_it() -> None:
    assert complete("de", COMMANDS, ("x",)) == ["destroy", "detail"]
    assert complete("destroy ", COMMANDS, ("box", "ax")) == ["destroy ax", "destroy box"]
    assert complete("destroy x", COMMANDS, ("box", "ax", "Xa")) == ["destroy Xa", "destroy ax", "destroy box"]
    assert complete("sort zz", COMMANDS, ("name",)) == []


def test_history_is_walked_back_and_forth_and_ends_empty() -> None:
    history = History(("a", "b"))
    assert [history.move(step) for step in (-1, -1, -1, 1, 1, 1)] == ["b", "a", "a", "b", "", ""]


def test_a_line_typed_again_is_remembered_once_as_the_newest() -> None:
    history = History(("a", "b"))
    history.add("a")
    assert history.lines == ("b", "a")
    assert history.move(-1) == "a"


def test_what_is_remembered_is_bounded() -> None:
    history = History([str(number) for number in range(100)])
    history.add("x")
    assert len(history.lines) == MOST_REMEMBERED
