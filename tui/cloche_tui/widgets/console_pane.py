"""One console in a pane: how we stand to it around its edge, what it shows inside, and what a person does about it.

    pane = ConsolePane(session, terminals, sandbox_id, console_id, title="box")
    pane.drive()                    # keys go into it as soon as nobody else drives

Rules:
- Watching and driving differ in the border's form, its colour and a word; the way out is there as long as we drive.
- Keys are the console's exactly as long as the edge says so. When they stop being that by anything but the person's own
  hand, keys mean nothing until none was pressed for a moment: what was meant for a program does nothing here.
- A console that has not the focus is painted a few times a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message
from textual.timer import Timer
from textual.worker import Worker

from cloche.printable import printable
from cloche_tui.feed.console import ConsoleLink, HubSource
from cloche_tui.messages import Said
from cloche_tui.model.console_panes import is_boot
from cloche_tui.model.console_status import ConsoleStatus, Keys, Phase, Size
from cloche_tui.widgets.pane_clipboard import PaneClipboard
from cloche_tui.widgets.pane_edge import EDGE_CSS, show_edge
from cloche_tui.widgets.pane_notice import PaneNotice
from cloche_tui.widgets.pane_painting import PanePainting
from cloche_tui.widgets.terminal_driving import AGAIN_WITHIN_S, WAY_OUT_KEY
from cloche_tui.widgets.terminal_view import TerminalView
from cloche_tui.widgets.work import begin

if TYPE_CHECKING:
    from cloche_term.apart.terminals import Terminals

QUIET_S = 0.7
"""How long no key may have been pressed before one means something again."""
_NOT_TAKEN = "keys not taken yet: pause a moment"


class ConsolePane(Container):
    """A console with its edge.

    Args:
        source: of the connection.
        terminals: where emulators come from.
        sandbox: the id of the one it is in.
        console: its id; None: there is none to be shown.
        title: what the sandbox is called.
        is_new: whether a new shell is opened, and driven.
        can_drive: whether anything may be changed from here.
        is_machine_up: whether the sandbox runs.
        keys: what the keys are called that its last line names.
    """

    DEFAULT_CSS = EDGE_CSS

    @dataclass
    class Became(Message):
        """A pane shows another console from now on: one that was opened in it."""

        pane: ConsolePane
        console: str

    @dataclass
    class StatusChanged(Message):
        """Something else can be done about a console."""

        pane: ConsolePane

    def __init__(
        self,
        source: HubSource,
        terminals: Terminals,
        sandbox: str,
        console: str | None,
        *,
        title: str,
        is_new: bool = False,
        can_drive: bool = True,
        is_machine_up: bool = True,
        keys: Keys | None = None,
    ) -> None:
        super().__init__()
        self._source, self._terminals = source, terminals
        self.sandbox, self._label = sandbox, title
        self._can_drive, self._is_machine_up = can_drive, is_machine_up
        self._first_console, self._is_wanted_new = console, is_new
        self._keys, self._wants_focus = keys or Keys(), False
        self.view = TerminalView()
        self._link: ConsoleLink | None = None
        self._work: Worker[None] | None = None
        self._window = Size(24, 80)
        self._notice = PaneNotice(self, self._sync)
        self._leaving: Timer | None = None
        self._painting, self._clipboard = PanePainting(self.view), PaneClipboard()
        self._deaf_until = float("-inf")
        self._shown: tuple[ConsoleStatus, str, Size] | None = None

    def compose(self) -> ComposeResult:
        """The terminal; all else is on the edge."""
        yield self.view

    def on_mount(self) -> None:
        """Shows how we stand to it."""
        self._sync()
        if self._wants_focus:
            self.view.focus()

    def on_resize(self) -> None:
        """Looks into its console, now that it is known how large it can be."""
        if self._link is None and (self._first_console is not None or self._is_wanted_new):
            self._lead(self._first_console)
            self._sync()

    def on_unmount(self) -> None:
        """Detaches."""
        self._drop()

    # What it shows.

    @property
    def console(self) -> str | None:
        """The id of what it shows."""
        return self._first_console if self._link is None else self._link.id

    @property
    def shows_nothing(self) -> bool:
        """Whether it shows no console, and none is on its way."""
        return self.status.phase is Phase.NONE

    @property
    def status(self) -> ConsoleStatus:
        """How we stand to it."""
        if self._link is None:
            first = Phase.NONE if self._first_console is None else Phase.ATTACHING
            phase = Phase.OPENING if self._is_wanted_new else first
            opens, up = self._is_wanted_new, self._is_machine_up
            return ConsoleStatus(phase, can_drive=self._can_drive, has_keys=opens, is_machine_up=up)
        copying = self._link.screen.copies.newest(monotonic())
        status = replace(self._link.status, is_scrolled=not self.view.is_at_end, copying=copying)
        status = replace(status, is_machine_up=self._is_machine_up)
        if self._leaving is not None:
            status = replace(status, is_driving=False, has_keys=False)
        terminal = self._link.terminal
        if status.info is not None and terminal is not None:
            # The hub tells of titles now and then, the console's own terminal at once.
            status = replace(status, info=replace(status.info, title=terminal.state.title))
        return status

    def focus(self, scroll_visible: bool = True) -> ConsolePane:  # noqa: FBT001, FBT002 - as Textual has it
        """Gives the focus to its terminal."""
        if self.view.is_attached:
            self.view.focus(scroll_visible)
        self._wants_focus = not self.view.is_attached
        return self

    def show(self, console: str | None) -> None:
        """Watches another console of the same sandbox; None: opens a new shell, and drives it."""
        self._drop()
        self._lead(console)
        self._sync()

    def link_changed(self) -> None:
        """The connection to the hub is in another state."""
        if self._link is not None:
            self._link.link_changed()

    def machine_changed(self, *, is_up: bool) -> None:
        """The sandbox runs, or does not any more."""
        self._is_machine_up = is_up
        self._sync()

    def look_after(self) -> None:
        """To be called once a second."""
        self.view.look_after()
        if self._link is not None:
            self._link.screen.is_on_screen = self.view.is_seen
            self._link.look_after()
        self._sync()

    # What a person does about it.

    def drive(self) -> None:
        """Drives if nobody does; opens a shell where there is nothing to be driven."""
        status = self.status
        is_to_open = status.phase in (Phase.NONE, Phase.ENDED, Phase.FAILED)
        if is_to_open or (status.info is not None and is_boot(status.info)):
            self.open_shell()
        else:
            self._do(ConsoleLink.drive)

    def take(self) -> None:
        """Drives, whoever did."""
        self._do(ConsoleLink.take)

    def ask(self) -> None:
        """Asks whoever drives to let us."""
        if self._link is not None:
            self._link.ask()

    def give(self) -> None:
        """Lets who has asked drive."""
        self._do(ConsoleLink.give)

    def let_copy(self) -> None:
        """Puts on the clipboard what the program wants there, if the person was told of it."""
        if self._link is not None:
            copies, copy = self._link.screen.copies, self.app.copy_to_clipboard
            self._say(self._clipboard.let(copies, self.status, self._keys, copy))

    def open_shell(self) -> None:
        """Opens a new shell here, and drives it."""
        if not self._can_drive:
            self._say("this dashboard only looks on: it was started with --readonly")
        elif not self._is_machine_up:
            self._say(f"its sandbox does not run: {self._keys.hide} hides it")
        else:
            self.show(None)

    def _do(self, move: Callable[[ConsoleLink], None]) -> None:
        self._come_back()
        if self._link is not None:
            move(self._link)
        else:
            self._say("not yet: there is no console here")
        self._sync()

    # Its console.

    def _lead(self, console: str | None) -> None:
        self._is_wanted_new = False
        if self.view.size:
            self._window = Size(*self.view.room)
        link = self._link = ConsoleLink(
            self._source,
            self._terminals,
            self.sandbox,
            console,
            size=self._window,
            on_touch=self._touched,
            on_said=self._say,
            can_drive=self._can_drive,
        )
        self._work = begin(self, link.run, group="console")

    def _drop(self) -> None:
        self._come_back()
        self.view.release()
        self.view.forget()
        if self._work is not None:
            self._work.cancel()
        if self._link is not None:
            self._link.close()
        self._link = self._work = None

    def _touched(self) -> None:
        """Something may look different."""
        if self._link is None or not self.view.is_attached:
            return  # it is being taken away
        if self._link.terminal is not None:
            self.view.attach(self._link.terminal)
        self._link.screen.is_on_screen = self.view.is_seen
        self._painting.soon()
        self._sync()

    # Its edge, and whose keys are.

    def _sync(self) -> None:
        """Shows how we stand to it, and takes the keyboard or gives it back."""
        status = self.status
        if status.has_keys and _NOT_TAKEN in self._notice.text:
            self._notice.clear()
        before = None if self._shown is None else self._shown[0]
        notice, window, keys = self._notice.text, self._window, self._keys
        if self._shown != (shown := (status, notice, window)):
            self._shown = shown
            show_edge(self, status, self._label, window=window, keys=keys, notice=notice)
            self._clipboard.shown(status, window, keys, notice)
        if before != status:
            self.post_message(self.StatusChanged(self))
            if status.info is not None and (before is None or before.info is None):
                self.post_message(self.Became(self, status.info.id))
        if missed := self._clipboard.missed(
            status.copying, is_seen=self.view.is_attached and self.view.is_seen
        ):
            self._say(missed)
        if not status.has_keys:
            if self.view.is_driving:
                self.view.release()
                self._deaf_until = monotonic() + QUIET_S
        elif self.view.has_focus and not self.view.is_leaving:
            self.view.drive()

    def _say(self, text: str) -> None:
        """Shows a notice; where it would not be seen, the app does."""
        if not (self.view.is_attached and self.view.is_seen):
            self.post_message(Said(printable(f"{self._label}: {text}")))
        else:
            self._notice.say(text)

    @property
    def is_deaf(self) -> bool:
        """Whether a key may still have been meant for a console that does not take it any more."""
        return monotonic() < self._deaf_until

    def on_key(self, event: events.Key) -> None:
        """Holds such a key back, and for its sake the next one."""
        if self.is_deaf and event.key != WAY_OUT_KEY:
            event.stop()
            event.prevent_default()
            self._deaf_until = monotonic() + QUIET_S
            self._notice.add(_NOT_TAKEN)

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def _follow_focus(self) -> None:
        self._painting.soon()
        self._sync()

    # What its terminal tells.

    @on(TerminalView.Typed)
    def _type(self, message: TerminalView.Typed) -> None:
        message.stop()
        if self._link is not None:
            self._link.type(message.data)

    @on(TerminalView.Fitted)
    def _fit(self, message: TerminalView.Fitted) -> None:
        message.stop()
        self._window = Size(message.rows, message.cols)
        if self._link is not None:
            self._link.resize(self._window)
        self._sync()

    @on(TerminalView.Scrolled)
    def _scrolled(self, message: TerminalView.Scrolled) -> None:
        message.stop()
        if self._link is not None:
            self._link.screen.is_held = not message.is_at_end
        self._sync()

    @on(TerminalView.Released)
    def _released(self, message: TerminalView.Released) -> None:
        """The way out was taken; once more at once, and it is not."""
        message.stop()
        # First of all: from here on it is known that keys are not the console's.
        if self._leaving is None:
            self._leaving = self.set_timer(AGAIN_WITHIN_S, self._leave)
        self.view.is_leaving = False
        self._notice.clear()

    @on(TerminalView.DriveAgain)
    def _drive_again(self, message: TerminalView.DriveAgain) -> None:
        message.stop()
        self._come_back()
        self._sync()

    def _leave(self) -> None:
        self._leaving = None
        if self._link is not None:
            self._link.leave()
        self._sync()

    def _come_back(self) -> None:
        """We have not left after all."""
        if self._leaving is not None:
            self._leaving.stop()
            self._leaving = None

    @on(TerminalView.Copied)
    def _copied(self, message: TerminalView.Copied) -> None:
        message.stop()
        lines = message.text.count("\n") + 1
        self._say(f"copied {len(message.text)} characters" if lines == 1 else f"copied {lines} lines")

    @on(TerminalView.LinkAsked)
    def _link_asked(self, message: TerminalView.LinkAsked) -> None:
        message.stop()
        self._say(f"copied the link {message.url}")
