"""A pane's console is painted at once while it has the focus, else a few times a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cloche_tui.widgets import pane_painting
from cloche_tui.widgets.pane_painting import BACKGROUND_S, PanePainting


class View:
    """Counts how often it is painted, and keeps what is to be done later."""

    def __init__(self) -> None:
        self.has_focus = False
        self.touches = 0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def touch(self) -> None:
        self.touches += 1

    def set_timer(self, delay: float, callback: Callable[[], None]) -> View:
        self.timers.append((delay, callback))
        return self

    def stop(self) -> None:
        self.timers.clear()


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    time = [10.0]
    monkeypatch.setattr(pane_painting, "monotonic", lambda: time[0])
    return time


def test_with_the_focus_every_change_is_painted(now: list[float]) -> None:
    view: Any = View()
    view.has_focus = True
    painting = PanePainting(view)
    for _ in range(3):
        painting.soon()
    assert (view.touches, view.timers) == (3, [])


def test_without_it_a_flood_is_painted_a_few_times_a_second(now: list[float]) -> None:
    view: Any = View()
    painting = PanePainting(view)
    for _ in range(3):
        painting.soon()
    assert view.touches == 1
    ((delay, paint),) = view.timers
    assert delay == pytest.approx(BACKGROUND_S)
    now[0] += delay
    paint()
    assert (view.touches, view.timers) == (2, [])


def test_who_gets_the_focus_waits_for_no_timer(now: list[float]) -> None:
    view: Any = View()
    painting = PanePainting(view)
    painting.soon()
    painting.soon()
    view.has_focus = True
    painting.soon()
    assert (view.touches, view.timers) == (2, [])
