"""The mouse as a console's program hears of it. Pure."""

from __future__ import annotations

from textual import events

from cloche_term.terminal import Modes, Mouse, MouseAction, MouseButton, MouseTracking

LINES_A_TURN = 3
"""Of the wheel."""

_BUTTONS = {0: MouseButton.NONE, 1: MouseButton.LEFT, 2: MouseButton.MIDDLE, 3: MouseButton.RIGHT}
_TURNS: dict[type[events.MouseEvent], MouseButton] = {
    events.MouseScrollUp: MouseButton.WHEEL_UP,
    events.MouseScrollDown: MouseButton.WHEEL_DOWN,
    events.MouseScrollLeft: MouseButton.WHEEL_LEFT,
    events.MouseScrollRight: MouseButton.WHEEL_RIGHT,
}
_ACTIONS: dict[type[events.MouseEvent], MouseAction] = {
    events.MouseDown: MouseAction.PRESS,
    events.MouseUp: MouseAction.RELEASE,
    events.MouseMove: MouseAction.MOVE,
}


def mouse_of(event: events.MouseEvent, row: int, col: int) -> Mouse | None:
    """What an event of Textual's is to a program; nothing where it is none.

    Args:
        event: any of the mouse.
        row, col: where it is, in the console's view.
    """
    turn = _TURNS.get(type(event))
    action = MouseAction.PRESS if turn is not None else _ACTIONS.get(type(event))
    button = turn or _BUTTONS.get(event.button)
    if action is None or button is None:
        return None
    return Mouse(action, button, row, col, ctrl=event.ctrl, alt=event.meta, shift=event.shift)


def hears(modes: Modes, mouse: Mouse) -> bool:
    """Whether the program wants to hear of it."""
    if mouse.action is not MouseAction.MOVE:
        return modes.mouse is not MouseTracking.OFF
    if modes.mouse is MouseTracking.DRAGS:
        return mouse.button is not MouseButton.NONE
    return modes.mouse is MouseTracking.MOVES


def keys_of_wheel(modes: Modes) -> bool:
    """Whether the wheel is the keys up and down: on a screen without scrollback, of a program that knows no mouse."""
    return modes.is_alternate and modes.alternate_scroll and modes.mouse is MouseTracking.OFF
