"""One terminal in a process of its own, asked with `await`; `terminals` opens it.

Rules:
- What is asked happens in the order in which it was asked, also if who asked is cancelled meanwhile.
- An answer that cannot be is an end: the process is killed, and the terminal lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cloche_term.apart.calls import Calls
from cloche_term.apart.frames import SIZE, FrameError, Kind, Look, State, pack_lines, read_look
from cloche_term.apart.process import WatchedProcess
from cloche_term.errors import TerminalLost
from cloche_term.terminal import check_size

_END_S = 5.0
_Told = TypeVar("_Told")


class ApartTerminal:
    """One terminal and its process; from `Terminals`. What its methods promise stands in `cloche_term.terminal.Terminal`."""

    def __init__(self, calls: Calls, process: WatchedProcess) -> None:
        self._calls, self._process = calls, process

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
