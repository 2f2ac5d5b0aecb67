"""What surrounds the views of the dashboard: the line that says something, dialogs, themes, the mouse, the end.

Rule: however it ends, it ends in order: the hub hears at once that nobody drives any more, and the terminal is as before.
"""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass
from typing import TypeVar

from rich.text import Text
from textual import on
from textual.app import App
from textual.screen import ModalScreen, Screen
from textual.timer import Timer

from cloche.printable import printable
from cloche_tui.messages import Said
from cloche_tui.model.roles import Role
from cloche_tui.themes import NO_MARK, OWN, HubMark, ThemeFolder, adopt, themes_path
from cloche_tui.widgets.footer import Footer
from cloche_tui.widgets.styles import style_of

T = TypeVar("T")

SAID_S = 6.0
"""How long a line for the person stays."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the dashboard was started."""

    is_readonly: bool = False
    console: str | None = None
    """A sandbox, or `SANDBOX/CONSOLE`, whose console is shown at once."""
    view: str = "sandboxes"
    """What is shown first."""
    has_bell: bool = True
    mark: HubMark = NO_MARK
    """What this hub is told by."""


class MainScreen(Screen[None], inherit_bindings=False):
    """The screen behind all dialogs. Its keys are the registry's."""


class Frame(App[None], inherit_bindings=False):
    """A program with a `Footer`, whose keys are its own.

    Attributes:
        theme_folder: a person's own themes.
        has_mouse: whether the mouse is ours.
        defect: what has ended the program, in a line; None: nothing has.
    """

    ENABLE_COMMAND_PALETTE = False  # opened by an action, as everything else
    TITLE = "Cloche"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-normal"), (160, "-wide")]  # noqa: RUF012 - as Textual has it
    VERTICAL_BREAKPOINTS = [(0, "-low"), (36, "-high")]  # noqa: RUF012

    def __init__(self, **textual: object) -> None:
        super().__init__(**textual)  # type: ignore[arg-type]
        self.theme_folder = ThemeFolder(themes_path(), OWN)
        self.has_mouse = True
        self.defect: str | None = None
        self._saying: Timer | None = None
        self._said_first: list[tuple[str, Role]] = []

    def get_default_screen(self) -> Screen[None]:
        """The screen behind all dialogs."""
        return MainScreen(id="_default")

    def on_mount(self) -> None:
        """Begins to listen for an end from outside, and says what is to be said first."""
        if not self.is_headless:
            for number in (signal.SIGHUP, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self.leave)
        for text, role in self._said_first:
            self.say(text, role)

    @property
    def is_up(self) -> bool:
        """Whether it shows things: when it ends they are taken down one by one, and what still comes is for nobody."""
        return self.is_running and bool(self.query(Footer))

    def look_for_themes(self) -> None:
        """Takes what has changed in a person's own themes; to be called once a second."""
        if news := self.theme_folder.poll():
            adopt(self, news)
            for problem in news.problems:
                self.say(problem, Role.WARNING)

    async def ask(self, dialog: ModalScreen[T]) -> T | None:
        """Shows a dialog and waits for its answer; None: it was left without one."""
        return await self.push_screen_wait(dialog)

    def say(self, text: str, role: Role = Role.PLAIN) -> None:
        """Shows a line for some seconds, in place of the keys. Foreign text in it does nothing to the terminal."""
        if not self.is_up:
            return
        footer = self.query_one(Footer)
        line = printable(" ".join(text.split()))
        footer.said = Text(f" {line}", style_of(self, role), no_wrap=True, overflow="ellipsis")
        if self._saying is not None:
            self._saying.stop()
        self._saying = self.set_timer(SAID_S, lambda: setattr(footer, "said", None))

    @on(Said)
    def _said(self, message: Said) -> None:
        self.say(message.text, message.role)

    def say_first(self, text: str, role: Role) -> None:
        """Shows a line as soon as there is a screen."""
        self._said_first.append((text, role))

    def put_out(self, sequence: str) -> None:
        """Writes to the terminal, around Textual."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)
            self._driver.flush()

    def use_mouse(self, *, is_on: bool) -> None:
        """Takes the mouse, or leaves it to the terminal, whose own selecting and copying works then."""
        self.has_mouse = is_on
        driver = self._driver
        for name in ("_enable_mouse_support",) if is_on else ("_disable_mouse_support",):
            # Textual has no public way; a driver without a mouse has no such method.
            if (switch := getattr(driver, name, None)) is not None:
                switch()

    def screen_text(self) -> str:
        """What is on the screen, without its colours."""
        strips = self.screen._compositor.render_strips()  # noqa: SLF001 - there is no public way to the text
        return "".join("".join(segment.text for segment in strip).rstrip() + "\n" for strip in strips)

    def _handle_exception(self, error: Exception) -> None:
        if self.is_headless or os.environ.get("CLOCHE_DEBUG"):
            super()._handle_exception(error)
            return
        self.defect = f"{type(error).__name__}: {error}"
        self.leave()

    def leave(self) -> None:
        """Ends the program."""
        self.exit()
