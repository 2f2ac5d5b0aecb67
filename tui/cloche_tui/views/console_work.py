"""What is asked of the hub about consoles: which is the newest, and that one ends; and what one has shown, as a file.

Rule: what is ended is named by what runs in it, and asked about first.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cloche.errors import BadRequest, CodedError, NotFound
from cloche.printable import printable
from cloche_tui.dialogs.confirm import Confirm
from cloche_tui.model.console_panes import closable, is_boot, newest_console
from cloche_tui.model.console_status import label
from cloche_tui.model.figures import cut
from cloche_tui.model.roles import Line, Role, Span, line
from cloche_tui.widgets.console_text import save_text
from cloche_wire.aio.bounds import within

if TYPE_CHECKING:
    from cloche import ConsoleInfo
    from cloche_tui.views.view import Dashboard
    from cloche_tui.widgets.terminal_canvas import TerminalCanvas
    from cloche_tui.widgets.terminal_view import TerminalView


_ANSWER_S = 1.0
"""How long the hub is waited for, where something is known without it."""
_LONGEST = 50
"""Characters of a program or a title that are shown."""


async def newest_of(dashboard: Dashboard, sandbox: str) -> str | None:
    """The id of what is looked into when a sandbox is, as the hub knows it now; None: there is nothing.

    Where the hub does not answer soon, it is the newest that it has told of.

    Args:
        dashboard: which is connected to the hub.
        sandbox: its id.
    """
    found = newest_console(await _consoles_of(dashboard, sandbox))
    return None if found is None else found.id


async def _consoles_of(dashboard: Dashboard, sandbox: str) -> Sequence[ConsoleInfo]:
    with contextlib.suppress(CodedError, TimeoutError):
        async with within(_ANSWER_S):
            return await dashboard.session.hub.consoles(sandbox=sandbox)
    return dashboard.world.consoles.of(sandbox)


async def close_one_of(dashboard: Dashboard, reference: str | None, sandbox: str) -> None:
    """Ends the only console of a sandbox, or the one that is named; lets the person name one of several.

    Args:
        dashboard: where it is asked.
        reference: `SANDBOX/CONSOLE` or a sandbox, as it was typed; None: nothing was.
        sandbox: the id of that sandbox, or of the selected one.

    Raises:
        NotFound: there is no such console.
        CodedError: the hub does not end it.
    """
    name = (reference or "").partition("/")[2]
    there = closable(await _consoles_of(dashboard, sandbox))
    meant = [info for info in there if name in (info.name, info.id)] if name else there
    if not meant:
        known = dashboard.world.fleet.get(sandbox)
        where = sandbox if known is None else known.name
        raise NotFound(f"no program of {where} runs in a console" + (f" {name!r}" if name else ""))
    if len(meant) > 1:
        await dashboard.run_action_by_id("command.open", f"close-console {meant[0].sandbox_name}/")
    else:
        await close_console(dashboard, meant[0])


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
    if await dashboard.ask(Confirm(f"End {label(info)}?", _what_ends(info), verb="end it")):
        sandbox = await dashboard.session.hub.sandbox(info.sandbox)
        await sandbox.close_console(info.id)
        dashboard.say(f"{label(info)} ended", Role.GOOD)


def _what_ends(info: ConsoleInfo) -> list[Line]:
    program = cut(printable(shlex.join(info.command)), _LONGEST) if info.command else "a shell"
    title = f" ({cut(printable(info.title), _LONGEST)})" if info.title else ""
    lines = [line(Span(f"{program}{title}", Role.HEADING), " and all it runs here end.")]
    if info.viewers:
        names = ", ".join(sorted({one.name for one in info.viewers}))
        lines.append(line(Span(f"Looked at by {printable(names)}.", Role.WARNING)))
    return [*lines, line(Span("What it has shown is kept.", Role.MUTED))]


async def search_in(dashboard: Dashboard, view: TerminalView, text: str) -> None:
    """Finds a text in what a console has shown, and says how often it is there.

    Args:
        dashboard: where it is said.
        view: which shows the console.
        text: what is looked for.
    """
    found = await view.search(text)
    if not found:
        dashboard.say(f"not found: {text}", Role.WARNING)
    else:
        dashboard.say("found once" if found == 1 else f"{found} times: n and N go from one to the next")


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
