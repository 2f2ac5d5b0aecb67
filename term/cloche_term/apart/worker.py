"""A process that holds one terminal and does what it is asked over its socket, one request after the other.

Rules:
- It ends when its socket does, and whenever it does not know how to go on: whoever asked learns that by the end.
- What only reads the terminal may fail for want of memory and be told so; what changes it may not.
"""

from __future__ import annotations

import contextlib
import functools
import socket
import struct
import time
from typing import NoReturn

from cloche_term.apart.frames import (
    HEAD,
    LINES,
    MOST_FRAME,
    MOST_REASON,
    NUMBER,
    SIZE,
    Kind,
    Status,
    frame,
    look_at,
    state_of,
)
from cloche_term.apart.paintings import painting_of
from cloche_term.apart.viewing import told
from cloche_term.errors import BackendMissing, SnapshotUnreadable, TerminalError
from cloche_term.opening import BACKENDS, open_terminal, restore
from cloche_term.terminal import Terminal

_VIEWING = (
    *(Kind.SCROLL, Kind.SCROLL_TO, Kind.SCROLL_TO_END, Kind.SEARCH, Kind.LINES, Kind.LINK),
    *(Kind.KEY, Kind.MOUSE, Kind.PASTE, Kind.FOCUS),
)
_SIZING = (Kind.OPEN, Kind.RESIZE)
_READING = (Kind.DUMP, Kind.SNAPSHOT, Kind.LOOK, *_VIEWING)


class Hangup(Exception):
    """Nobody asks any more."""


class Host:
    """One terminal, and the requests for it."""

    def __init__(self) -> None:
        self._terminal: Terminal | None = None
        self._revision = 0
        self._painted = 0, (0, 0)
        """Which painting was the last, and of what size."""

    def answer(self, kind: Kind, payload: bytes) -> bytes:
        """Does what is asked; returns the answer's frame.

        Raises:
            MemoryError: what changes the terminal does not fit.
            ValueError: what changes the terminal has failed as nobody expects it to.
            struct.error: as above.
        """
        began = time.process_time()
        try:
            terminal, answer = self._do(kind, payload)
            cpu_s = time.process_time() - began
            payload = state_of(terminal, revision=self._revision, cpu_s=cpu_s) + answer
            if len(payload) > MOST_FRAME:
                return _failure(Status.FAILED, TerminalError("this is more than can be told at once"))
            return frame(Status.DONE, payload)
        except SnapshotUnreadable as error:
            return _failure(Status.UNREADABLE, error)
        except TerminalError as error:
            return _failure(Status.FAILED, error)
        except (ValueError, struct.error) as error:
            if kind in _SIZING:
                return _failure(Status.REFUSED, error)
            if kind in _READING:
                return _failure(Status.FAILED, error)
            # Nobody knows what it is now.
            raise
        except MemoryError:
            if kind not in _READING:
                raise
            return _failure(Status.FAILED, TerminalError("the terminal has not enough memory for this"))

    def _do(self, kind: Kind, payload: bytes) -> tuple[Terminal, bytes]:
        if kind is Kind.OPEN:
            rows, cols = SIZE.unpack_from(payload)
            (lines,) = LINES.unpack_from(payload, SIZE.size)
            self._terminal = open_terminal(rows, cols, scrollback_lines=lines, backend=best_backend())
            return self._terminal, b""
        if kind is Kind.RESTORE:
            (lines,) = LINES.unpack_from(payload)
            self._terminal = restore(payload[LINES.size :], scrollback_lines=lines)
            return self._terminal, b""
        if self._terminal is None:
            raise TerminalError("no terminal has been opened yet")
        return self._terminal, self._ask(self._terminal, kind, payload)

    def _ask(self, terminal: Terminal, kind: Kind, payload: bytes) -> bytes:
        answer = b""
        if kind is Kind.FEED:
            self._revision += 1
            answer = terminal.feed(payload)
        elif kind is Kind.RESIZE:
            rows, cols = SIZE.unpack(payload)
            terminal.resize(rows, cols)
            self._revision += 1
        elif kind is Kind.DUMP:
            answer = terminal.dump(scrollback_lines=LINES.unpack(payload)[0])
        elif kind is Kind.SNAPSHOT:
            answer = terminal.snapshot()
        elif kind is Kind.LOOK:
            answer = look_at(terminal)
        elif kind is Kind.PAINT:
            answer = self._paint(terminal, known=NUMBER.unpack(payload)[0])
        else:
            answer = told(terminal, kind, payload)
        return answer

    def _paint(self, terminal: Terminal, *, known: int) -> bytes:
        number, size = self._painted
        changed = terminal.update()
        if known != number or size != (terminal.rows, terminal.cols) or not number:
            changed = range(terminal.rows)
        # It counts from here on: who does not get it does not know it, and gets all the next time.
        self._painted = number + 1, (terminal.rows, terminal.cols)
        return painting_of(terminal, changed, number=number + 1)


@functools.cache
def best_backend() -> str:
    """The best emulator that can be loaded here; whether it can is tried once, since a worker can load nothing any more."""
    for name in BACKENDS[:-1]:
        with contextlib.suppress(BackendMissing):
            open_terminal(1, 1, backend=name).close()
            return name
    return BACKENDS[-1]


def serve(connection: socket.socket) -> NoReturn:
    """Answers what comes.

    Raises:
        Hangup: nothing comes any more.
    """
    host = Host()
    while True:
        kind, length = HEAD.unpack(_receive(connection, HEAD.size))
        if length > MOST_FRAME:
            raise Hangup
        connection.sendall(host.answer(Kind(kind), _receive(connection, length)))


def _failure(status: Status, error: Exception) -> bytes:
    return frame(status, str(error).encode(errors="replace")[:MOST_REASON])


def _receive(connection: socket.socket, length: int) -> bytes:
    received = bytearray(length)
    left = memoryview(received)
    while left:
        count = connection.recv_into(left)
        if not count:
            raise Hangup
        left = left[count:]
    return bytes(received)
