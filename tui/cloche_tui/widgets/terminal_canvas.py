"""A console on the screen, painted from a terminal in another process.

    canvas.attach(terminal)      show this one
    canvas.touch()               it may look different: a frame is painted soon, or when the canvas is seen again

It shows; `terminal_reader` has what else a person can see of it, `terminal_view` takes what they do. Rules:
- Nothing here waits for the terminal but two workers: one paints, one does errands in order.
- Only rows that look different are drawn, and each is made into a strip once.
- SAFETY: a guest's text becomes plain segments. What it puts on a clipboard by itself is in no painting.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import takewhile
from time import monotonic
from typing import TYPE_CHECKING

from rich.style import Style as RichStyle
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from cloche_term import TerminalError
from cloche_term.terminal import LARGEST_SIZE
from cloche_tui.model.console_window import ConsoleWindow
from cloche_tui.model.matches import Matches
from cloche_tui.model.picture import Picture
from cloche_tui.model.selection import Bounds, Pointing
from cloche_tui.widgets.errands import Errands
from cloche_tui.widgets.terminal_marks import marks_of
from cloche_tui.widgets.terminal_pace import Pace
from cloche_tui.widgets.terminal_strips import (
    Mark,
    border_below,
    border_strip,
    strip_of,
    text_strip,
)
from cloche_tui.widgets.work import begin

if TYPE_CHECKING:
    from cloche_term.apart.paintings import Painting
    from cloche_term.apart.terminals import ApartTerminal

_FIT_AFTER_S = 0.03
"""How long a size has to last before anybody is told."""
_OF_OURS = RichStyle(reverse=True, bold=True)


class TerminalCanvas(Widget):
    """A console, to be looked at."""

    DEFAULT_CSS = """
    TerminalCanvas {
        width: 1fr;
        height: 1fr;
        /* As programs in the console are told when they ask for its colors. */
        background: #0c0c0c;
        color: #e0e0e0;
    }
    """
    ALLOW_SELECT = False  # what is selected here is a matter of cells, and may be scrolled away

    @dataclass
    class Fitted(Message, namespace="terminal_view"):
        """There is room for a console of this size, and has been for a moment."""

        rows: int
        cols: int

    @dataclass
    class Scrolled(Message, namespace="terminal_view"):
        """What is shown is the console's screen again, or is older lines now."""

        is_at_end: bool

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's word
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.picture = Picture()
        self.window = ConsoleWindow()
        self.pointing = Pointing()
        self.errands = Errands()
        self.matches: Matches | None = None
        """What was searched for and found; None: nothing was."""
        self._terminal: ApartTerminal | None = None
        self._is_fresh = True
        """The next painting must be of everything."""
        self._pace = Pace()
        self._touched = asyncio.Event()
        self._has_missed = False
        """Whether something came while it was not seen."""
        self._strips: dict[int, Strip] = {}
        self._changed: set[int] = set()
        self._is_all_changed = False
        self._was_at_end = True
        self._line_of_ours = ""
        self._fitting: Timer | None = None
        self._holding: Timer | None = None

    # What is shown.

    @property
    def terminal(self) -> ApartTerminal | None:
        """What is shown."""
        return self._terminal

    def attach(self, terminal: ApartTerminal | None) -> None:
        """Shows this terminal, which nobody else paints, from the next frame on; of none, what was shown last."""
        if terminal is self._terminal:
            return
        self._terminal, self._is_fresh = terminal, True
        self.errands.clear()
        self.pointing.clear()
        self.matches = None
        self.window.to_end()
        self.touch()

    def forget(self) -> None:
        """Shows nothing, as before it had a terminal: what comes next is another console."""
        self.attach(None)
        self.picture = Picture()
        self.draw_all()

    def touch(self) -> None:
        """It may look different. Costs nothing while it is not seen."""
        self._touched.set()

    @property
    def is_at_end(self) -> bool:
        """Whether the console's screen is shown, and not older lines, or a part of it that is not where the cursor is."""
        return self.picture.is_at_end and self.window.is_following

    @property
    def room(self) -> tuple[int, int]:
        """How many rows and columns a console could have here."""
        return tuple(min(max(side, 1), LARGEST_SIZE) for side in (self.size.height, self.size.width))  # type: ignore[return-value]

    @property
    def is_seen(self) -> bool:
        """Whether it is on the screen, if only behind a dialog."""
        # Not by Textual's `Show`: that is left out where somebody has looked at the layout since it was changed.
        if not (self.is_attached and self.size and all(node.display for node in self.ancestors_with_self)):
            return False
        below = takewhile(lambda screen: screen is not self.screen, reversed(self.app.screen_stack))
        return all(screen.is_modal for screen in below)

    @property
    def selected(self) -> Bounds | None:
        """What is selected."""
        selection = self.pointing.selection
        return None if selection is None or selection.is_empty else selection.bounds

    # Drawing.

    def render_line(self, y: int) -> Strip:
        """One line of it."""
        strip = self._strips.get(y)
        if strip is None:
            strip = self._strips[y] = self._strip(y)
        return strip

    def say_below(self, text: str) -> None:
        """Shows a line of ours in place of the last one; empty: none."""
        if text != self._line_of_ours:
            self._line_of_ours = text
            self._draw({self.size.height - 1})

    def cursor_mark(self) -> Mark:
        """How the cursor looks."""
        return Mark.CURSOR_IDLE

    def draw_cursor(self) -> None:
        """The cursor is to look different."""
        if (y := self.window.y_of(self.picture.cursor.row)) is not None:
            self._draw({y})

    def painted(self) -> None:
        """A painting was taken; for who does more with it."""

    def _strip(self, y: int) -> Strip:
        base, width, window = self.rich_style, self.size.width, self.window
        if self._line_of_ours and y == self.size.height - 1:
            return text_strip(f" {self._line_of_ours}", width, base + _OF_OURS)
        if window.is_border(y):
            return border_below(window.cols, width, base)
        if (row := window.row_at(y)) is None:
            return Strip.blank(width, base)
        strip = strip_of(
            self.picture.runs(row),
            left=window.left,
            width=min(window.shown_cols, width),
            base=base,
            is_reversed=self.picture.modes.is_reversed,
            marks=marks_of(
                self.picture, row, matches=self.matches, selected=self.selected, cursor=self.cursor_mark()
            ),
        )
        return border_strip(strip, width, base)

    def _draw(self, ys: set[int]) -> None:
        """Draws these lines anew."""
        if len(ys) * 3 > self.size.height * 2:
            self._strips.clear()
            self.refresh()
            return
        for y in ys:
            self._strips.pop(y, None)
        if ys:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in ys))

    def draw_all(self) -> None:
        """Everything is to look different."""
        self._strips.clear()
        self.refresh()

    # Painting.

    async def _paint_for_ever(self) -> None:
        while True:
            # Without a bound: it waits for a program to write something.
            await self._touched.wait()
            await asyncio.sleep(self._pace.delay(monotonic()))
            self._touched.clear()
            if (terminal := self._terminal) is None or not self.is_seen:
                # Whoever shows it or gives it a terminal touches it.
                self._has_missed = True
                continue
            try:
                painting = await terminal.paint(whole=self._is_fresh)
            except TerminalError:
                # Whoever feeds it sees that too, and gives us another one.
                continue
            self._pace.painted(monotonic())
            if terminal is self._terminal:
                self._take(painting)

    def _take(self, painting: Painting) -> None:
        picture, selected = self.picture, self.picture.texts_in(self.selected)
        size, line = picture.size, picture.view_line
        change = picture.apply(painting)
        self._changed |= change.rows
        self._is_all_changed |= change.is_everything or self._is_fresh
        self._is_fresh = False
        if size != picture.size:
            self.pointing.clear()
            self.matches = None
        elif selected and picture.differs_from(selected, self.selected):
            # What was selected is not there any more.
            self.pointing.clear()
            self._is_all_changed = True
        if line != picture.view_line and (self.matches is not None or selected):
            self._is_all_changed = True
        self.painted()
        wait_s = self._pace.holds(monotonic(), is_held=picture.modes.is_held)
        if wait_s is None:
            self._show()
        elif self._holding is None:
            self._holding = self.set_timer(wait_s, self._end_hold)

    def _end_hold(self) -> None:
        self._holding = None
        self._show()

    def _show(self) -> None:
        """What was painted is to be seen."""
        cursor, window = self.picture.cursor, self.window
        is_moved = window.fit(console=self.picture.size, room=(self.size.height, self.size.width))
        if cursor.is_visible:
            is_moved |= window.follow(cursor.row, cursor.col)
        if is_moved or self._is_all_changed:
            self.draw_all()
        else:
            ys = {window.y_of(row) for row in self._changed}
            self._draw({y for y in ys if y is not None})
        self._changed.clear()
        self._is_all_changed = False
        self.tell_scrolled()

    def tell_scrolled(self) -> None:
        """Says so if what is shown is the end again, or is not any more."""
        if self._was_at_end is not self.is_at_end:
            self._was_at_end = self.is_at_end
            self.post_message(self.Scrolled(self._was_at_end))

    # What Textual tells.

    def on_mount(self) -> None:
        """Begins to paint."""
        begin(self, self._paint_for_ever, group="paint a console")
        begin(self, self.errands.run_for_ever, group="errands of a console")
        # A dialog or another screen on top, or not any more.
        self.watch(self.screen, "stack_updates", self._stack_changed, init=False)

    def on_show(self) -> None:
        """It is seen."""
        self.touch()

    def look_after(self) -> None:
        """To be called once a second: it may be seen again without having been told so."""
        if self._has_missed and self.is_seen:
            self._has_missed = False
            self.touch()

    def on_resize(self, event: events.Resize) -> None:
        """There is more or less room."""
        self._is_all_changed = True
        self._show()
        if self._fitting is not None:
            self._fitting.stop()
        self._fitting = self.set_timer(_FIT_AFTER_S, self._tell_fitted)

    def _tell_fitted(self) -> None:
        if self.size:
            self.post_message(self.Fitted(*self.room))

    def _stack_changed(self) -> None:
        self.touch()
