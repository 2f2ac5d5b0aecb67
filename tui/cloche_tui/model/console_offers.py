"""What can be done about a console now, and what that is called in the line of keys. Pure.

Rule: a key is offered by the name of what it does here and now, and not at all where it does nothing. Who presses it all
the same is told why.
"""

from __future__ import annotations

from collections.abc import Mapping

from cloche_tui.model.console_panes import is_boot
from cloche_tui.model.console_status import ConsoleStatus, Phase

OPENS_SHELL = "new shell"
_WHEEL = {"console.drive": "", "console.ask": "", "console.take": ""}
_TEXT = {"console.search": "", "console.copy": "", "console.scroll_up": ""}


def words_for(status: ConsoleStatus) -> Mapping[str, str]:
    """The words of actions by their ids, where they are others than always; empty: not offered.

    Args:
        status: how the console stands to the person.
    """
    match status.phase:
        case Phase.NONE:
            words = {**_WHEEL, **_TEXT, "console.drive": OPENS_SHELL}
        case Phase.ENDED | Phase.FAILED:
            words = {**_WHEEL, "console.drive": OPENS_SHELL}
        case Phase.LIVE if status.info is not None and is_boot(status.info):
            words = {**_WHEEL, "console.drive": OPENS_SHELL}
        case Phase.LIVE if status.driver is not None:
            words = {"console.drive": ""}
        case Phase.LIVE:
            words = {"console.ask": "", "console.take": ""}
        case _:
            words = dict(_WHEEL)
    if not status.is_machine_up and words.get("console.drive") == OPENS_SHELL:
        words["console.drive"] = ""
    if status.asking is not None:
        words["console.give"] = "let drive"
    if status.copying is not None and not status.copying.refusal:
        words["console.clipboard"] = "let copy"
    if status.is_scrolled:
        words["console.to_end"] = "newest"
    return words
