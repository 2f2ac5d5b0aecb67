"""The dashboard's start: what a person has set, where the hub is, which terminal; then the app.

Rule: a defect ends it with one line, and the terminal as it was; CLOCHE_DEBUG=1 shows where it was.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from cloche.aio import Hub
from cloche.aio.pending import Pending
from cloche.config import DEFAULT_RECONNECT_S, find_address
from cloche.errors import BadRequest
from cloche.link_news import OnLink
from cloche_tui.actions import ACTIONS, VIEWS
from cloche_tui.app import DashboardApp
from cloche_tui.frame import Options
from cloche_tui.keymap import load_keymap
from cloche_tui.model.roles import Role
from cloche_tui.remembered import open_remembered
from cloche_tui.terminal_input.driver import GrabDriver
from cloche_tui.themes import app_options, dress, hub_mark, load_hub_marks

FAILED = 125
"""The exit status of a defect, as of the command line."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a person has started it."""

    console: str | None = None
    """A sandbox, or `SANDBOX/CONSOLE`, to be shown at once."""
    view: str = "sandboxes"
    is_readonly: bool = False
    theme: str | None = None
    """None: the one that is remembered."""
    has_mouse: bool = True
    has_bell: bool = True


def start_dashboard(start: Start) -> int:
    """Shows it in this terminal until the person leaves; returns the exit status.

    Raises:
        BadRequest: there is no such theme, or the address of the hub is none.
    """
    app = make_app(start)
    app.run(mouse=start.has_mouse)
    app.remembered.flush()
    if app.defect is not None:
        sys.stderr.write(f"cloche: a defect: {app.defect}; CLOCHE_DEBUG=1 shows where\n")
        return FAILED
    return app.return_code or 0


def make_app(start: Start) -> DashboardApp:
    """The app, ready to run.

    Raises:
        BadRequest: as above.
    """
    if start.view not in VIEWS:
        raise BadRequest(f"there is no view {start.view!r}; there are {', '.join(VIEWS)}")
    address = find_address().text
    remembered, keymap = open_remembered(address), load_keymap(ACTIONS)
    marks, wrong_marks = load_hub_marks()
    options = Options(
        is_readonly=start.is_readonly,
        console=start.console,
        view=start.view,
        has_bell=start.has_bell,
        mark=hub_mark(address, marks),
    )
    # In a browser's tab the server names the driver.
    driver = None if "TEXTUAL_DRIVER" in os.environ else GrabDriver
    app = DashboardApp(
        Connector(), remembered, keymap.keys, options, driver_class=driver, **app_options(os.environ)
    )
    wrong_themes = dress(
        app, app.theme_folder, os.environ, wanted=start.theme or "", remembered=remembered.get("theme", "")
    )
    if start.theme and start.theme not in app.available_themes:
        raise BadRequest(
            f"there is no theme {start.theme!r}; there are {', '.join(sorted(app.available_themes))}"
        )
    for problem in (*keymap.problems, *wrong_marks, *wrong_themes, remembered.problem):
        if problem:
            app.say_first(problem, Role.WARNING)
    remembered.tell = lambda text: app.say(text, Role.WARNING)
    return app


class Connector:
    """Makes connections to the hub that is meant; this user's own one is started if it does not run, once."""

    def __init__(self) -> None:
        self._may_start = True

    def __call__(self, on_link: OnLink) -> Pending[Hub]:
        start, self._may_start = self._may_start, False
        # What scripts set for themselves does not count: somebody looks on here, and decides when to give up.
        return Hub.connect(start=start, reconnect_s=DEFAULT_RECONNECT_S, on_link=on_link)
