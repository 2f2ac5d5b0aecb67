"""What of the mouse a program hears."""

from __future__ import annotations

import pytest
from textual import events

from cloche_term.terminal import Modes, Mouse, MouseAction, MouseButton, MouseTracking
from cloche_tui.widgets.terminal_mouse import hears, keys_of_wheel, mouse_of


def event(kind: type[events.MouseEvent], button: int = 0) -> events.MouseEvent:
    return kind(None, 7, 3, 0, 0, button, shift=True, meta=True, ctrl=False)


@pytest.mark.parametrize(
    ("kind", "button", "action", "told"),
    [
        (events.MouseDown, 1, MouseAction.PRESS, MouseButton.LEFT),
        (events.MouseDown, 2, MouseAction.PRESS, MouseButton.MIDDLE),
        (events.MouseUp, 3, MouseAction.RELEASE, MouseButton.RIGHT),
        (events.MouseMove, 0, MouseAction.MOVE, MouseButton.NONE),
        (events.MouseMove, 1, MouseAction.MOVE, MouseButton.LEFT),
        (events.MouseScrollUp, 0, MouseAction.PRESS, MouseButton.WHEEL_UP),
        (events.MouseScrollRight, 0, MouseAction.PRESS, MouseButton.WHEEL_RIGHT),
    ],
)
def test_events_are_told_as_a_terminal_knows_them(
    kind: type[events.MouseEvent], button: int, action: MouseAction, told: MouseButton
) -> None:
    assert mouse_of(event(kind, button), 2, 5) == Mouse(action, told, 2, 5, alt=True, shift=True)


def test_what_no_terminal_knows_is_none() -> None:
    assert mouse_of(event(events.MouseDown, 9), 2, 5) is None
    assert mouse_of(event(events.Click, 1), 2, 5) is None


PRESS = Mouse(MouseAction.PRESS, MouseButton.LEFT, 0, 0)
DRAG = Mouse(MouseAction.MOVE, MouseButton.LEFT, 0, 0)
MOVE = Mouse(MouseAction.MOVE, MouseButton.NONE, 0, 0)


@pytest.mark.parametrize(
    ("tracking", "heard"),
    [
        (MouseTracking.OFF, []),
        (MouseTracking.PRESSES, [PRESS]),
        (MouseTracking.BUTTONS, [PRESS]),
        (MouseTracking.DRAGS, [PRESS, DRAG]),
        (MouseTracking.MOVES, [PRESS, DRAG, MOVE]),
    ],
)
def test_a_program_hears_what_it_has_asked_for(tracking: MouseTracking, heard: list[Mouse]) -> None:
    assert [mouse for mouse in (PRESS, DRAG, MOVE) if hears(Modes(mouse=tracking), mouse)] == heard


def test_the_wheel_is_keys_on_a_screen_without_scrollback_unless_the_program_knows_the_mouse() -> None:
    assert keys_of_wheel(Modes(is_alternate=True, alternate_scroll=True))
    assert not keys_of_wheel(Modes(is_alternate=False, alternate_scroll=True))
    assert not keys_of_wheel(Modes(is_alternate=True, alternate_scroll=False))
    assert not keys_of_wheel(Modes(is_alternate=True, alternate_scroll=True, mouse=MouseTracking.BUTTONS))
