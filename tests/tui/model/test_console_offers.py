"""What is offered about a console: what is of use now, by the name of what it does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cloche_tui.actions import BY_ID, Place, Situation, possible
from cloche_tui.model.chosen import Chosen
from cloche_tui.model.clipboard import CopyRequest
from cloche_tui.model.console_offers import words_for
from cloche_tui.model.console_status import ConsoleStatus, Phase
from tests.tui.consoles import boot, console, viewer

US, ANN = viewer(1, "us"), viewer(2, "ann")
WATCHING = ConsoleStatus(Phase.LIVE, console(viewers=(US,)), "v1")
OTHERS = replace(WATCHING, info=console(viewers=(US, ANN), driver="v2"))
MACHINE = replace(WATCHING, info=boot(viewers=(US,)))


def _offered(status: ConsoleStatus) -> list[str]:
    """The words about driving, opening and the like that the line of keys has."""
    chosen = Chosen(sandboxes=("sb_1",), sandbox="sb_1", console="con_1", words=words_for(status))
    there = possible(Situation(Place.CONSOLE, chosen, is_connected=True, is_readonly=False))
    words = (f"{action.keys[0]} {action.word(chosen)}" for action in there if action.word(chosen))
    return [word for word in words if word not in _ALWAYS]


_ALWAYS = {
    f"{BY_ID[action].keys[0]} {BY_ID[action].footer}"
    for action in (
        "console.search", "console.copy", "console.scroll_up", "console.leave", "console.hide", "console.full",
        "command.open", "help.show", "app.quit",
    )
}  # fmt: skip


@pytest.mark.parametrize(
    ("status", "offered"),
    [
        (WATCHING, ["enter drive"]),
        (OTHERS, ["a ask", "t take"]),
        (MACHINE, ["enter new shell"]),
        (ConsoleStatus(Phase.NONE), ["enter new shell"]),
        (replace(WATCHING, phase=Phase.ENDED), ["enter new shell"]),
        (replace(WATCHING, phase=Phase.FAILED), ["enter new shell"]),
        (replace(WATCHING, phase=Phase.FAILED, is_machine_up=False), []),
        (ConsoleStatus(Phase.NONE, is_machine_up=False), []),
        (replace(WATCHING, phase=Phase.AWAY), []),
        (ConsoleStatus(Phase.ATTACHING), []),
        (replace(WATCHING, asking="ann"), ["enter drive", "g let drive"]),
        (replace(WATCHING, copying=CopyRequest("text")), ["enter drive", "Y let copy"]),
        (replace(WATCHING, copying=CopyRequest("", "no base64")), ["enter drive"]),
        (replace(WATCHING, is_scrolled=True), ["enter drive", "G newest"]),
    ],
)
def test_what_is_of_use_is_offered_by_what_it_does(status: ConsoleStatus, offered: list[str]) -> None:
    assert _offered(status) == offered


def test_where_nothing_is_shown_nothing_is_searched_copied_or_scrolled() -> None:
    words = words_for(ConsoleStatus(Phase.NONE))
    assert [words[f"console.{name}"] for name in ("search", "copy", "scroll_up")] == ["", "", ""]
