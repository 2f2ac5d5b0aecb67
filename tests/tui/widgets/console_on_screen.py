"""A console's view in a small program of its own, on a terminal in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from textual import events
from textual.message import Message
from textual.pilot import Pilot

from cloche_term.apart.terminals import ApartTerminal, Terminals
from cloche_tui.widgets.terminal_view import TerminalView
from tests.tui.support import HostApp, screen_text

BOUND_S = 20
T = TypeVar("T", bound=Message)


def lines(first: int, last: int) -> str:
    """So many lines, the newest without an end."""
    return "\r\n".join(f"line {number}" for number in range(first, last + 1))


class OnScreen:
    """A view, what it shows, and who looks at it.

    Attributes:
        host: the program; what was told is in `host.heard`.
        view: the view.
        terminal: what it shows.
        pilot: the person.
    """

    def __init__(self, host: HostApp, view: TerminalView, terminal: ApartTerminal, pilot: Pilot[Any]) -> None:
        self.host, self.view, self.terminal, self.pilot = host, view, terminal, pilot

    @property
    def text(self) -> str:
        """What is on the screen."""
        return screen_text(self.host)

    async def feed(self, data: str | bytes) -> None:
        """The program writes."""
        await self.terminal.feed(data.encode() if isinstance(data, str) else data)
        self.view.touch()

    async def shows(self, *wanted: str) -> None:
        """Waits until all of this is on the screen."""
        await self.until(lambda: all(text in self.text for text in wanted))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until something is so."""
        try:
            async with asyncio.timeout(BOUND_S):
                while not holds():
                    await self.pilot.pause(0.005)
        except TimeoutError:
            raise AssertionError(f"it never came to that; on the screen is\n{self.text}") from None

    def told(self, kind: type[T]) -> list[T]:
        """What of this kind has been told."""
        return [message for message in self.host.heard if isinstance(message, kind)]

    @property
    def typed(self) -> bytes:
        """All that was to be typed."""
        return b"".join(message.data for message in self.told(TerminalView.Typed))


@contextlib.asynccontextmanager
async def console_on_screen(
    terminals: Terminals,
    *,
    rows: int = 6,
    cols: int = 20,
    room: tuple[int, int] | None = None,
    scrollback_lines: int = 100,
) -> AsyncIterator[OnScreen]:
    """Shows an empty terminal.

    Args:
        terminals: where it comes from.
        rows, cols: of the terminal.
        room: rows and columns of the screen; by default those of the terminal.
        scrollback_lines: how many lines it keeps.
    """
    terminal = await terminals.open(rows, cols, scrollback_lines=scrollback_lines)
    view = TerminalView()
    host = HostApp(view)
    host.listens_to = (
        TerminalView.Typed, TerminalView.Fitted, TerminalView.Copied, TerminalView.LinkAsked,
        TerminalView.Scrolled, TerminalView.Released, TerminalView.DriveAgain,
    )  # fmt: skip
    height, width = room or (rows, cols)
    async with host.run_test(size=(width, height)) as pilot:
        view.focus()
        view.attach(terminal)
        on_screen = OnScreen(host, view, terminal, pilot)
        await on_screen.until(lambda: view.picture.size == (rows, cols) and bool(view.picture.runs(0)))
        yield on_screen


def looks(shown: OnScreen, y: int, x: int) -> tuple[str, bool, bool]:
    """The character in a cell, and whether it is in reverse and underlined."""
    (segment,) = shown.view.render_line(y).crop(x, x + 1)
    style = segment.style
    return segment.text, bool(style and style.reverse), bool(style and style.underline)


async def mouse(
    shown: OnScreen, kind: type[events.MouseEvent], x: int, y: int, button: int = 0, **held: bool
) -> None:
    """Something is done with the mouse."""
    event = kind(
        shown.view,
        x,
        y,
        0,
        0,
        button,
        shift=held.get("shift", False),
        meta=False,
        ctrl=held.get("ctrl", False),
    )
    shown.view.post_message(event)
    await shown.pilot.pause()


async def drag(shown: OnScreen, start: tuple[int, int], stop: tuple[int, int], **held: bool) -> None:
    """A drag with the left button."""
    await mouse(shown, events.MouseDown, *start, 1, **held)
    await mouse(shown, events.MouseMove, *stop, 1, **held)
    await mouse(shown, events.MouseUp, *stop, 1, **held)
