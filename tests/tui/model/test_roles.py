"""Lines of text with roles: what others wrote cannot leave its place."""

from __future__ import annotations

from cloche_tui.model.roles import Role, Span, line, plain_text


def test_a_line_is_made_of_texts_and_spans_in_order() -> None:
    assert line("box ", Span("failed", Role.BAD)) == (Span("box "), Span("failed", Role.BAD))


def test_what_does_not_show_is_escaped_in_texts_and_spans() -> None:
    assert line("a\x1b[2J", Span("b\nc", Role.GOOD)) == (Span(r"a\x1b[2J"), Span(r"b\nc", Role.GOOD))


def test_the_plain_text_of_a_line_is_its_pieces_together() -> None:
    assert plain_text(line("box ", Span("failed", Role.BAD))) == "box failed"
