"""How the form for a new sandbox is read, and what is said of a field that will not do."""

from __future__ import annotations

import pytest

from cloche_tui.model.creation import FIELDS, CreateRequest, FieldWrong, read_form


def test_a_form_with_a_recipe_alone_asks_for_nothing_else() -> None:
    assert read_form({"recipe": " python "}, {}) == CreateRequest("python", "small")


def test_every_field_is_read() -> None:
    typed = {
        "recipe": "node",
        "flavor": "large",
        "name": "box",
        "labels": "team=blue  note='two words'",
        "lease": "1h30m",
        "env": "A=1 HOME",
        "secrets": "TOKEN='s p' OTHER",
    }
    assert set(typed) == set(FIELDS)
    assert read_form(typed, {"HOME": "/home/ann", "OTHER": "x=y"}) == CreateRequest(
        "node",
        "large",
        "box",
        {"team": "blue", "note": "two words"},
        5400.0,
        {"A": "1", "HOME": "/home/ann"},
        {"TOKEN": "s p", "OTHER": "x=y"},
    )


@pytest.mark.parametrize(
    ("typed", "field", "says"),
    [
        ({"recipe": ""}, "recipe", "say which recipe"),
        ({"lease": "soon"}, "lease", "'soon' is no duration"),
        ({"labels": "blue"}, "labels", "'blue' is no label"),
        ({"labels": "=blue"}, "labels", "'=blue' is no label"),
        ({"labels": "a='b"}, "labels", "a quote in labels is not closed"),
        ({"env": "=1"}, "env", "a variable in env has no name"),
        ({"env": "NOT_SET"}, "env", "NOT_SET is not set here"),
        ({"secrets": "hunter2"}, "secrets", "one of them is not set here"),
    ],
)
def test_a_field_that_will_not_do_is_named_with_how_it_is_right(
    typed: dict[str, str], field: str, says: str
) -> None:
    with pytest.raises(FieldWrong) as wrong:
        read_form({"recipe": "python"} | typed, {})
    assert wrong.value.field == field
    assert says in wrong.value.message


def test_a_secret_is_in_no_message_and_not_in_what_a_request_shows_of_itself() -> None:
    with pytest.raises(FieldWrong) as wrong:
        read_form({"recipe": "python", "secrets": "=hunter2"}, {})
    assert "hunter2" not in wrong.value.message
    assert "hunter2" not in repr(read_form({"recipe": "python", "secrets": "A=hunter2"}, {}))
