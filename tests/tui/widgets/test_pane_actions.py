"""What a person does about the console in the focused pane has a name in the registry, and changes no pane."""

from __future__ import annotations

from typing import Any

import pytest

from cloche_tui.actions import BY_ID, Place
from cloche_tui.widgets.pane_actions import PANE_ACTIONS


class View:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, tuple[Any, ...]]] = []
        self.size = type("Size", (), {"height": 20})

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.told.append((name, arguments))


class Pane:
    """As much of a pane as is needed."""

    def __init__(self) -> None:
        self.view = View()


def test_each_is_an_action_of_consoles() -> None:
    assert {action for action in PANE_ACTIONS if Place.CONSOLE not in BY_ID[action].places} == set()


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("console.scroll_up", ("scroll_console", (-19,))),
        ("console.scroll_down", ("scroll_console", (19,))),
        ("console.to_start", ("scroll_to_oldest", ())),
        ("console.to_end", ("scroll_to_newest", ())),
        ("console.search_next", ("step_match", (-1,))),
        ("console.search_previous", ("step_match", (1,))),
        ("console.copy", ("copy", ())),
    ],
)
def test_what_is_seen_moves_as_the_action_says(action: str, told: tuple[str, tuple[Any, ...]]) -> None:
    pane: Any = Pane()
    PANE_ACTIONS[action](pane)
    assert pane.view.told == [told]
