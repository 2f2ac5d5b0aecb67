"""A console that can be read beyond what it shows now: scrolled, searched, selected from.

Rule: whatever moves the terminal's view is an errand, done in order with what is typed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from cloche_term import TerminalError
from cloche_tui.model.matches import Matches
from cloche_tui.widgets.terminal_canvas import TerminalCanvas
from cloche_tui.widgets.terminal_copying import copied_text

if TYPE_CHECKING:
    from cloche_term.apart.terminals import ApartTerminal


class TerminalReader(TerminalCanvas):
    """A console, to be read."""

    _lines_wanted = 0
    """By how many lines the view is to be moved that nobody has asked the terminal for yet."""

    # Scrolling.

    def scroll_console(self, lines: int) -> None:
        """Moves what is shown: up, to older lines, where negative."""
        rest = lines if lines > 0 and not self.picture.is_at_end else self.window.pan(lines)
        if rest:
            self._lines_wanted += rest
            self._move_view(self._scroll_as_wanted, instead_of="scroll")
        self.draw_all()
        self.tell_scrolled()

    def scroll_to_oldest(self) -> None:
        """Shows the oldest lines that are kept."""
        self.window.pan(-self.window.rows)
        self._move_view(lambda terminal: terminal.scroll_to(self.picture.oldest_line))
        self.draw_all()

    def scroll_to_newest(self) -> None:
        """Shows the console's screen, as it goes on."""
        self.window.to_end()
        if not self.picture.is_at_end:
            self._move_view(lambda terminal: terminal.scroll_to_end())
        self.touch()

    # Searching.

    async def search(self, text: str) -> int:
        """Finds a text in all lines that are kept, marks it, and shows the newest; returns how often it is there.

        A terminal that is lost finds nothing.
        """
        self.clear_search()
        if self.terminal is None or not text:
            return 0
        try:
            found = await self.terminal.search(text)
        except TerminalError:
            return 0
        self.matches = Matches(text, found, self.picture.size[1])
        self.step_match(0)
        return len(found)

    def step_match(self, steps: int) -> None:
        """Shows an older (below 0) or newer match of the search."""
        match = self.matches.step(steps) if self.matches is not None else None
        if match is None:
            return
        row = match.line - self.picture.view_line
        if not 0 <= row < self.picture.size[0] or self.window.y_of(row) is None:
            line = max(match.line - self.picture.size[0] // 2, self.picture.oldest_line)
            self._move_view(lambda terminal: terminal.scroll_to(line))
        self.draw_all()

    def clear_search(self) -> None:
        """Marks no matches any more."""
        if self.matches is not None:
            self.matches = None
            self.draw_all()

    # Selecting.

    def clear_selection(self) -> None:
        """Selects nothing."""
        if self.pointing.selection is not None:
            self.pointing.clear()
            self.draw_all()

    async def text_of_selection(self) -> str:
        """The text that is selected, else all that is shown.

        Raises:
            TerminalError: the terminal is lost.
        """
        return "" if self.terminal is None else await copied_text(self.terminal, self.picture, self.selected)

    def _move_view(self, move: Callable[[ApartTerminal], Awaitable[None]], *, instead_of: str = "") -> None:
        """Has the terminal show other lines, after all that was asked before."""

        async def errand() -> None:
            if self._terminal is not None:
                await move(self._terminal)
                self.touch()

        self.errands.add(errand, instead_of=instead_of)

    async def _scroll_as_wanted(self, terminal: ApartTerminal) -> None:
        lines, self._lines_wanted = self._lines_wanted, 0
        await terminal.scroll(lines)
