"""A command's pipes: what it writes goes out as far as its reader has room, what it reads comes in as far as it takes.

Rules:
- Back-pressure reaches the process. Without credit a pipe is not read, so the writer in front of it waits; what the
  process does not read is not acknowledged, so the sender at the far end waits.
- The first output goes out at once. A command that goes on writing little by little is read every two milliseconds:
  waking the agent for each line would cost the command most of its processor.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import time
from collections import deque
from collections.abc import Callable

from cloche_guest.loop import Scope, Timer
from cloche_wire.connection import Connection

READ_SIZE = 64 << 10
GATHER_S = 0.002
GROWN_PIPE = 256 << 10
"""What a pipe is enlarged to once its command has filled it: fewer turns a byte for those who write much."""

_FIONREAD = 0x541B
# What a write says when nobody reads any more: of a pipe, and of a terminal.
_NOBODY_READS = (errno.EPIPE, errno.EIO)
# A command's leftovers that go on writing are read for nothing so often, so that they neither block nor cost much.
_DISCARD_EVERY_S = 0.05
_DISCARD_READS = 16


class Output:
    """One pipe a command writes to, and the stream it goes out on.

    Args:
        loop: watches the pipe.
        connection: carries the stream.
        channel: the command's.
        stream: the stream's number.
        fd: our end of the pipe, non-blocking; closed by this object.
        on_progress: called when something was read and when the pipe has ended.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        loop: Scope,
        connection: Connection,
        *,
        channel: int,
        stream: int,
        fd: int,
        on_progress: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._loop, self._connection = loop, connection
        self._channel, self._stream, self._fd = channel, stream, fd
        self._on_progress, self._clock = on_progress, clock
        self._has_grown = False
        self._gathering: Timer | None = None
        self._last_read_at = -1.0
        self.has_ended = False
        self.is_paused = True
        """Whether it waits for credit."""
        self.owed = 0
        """Bytes to be read before the command's output is complete; known when it has ended."""

    def resume(self) -> None:
        """Reads on if there is credit. To be called once to begin."""
        if self.is_paused and not self.has_ended and self._connection.credit(self._channel, self._stream) > 0:
            self.is_paused = False
            self._watch()

    def command_ended(self) -> None:
        """What is in the pipe now is the command's; what comes later is somebody's whom it left behind."""
        if not self.has_ended:
            self.owed = int.from_bytes(fcntl.ioctl(self._fd, _FIONREAD, bytes(4)), "little")
            if self._gathering is not None:
                self._stop_gathering()
                self._watch()

    def discard(self) -> None:
        """Reads on for nothing until nobody writes any more: who is left in the background must not block or die."""
        if not self.has_ended:
            self.has_ended = True
            self._unwatch()
            self._discard()

    def close(self) -> None:
        """Closes the pipe; who still writes to it gets SIGPIPE. Idempotent."""
        if not self.has_ended:
            self._end()

    def _on_readable(self, _events: int) -> None:
        credit = self._connection.credit(self._channel, self._stream)
        if credit <= 0:
            self._pause()
            return
        try:
            data = os.read(self._fd, min(credit, READ_SIZE))
        except BlockingIOError:
            return
        if data:
            self._connection.send(self._channel, self._stream, data)
            self.owed = max(0, self.owed - len(data))
            self._pace(len(data), credit)
        else:
            self._end()
            self._connection.end(self._channel, self._stream)
        self._on_progress()

    def _pace(self, count: int, credit: int) -> None:
        """Decides when to read on after so many bytes."""
        if count == credit:
            self._pause()
        elif count == READ_SIZE:
            # There is more than one read takes: let the command write further ahead.
            if not self._has_grown:
                self._grow()
        else:
            now = self._clock()
            if now - self._last_read_at < 2 * GATHER_S:
                self._unwatch()
                self._gathering = self._loop.call_later(GATHER_S, self._on_gathered)
            self._last_read_at = now

    def _on_gathered(self) -> None:
        self._gathering = None
        self._last_read_at = self._clock()
        self._watch()

    def _pause(self) -> None:
        self.is_paused = True
        # Not watched at all: a hang-up would be reported on and on.
        self._unwatch()

    def _watch(self) -> None:
        self._loop.watch(self._fd, select.EPOLLIN, self._on_readable)

    def _unwatch(self) -> None:
        self._stop_gathering()
        self._loop.forget(self._fd)

    def _stop_gathering(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None

    def _grow(self) -> None:
        self._has_grown = True
        # It fails over the bound of all pipes together; the smaller one does too.
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._fd, fcntl.F_SETPIPE_SZ, GROWN_PIPE)

    def _end(self) -> None:
        self.has_ended = True
        self.owed = 0
        self._unwatch()
        os.close(self._fd)

    def _discard(self) -> None:
        try:
            for _ in range(_DISCARD_READS):
                if not os.read(self._fd, READ_SIZE):
                    os.close(self._fd)
                    return
        except BlockingIOError:
            pass
        self._loop.watch(self._fd, select.EPOLLIN, self._on_discardable)

    def _on_discardable(self, _events: int) -> None:
        self._loop.forget(self._fd)
        self._loop.call_later(_DISCARD_EVERY_S, self._discard)


class Input:
    """The pipe or the terminal a command reads from, fed by a stream.

    Args:
        loop: watches the pipe while it is full.
        connection: carries the stream.
        channel: the command's.
        stream: the stream's number.
        fd: our end of it, non-blocking, closed by this object; None: what comes is dropped.
    """

    def __init__(
        self, loop: Scope, connection: Connection, *, channel: int, stream: int, fd: int | None
    ) -> None:
        self._loop, self._connection = loop, connection
        self._channel, self._stream, self._fd = channel, stream, fd
        self._pending: deque[memoryview] = deque()
        self._is_full = self._ends = False
        # Bytes at the front of those pending that came on a channel which is gone.
        self._orphans = 0

    def received(self, data: bytes) -> None:
        """Bytes for the command."""
        if self._fd is None:
            self._connection.consume(self._channel, self._stream, len(data))
            return
        self._pending.append(memoryview(data))
        if not self._is_full:
            self._write()

    def leave(self) -> None:
        """The channel is gone. What it has brought is written all the same, and nobody is told."""
        self._orphans = sum(len(piece) for piece in self._pending)

    def join(self, channel: int) -> None:
        """What comes from now on comes on another channel."""
        self._channel = channel

    def ended(self) -> None:
        """No more bytes will come: the command sees the end of its input behind those that have."""
        self._ends = True
        if not self._pending:
            self.close()

    def close(self) -> None:
        """Closes the pipe and drops what was not written. Idempotent."""
        if self._fd is not None:
            self._loop.forget(self._fd)
            os.close(self._fd)
            self._fd = None
        self._pending.clear()

    def _write(self) -> None:
        while self._pending and self._fd is not None:
            piece = self._pending[0]
            try:
                written = os.write(self._fd, piece)
            except BlockingIOError:
                if not self._is_full:
                    self._is_full = True
                    self._loop.watch(self._fd, select.EPOLLOUT, self._on_writable)
                return
            except OSError as error:
                if error.errno not in _NOBODY_READS:
                    raise
                # The sender need not know: it may go on and is not held up.
                self._used(sum(len(left) for left in self._pending))
                self.close()
                return
            self._used(written)
            if written < len(piece):
                self._pending[0] = piece[written:]
            else:
                self._pending.popleft()
        if self._ends:
            self.close()

    def _used(self, count: int) -> None:
        if self._orphans:
            orphans = min(count, self._orphans)
            self._orphans -= orphans
            count -= orphans
            if not count:
                return
        self._connection.consume(self._channel, self._stream, count)

    def _on_writable(self, _events: int) -> None:
        if self._fd is not None:
            self._is_full = False
            self._loop.forget(self._fd)
            self._write()
