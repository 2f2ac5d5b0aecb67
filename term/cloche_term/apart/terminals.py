"""Terminals in processes of their own, for an event loop: what `cloche_term.terminal` does, asked with `await`.

    async with open_terminals() as terminals:
        terminal = await terminals.open(24, 80)
        typed = await terminal.feed(output)

Each terminal has a process (a worker), so that what crashes it, keeps it busy or makes it grow costs this terminal and no
other: it is `TerminalLost`, and its user opens another from what is stored.

Rules:
- Nothing here waits without a bound, and nothing is left running when the context ends.
- The process that they come from may be stopped by somebody: then it is continued, and if that does not help, ended. A
  machine that is only slow costs nobody a terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable

from cloche_term.apart.calls import Calls
from cloche_term.apart.frames import LINES, MOST_FRAME, SIZE, Kind, pack_lines
from cloche_term.apart.process import WatchedProcess
from cloche_term.apart.terminal import ApartTerminal
from cloche_term.apart.zygote import Zygote
from cloche_term.errors import SnapshotUnreadable, TerminalLost
from cloche_term.terminal import DEFAULT_SCROLLBACK_LINES, check_size

__all__ = ["ApartTerminal", "Terminals", "Zygote", "open_terminals"]

PATIENCE_S = 5.0

_START_S = 30.0
_LOOK_S = 2.0
"""Who has waited so long for a process looks after the one it is to come from."""
_NOTICE_S = 1.0
_END_S = 5.0
_STARTS_AT_ONCE = 16
_HELLO_BYTES = 4


class Terminals:
    """Opens terminals; from `open_terminals`.

    Args:
        zygote: what its workers come from; who gives it closes it.
        patience_s: how long one request to a terminal may take before the terminal is lost.
        on_trouble: told what people should know of, in a line.
    """

    def __init__(
        self,
        zygote: Zygote,
        *,
        patience_s: float = PATIENCE_S,
        on_trouble: Callable[[str], object] | None = None,
    ) -> None:
        self._zygote, self._patience_s = zygote, patience_s
        self._on_trouble = on_trouble
        self._starting = asyncio.Semaphore(_STARTS_AT_ONCE)
        self._open: set[ApartTerminal] = set()
        self._strays: set[WatchedProcess] = set()
        """Workers that have been killed before anybody had them."""
        self._is_closed = False

    async def open(
        self, rows: int, cols: int, *, scrollback_lines: int = DEFAULT_SCROLLBACK_LINES
    ) -> ApartTerminal:
        """Opens an empty terminal.

        Raises:
            ValueError: a side is not 1…1000.
            TerminalLost: no process could be had for it.
        """
        check_size(rows, cols)
        return await self._begin(Kind.OPEN, SIZE.pack(rows, cols) + pack_lines(scrollback_lines))

    async def restore(
        self, snapshot: bytes, *, scrollback_lines: int = DEFAULT_SCROLLBACK_LINES
    ) -> ApartTerminal:
        """Opens a terminal as it was when `snapshot` was taken, with `ApartTerminal.snapshot` or `Terminal.snapshot`.

        Raises:
            SnapshotUnreadable: another emulator or version made it, or it is not whole.
            TerminalLost: no process could be had for it, or it crashed on it.
        """
        if len(snapshot) > MOST_FRAME - LINES.size:
            raise SnapshotUnreadable(f"{len(snapshot)} bytes are more than any terminal stores")
        return await self._begin(Kind.RESTORE, pack_lines(scrollback_lines) + snapshot)

    def start(self) -> None:
        """Starts the process that workers come from, unless it runs. Without waiting: it takes a while to be ready.

        Raises:
            TerminalLost: all terminals are being closed, or no process can be had.
        """
        if self._is_closed:
            raise TerminalLost("no terminal is opened any more: all are being closed")
        try:
            self._zygote.start()
        except OSError as error:
            raise TerminalLost(f"no process for terminals could be had: {error}") from error

    async def close(self) -> None:
        """Ends all terminals it has opened. Idempotent; cancelling leaves nothing but the wait."""
        self._is_closed = True
        for terminal in self._open:
            terminal.kill()
        for terminal in list(self._open):
            await terminal.close()
        for process in self._strays:
            await process.wait(within_s=_END_S)
        self._open.clear()

    async def _begin(self, kind: Kind, payload: bytes) -> ApartTerminal:
        async with self._starting:
            calls, process = await self._start_worker()
        terminal = ApartTerminal(calls, process)
        self._open = {one for one in self._open if not one.has_ended} | {terminal}
        try:
            if self._is_closed:
                raise TerminalLost("all terminals are being closed")
            await calls.ask(kind, payload)
        except BaseException:
            terminal.kill()
            raise
        return terminal

    async def _start_worker(self) -> tuple[Calls, WatchedProcess]:
        for is_last in (False, True):
            self.start()
            zygote = self._zygote.pid
            try:
                return await self._fork()
            except OSError as error:
                # The process they come from may have just ended, with all its workers: there will be another.
                if is_last or not await self._has_ended(zygote):
                    raise TerminalLost(f"no process for a terminal could be had: {error}") from error
        raise AssertionError("the last attempt returns or raises")

    async def _has_ended(self, zygote: int | None) -> bool:
        """Whether this process is gone, or is just going."""
        if self._zygote.pid != zygote:
            return True
        try:
            watch = self._zygote.watch()
        except OSError:
            return False
        try:
            return await _is_readable(watch, within_s=_NOTICE_S)
        finally:
            os.close(watch)

    async def _fork(self) -> tuple[Calls, WatchedProcess]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.settimeout(0)
        process = None
        try:
            with theirs:
                self._zygote.send(theirs)
            process = await self._hello(ours)
            calls = Calls(process, patience_s=self._patience_s)
            await asyncio.get_running_loop().create_unix_connection(lambda: calls, sock=ours)
        except BaseException:
            # A worker that is on its way sees the end of its socket.
            ours.close()
            if process is not None:
                process.kill()
                self._strays = {one for one in self._strays if not one.has_ended} | {process}
            raise
        return calls, process

    async def _hello(self, ours: socket.socket) -> WatchedProcess:
        """The worker at the other end of this socket.

        Raises:
            OSError: there is none, and will be none.
        """
        zygote, was_woken = self._zygote.pid, False
        for _ in range(int(_START_S / _LOOK_S)):
            if await _is_readable(ours, within_s=_LOOK_S):
                return _received(ours)
            if self._zygote.pid != zygote or not self._zygote.is_stopped:
                continue
            name = f"the process that terminals come from ({zygote})"
            if was_woken:
                # Whoever else waits for it sees the end of a socket, and comes again.
                self._zygote.end()
                self._tell(f"{name} stays stopped: it is ended with its terminals, and another one started")
                raise ConnectionResetError("the process they come from was stopped, and did not go on")
            # What was sent to it is not lost, nor are its terminals.
            self._zygote.wake()
            self._tell(f"{name} was stopped by somebody: it is continued")
            was_woken = True
        raise TimeoutError(f"it did not start within {_START_S} s")

    def _tell(self, trouble: str) -> None:
        if self._on_trouble is not None:
            self._on_trouble(trouble)


def _received(ours: socket.socket) -> WatchedProcess:
    """The worker that has just begun at the other end of this socket.

    Raises:
        OSError: there is none, and will be none.
    """
    hello, descriptors, _, _ = socket.recv_fds(ours, _HELLO_BYTES, 1)
    if len(hello) != _HELLO_BYTES or len(descriptors) != 1:
        for descriptor in descriptors:
            os.close(descriptor)
        raise ConnectionResetError("the process they come from ended, or has no room for more")
    return WatchedProcess(int.from_bytes(hello, "big"), descriptors[0])


async def _is_readable(descriptor: socket.socket | int, *, within_s: float) -> bool:
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, lambda: None if readable.done() else readable.set_result(None))
    try:
        await asyncio.wait([readable], timeout=within_s)
        return readable.done()
    finally:
        loop.remove_reader(descriptor)


@contextlib.asynccontextmanager
async def open_terminals(
    *,
    patience_s: float = PATIENCE_S,
    zygote: Zygote | None = None,
    on_trouble: Callable[[str], object] | None = None,
) -> AsyncIterator[Terminals]:
    """Terminals in processes of their own, all of which end with the context.

    Args:
        patience_s: how long one request to a terminal may take before the terminal is lost.
        zygote: what their processes come from, to be closed by who gives it; by default one that ends with the context.
            It is not started before it is needed, or `Terminals.start` is called.
        on_trouble: told what people should know of, in a line.
    """
    source = zygote or Zygote()
    terminals = Terminals(source, patience_s=patience_s, on_trouble=on_trouble)
    try:
        yield terminals
    finally:
        try:
            await terminals.close()
        finally:
            if zygote is None:
                source.close()
