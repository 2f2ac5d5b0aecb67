"""What is said of a list of which a filter shows a part. Pure."""

from __future__ import annotations

from cloche_tui.model.figures import count, cut
from cloche_tui.model.roles import Line, Role, Span, line

_MOST_TYPED = 60
_TAKEN_AWAY = (Span("esc", Role.ACCENT), Span(" takes it away"))


def none_matches(thing: str, typed: str) -> tuple[Line, ...]:
    """Where nothing is left, and how to be rid of the filter.

    Args:
        thing: what there would be: `sandbox`.
        typed: the filter.
    """
    return line(f"No {thing} matches ", _filter(typed)), line(*_TAKEN_AWAY)


def hidden(number: int, thing: str, typed: str) -> Line:
    """What a filter hides that somebody waits for; nothing: it hides none.

    Args:
        number: how many.
        thing: what they are: `waiting call`.
        typed: the filter.
    """
    if not number:
        return ()
    told = Span(f"{count(number, thing)} hidden by ", Role.WARNING)
    return line(told, _filter(typed), Span("  "), *_TAKEN_AWAY)


def _filter(typed: str) -> Span:
    return Span(f"/{cut(typed, _MOST_TYPED)}", Role.WARNING)
