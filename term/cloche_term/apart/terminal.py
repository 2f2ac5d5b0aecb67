"""One terminal in a process of its own, asked with `await`; `terminals` opens it.

Rules:
- What is asked happens in the order in which it was asked, also if who asked is cancelled meanwhile.
- An answer that cannot be is an end: the process is killed, and the terminal lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cloche_term.apart import viewing
from cloche_term.apart.calls import Calls
from cloche_term.apart.frames import NUMBER, SIZE, FrameError, Kind, Look, State, pack_lines, read_look
from cloche_term.apart.paintings import Painting, read_painting
from cloche_term.apart.process import WatchedProcess
from cloche_term.errors import TerminalLost
from cloche_term.keys import Key
from cloche_term.terminal import MOST_MATCHES, Match, Mouse, check_size

_END_S = 5.0
_Told = TypeVar("_Told")


class ApartTerminal:
    """One terminal and its process; from `Terminals`. What its methods promise stands in `cloche_term.terminal.Terminal`."""

    def __init__(self, calls: Calls, process: WatchedProcess) -> None:
        self._calls, self._process = calls, process
        self._painted: tuple[int, tuple[int, int] | None] = 0, None
        """The number and the size of the newest painting that has been told."""

    @property
    def state(self) -> State:
        """Size, title and screen as the newest answer told them."""
        assert self._calls.state is not None
        return self._calls.state

    @property
    def is_lost(self) -> bool:
        """Whether nothing can be asked of it any more."""
        return self._calls.lost is not None

    @property
    def has_ended(self) -> bool:
        """Whether its process is gone."""
        return self._process.has_ended

    @property
    def pid(self) -> int:
        """Its process's id, for logs."""
        return self._process.pid

    @property
    def cpu_s(self) -> float | None:
        """Processor time its process has used, as the system counts it; None where it has ended by itself."""
        return self._process.cpu_s

    async def feed(self, data: bytes) -> bytes:
        """Takes what the program has written; returns what the terminal answers. Cancelling loses the answer only.

        Raises:
            TerminalLost: it is gone, or this took too long.
        """
        return (await self._calls.ask(Kind.FEED, data))[1]

    async def resize(self, rows: int, cols: int) -> None:
        """Gives the screen another size. It happens even if this is cancelled.

        Raises:
            ValueError: a side is not 1…1000.
            TerminalLost: as above.
        """
        check_size(rows, cols)
        await self._calls.ask(Kind.RESIZE, SIZE.pack(rows, cols))

    async def dump(self, *, scrollback_lines: int) -> bytes:
        """Bytes that make this very screen in any terminal of this size; see `Terminal.dump`.

        Raises:
            TerminalError: it does not fit the memory of the process; the terminal goes on.
            TerminalLost: as above.
        """
        return (await self._calls.ask(Kind.DUMP, pack_lines(scrollback_lines)))[1]

    async def snapshot(self) -> bytes:
        """Everything, for `restore`. Raises as `dump`."""
        return (await self._calls.ask(Kind.SNAPSHOT))[1]

    async def look(self) -> Look:
        """The screen as text. Raises as `dump`."""
        return await self._told(read_look, Kind.LOOK)

    # --- for viewers -----------------------------------------------------------------------------------------------------

    async def paint(self, *, whole: bool = False) -> Painting:
        """What looks different since the painting before, and how all the rest stands.

        What a cancelled call would have told is in the next. Raises as `dump`.

        Args:
            whole: all rows, for who has lost what was painted.
        """
        known, size = (0, None) if whole else self._painted

        def read(state: State, rest: bytes) -> Painting:
            return read_painting(state, rest, known_size=size)

        painting = await self._told(read, Kind.PAINT, NUMBER.pack(known))
        self._painted = painting.number, painting.size
        return painting

    async def scroll(self, lines: int) -> None:
        """Moves the view by so many lines: up into the scrollback where negative."""
        await self._calls.ask(Kind.SCROLL, viewing.pack_line(lines))

    async def scroll_to(self, line: int) -> None:
        """Moves the view so that this line is its first, as far as the scrollback reaches."""
        await self._calls.ask(Kind.SCROLL_TO, viewing.pack_line(line))

    async def scroll_to_end(self) -> None:
        """Moves the view to the screen, where it follows what is written."""
        await self._calls.ask(Kind.SCROLL_TO_END)

    async def search(self, text: str, *, limit: int = MOST_MATCHES) -> tuple[Match, ...]:
        """Finds a text in scrollback and screen: the newest `limit` matches, oldest first; 1000 at most."""

        def read(_: State, rest: bytes) -> tuple[Match, ...]:
            return viewing.read_matches(rest, limit=limit)

        return await self._told(read, Kind.SEARCH, viewing.pack_search(text, limit))

    async def lines(self, start: int, stop: int) -> tuple[str, ...]:
        """The text of lines `start` to `stop` (not included), as far as they are kept. Raises as `dump`."""

        def read(_: State, rest: bytes) -> tuple[str, ...]:
            return viewing.read_lines(rest, most=stop - start)

        return await self._told(read, Kind.LINES, viewing.pack_lines_between(start, stop))

    async def link(self, row: int, col: int) -> str:
        """Where the hyperlink of this cell of the view leads to; empty where there is none, or no such cell."""
        if not (0 <= row < self.state.rows and 0 <= col < self.state.cols):
            return ""

        def read(_: State, rest: bytes) -> str:
            return viewing.read_link(rest)

        return await self._told(read, Kind.LINK, viewing.PLACE.pack(row, col))

    async def encode_key(self, key: Key) -> bytes:
        """What this key types in the modes that are on."""
        return (await self._calls.ask(Kind.KEY, viewing.pack_key(key)))[1]

    async def encode_mouse(self, mouse: Mouse) -> bytes:
        """What this move of the mouse types."""
        return (await self._calls.ask(Kind.MOUSE, viewing.pack_mouse(mouse)))[1]

    async def encode_paste(self, text: str) -> bytes:
        """What a paste types."""
        return (await self._calls.ask(Kind.PASTE, text.encode(errors="replace")))[1]

    async def encode_focus(self, *, has_focus: bool) -> bytes:
        """What getting or losing the focus types."""
        return (await self._calls.ask(Kind.FOCUS, bytes([has_focus])))[1]

    # --- its end ---------------------------------------------------------------------------------------------------------

    def kill(self) -> None:
        """Ends its process, without waiting for that. Idempotent."""
        self._calls.lose("this terminal is closed")

    async def close(self) -> None:
        """Ends its process. Idempotent; cancelling leaves nothing but the wait."""
        self.kill()
        await self._process.wait(within_s=_END_S)

    async def _told(self, read: Callable[[State, bytes], _Told], kind: Kind, payload: bytes = b"") -> _Told:
        """Asks for what `read` makes of the answer."""
        state, rest = await self._calls.ask(kind, payload)
        try:
            return read(state, rest)
        except FrameError as error:
            reason = f"the process of this terminal gives no proper answer: {error}"
            self._calls.lose(reason)
            raise TerminalLost(reason) from error
