"""What is said of a list of which a filter shows a part."""

from __future__ import annotations

from cloche_tui.model.filtered import hidden, none_matches
from cloche_tui.model.roles import plain_text


def test_where_nothing_matches_it_says_what_was_typed_and_how_to_be_rid_of_it() -> None:
    told = [plain_text(each) for each in none_matches("event", "we\x1bb")]
    assert told == [r"No event matches /we\x1bb", "esc takes it away"]
    assert plain_text(none_matches("event", "x" * 900)[0]) == f"No event matches /{'x' * 59}…"


def test_what_is_hidden_is_counted_if_anything_is() -> None:
    assert plain_text(hidden(1, "waiting call", "web")) == "1 waiting call hidden by /web  esc takes it away"
    assert plain_text(hidden(2, "call", "web")).startswith("2 calls hidden by /web")
    assert hidden(0, "call", "web") == ()
