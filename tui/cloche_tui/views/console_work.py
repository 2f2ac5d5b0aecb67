"""What is done with one console for good: it is ended, or what it has shown is written to a file.

Rule: what is ended is named by what runs in it, and asked about first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloche.errors import BadRequest
from cloche_tui.dialogs.confirm import Confirm
from cloche_tui.model.console_panes import is_boot
from cloche_tui.model.console_status import label
from cloche_tui.model.roles import Role, Span, line
from cloche_tui.widgets.console_text import save_text

if TYPE_CHECKING:
    from cloche import ConsoleInfo
    from cloche_tui.views.view import Dashboard
    from cloche_tui.widgets.terminal_canvas import TerminalCanvas


async def close_console(dashboard: Dashboard, info: ConsoleInfo | None) -> None:
    """Asks whether a console is really to go, and has the hub end it.

    Args:
        dashboard: where it is asked.
        info: of the console, as it is now.

    Raises:
        BadRequest: there is no program in it that could be ended.
        CodedError: the hub does not end it.
    """
    if info is None or not info.is_open or is_boot(info):
        raise BadRequest("there is no program here that could be ended; x closes the pane")
    lost = [line("What runs in ", Span(label(info), Role.HEADING), " is ended. What it has shown is kept.")]
    if await dashboard.ask(Confirm("End this console?", lost, verb="end it")):
        sandbox = await dashboard.session.hub.sandbox(info.sandbox)
        await sandbox.close_console(info.id)


async def save_console(dashboard: Dashboard, view: TerminalCanvas, path: str) -> None:
    """Writes all a console has shown to a file.

    Args:
        dashboard: where it is said.
        view: which shows the console.
        path: where to; `~` is the person's home.

    Raises:
        BadRequest: no path is given, or it cannot be written.
        NotFound: nothing has been shown.
    """
    if not path:
        raise BadRequest("save where? :save PATH")
    lines = await save_text(view, path)
    dashboard.say(f"saved {lines} lines to {path}", Role.GOOD)
