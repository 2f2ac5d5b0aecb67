"""What whoever is attached to a console is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cloche.console_events import (
    Asked,
    ConsoleEvent,
    Live,
    Notice,
    Output,
    Resized,
    ScreenBegins,
    Viewers,
    after,
    parse_event,
)
from cloche.console_messages import ConsoleInfo
from cloche.errors import InternalError
from tests.sdk.test_console_messages import ANN, CONSOLE, VIEWER

INFO = ConsoleInfo.parse(CONSOLE)


@pytest.mark.parametrize(
    ("message", "event"),
    [
        ({"screen": {"rows": 5, "cols": 6, "lost_bytes": 7}}, ScreenBegins(5, 6, 7)),
        ({"output": b"hi"}, Output(b"hi")),
        ({"live": 8}, Live(8)),
        ({"resize": {"rows": 5, "cols": 6}}, Resized(5, 6)),
        ({"viewers": [VIEWER], "driver": "v1"}, Viewers((ANN,), "v1")),
        ({"viewers": [], "driver": None}, Viewers((), None)),
        ({"asked": VIEWER}, Asked(ANN)),
        ({"notice": "ann drives now"}, Notice("ann drives now")),
        ({"weather": "rain"}, None),
    ],
)
def test_each_message_has_its_event(message: dict[str, Any], event: ConsoleEvent | None) -> None:
    assert parse_event(message) == event


@pytest.mark.parametrize(
    "odd",
    [
        None,
        {"output": "text"},
        {"screen": {"rows": 1, "cols": 1}},
        {"live": True},
        {"resize": None},
        {"viewers": [1]},
        {"asked": "v1"},
    ],
)
def test_what_is_odd_is_an_error_that_says_so(odd: Any) -> None:
    with pytest.raises(InternalError, match="is not understood"):
        parse_event(odd)


def test_sizes_and_viewers_change_what_is_known_of_a_console_and_nothing_else_does() -> None:
    assert after(INFO, Resized(5, 6)) == after(INFO, ScreenBegins(5, 6, 0)) == replace(INFO, rows=5, cols=6)
    assert after(INFO, Viewers((), None)) == replace(INFO, viewers=(), driver=None)
    assert [after(INFO, event) for event in (Output(b""), Live(1), Asked(ANN), Notice(""))] == [INFO] * 4
