"""The callback socket: programs of the machine come with one line each, and leave with one.

    reading ──a line──► waiting ──answer──► answering ──written──► closed
       └─(too slow, too long, one of too many)─► answering              (the caller is gone: closed at once)

What the lines mean is `callbacks`' matter.

Rules:
- The socket listens from the start, and those who come wait; they are served from `serve` on. So a template is saved
  with a socket that works in each of its clones.
- A caller that is slow or silent costs itself: there is a deadline for each line, and a bound for how many may be
  slow at once, beyond which the one that has been slow for longest has to go.
- What a caller sends behind its line is not read. That it is gone is learnt all the same; that it sends no more is
  not being gone.
Source: unix(7); Linux net/unix/af_unix.c, unix_poll: EPOLLHUP is a socket closed both ways.
"""

from __future__ import annotations

import _socket  # `socket` is a thin layer above it that costs the first process memory
import errno
import os
import select
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cloche_guest.callback_messages import MAX_LINE, error_line
from cloche_guest.loop import Loop, Scope, Timer
from cloche_wire.errors import BadRequest, CodedError, TimedOut, TooLarge

LINE_S = 5.0
"""How long a caller may take to send its line, and to take its answer."""
MOST_SILENT = 512
"""Callers at once that have not sent anything: twice as many as may call, since a program may connect them all first."""
MOST_SLOW = 64
"""Callers at once that have sent a part of their line, and as many that have not taken their answer."""

_BACKLOG = 4096
_ACCEPTS = 32
# Without a free descriptor accepting fails at once, time and again.
_PAUSE_S = 0.2
_READ_SIZE = 64 << 10
_CREDENTIALS = struct.Struct("=iII")  # struct ucred: pid, uid, gid
_LONGEST_NAME = 64

_IN, _OUT, _HUP, _ERR = select.EPOLLIN, select.EPOLLOUT, select.EPOLLHUP, select.EPOLLERR


@dataclass(frozen=True, slots=True)
class Program:
    """Who calls, as the machine's kernel says. What it says is for people: the whole machine may lie."""

    pid: int
    uid: int
    name: str
    """What the process calls itself; empty if it is gone."""


def listen(path: str) -> _socket.socket:
    """A socket that everybody in the machine may connect to.

    Raises:
        OSError: there is something at this path, or nothing can be there.
    """
    listening = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK)
    listening.bind(path)
    # SAFETY: whoever connects is bounded here, and what may be called is for the hub to say.
    os.chmod(path, 0o666)
    listening.listen(_BACKLOG)
    return listening


class Caller:
    """One connection; made by `Callers`."""

    def __init__(self, owner: Callers, loop: Loop, fd: int, program: Program) -> None:
        self._owner, self._loop, self._fd = owner, loop, fd
        self.program = program
        self._scope = Scope(loop, self._broken)
        self._line = bytearray()
        self._unsent = memoryview(b"")
        self._is_reading = self._is_open = True
        self.on_gone: Callable[[], None] = lambda: None
        """Called if the caller is gone before it was answered."""
        self._deadline: Timer | None = self._scope.call_later(LINE_S, self._too_slow)
        self._scope.watch(fd, _IN, self._on_events)

    def answer(self, line: bytes) -> None:
        """Sends the line that ends it; does nothing if the caller is gone."""
        if not self._is_open:
            return
        self._is_reading = False
        self.on_gone = lambda: None
        self._unsent = memoryview(line)
        self._stop_clock()
        self._write()
        if self._is_open:
            self._loop.change(self._fd, _OUT)
            self._deadline = self._scope.call_later(LINE_S, self.close)
            self._owner.is_slow_to_read(self)

    def refuse(self, error: CodedError) -> None:
        """Sends an error."""
        self.answer(error_line(error))

    def close(self) -> None:
        """Ends it without another word. Idempotent."""
        if not self._is_open:
            return
        self._is_open = False
        self._stop_clock()
        self._scope.forget(self._fd)
        os.close(self._fd)
        self._owner.closed(self)
        self.on_gone()

    def _on_events(self, events: int) -> None:
        if self._is_reading:
            self._read()
        elif events & _OUT and self._unsent:
            self._write()
        if events & (_HUP | _ERR) and self._is_open and self._has_hung_up():
            self.close()

    def _read(self) -> None:
        while self._is_open and self._is_reading:
            seen = len(self._line)
            try:
                piece = os.read(self._fd, _READ_SIZE)
            except BlockingIOError:
                return
            except OSError:
                self.close()
                return
            self._line += piece
            end = self._line.find(b"\n", seen)
            if (len(self._line) if end < 0 else end + 1) > MAX_LINE:
                self.refuse(TooLarge(f"a request may have {MAX_LINE} bytes"))
            elif end >= 0:
                self._take(bytes(self._line[:end]))
            elif not piece:
                self.refuse(BadRequest("the request ends without a newline"))
            else:
                self._owner.has_begun(self)

    def _take(self, line: bytes) -> None:
        self._is_reading = False
        self._line.clear()
        self._stop_clock()
        # From now on only its end is waited for: a hang-up is always told.
        self._loop.change(self._fd, 0)
        self._owner.has_asked(self, line)

    def _write(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._fd, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:
            self._unsent = memoryview(b"")
        if not self._unsent:
            self.close()

    def _has_hung_up(self) -> bool:
        # The event may be of an earlier descriptor of this number, closed in this same turn.
        poll = select.poll()
        poll.register(self._fd, 0)
        return bool(poll.poll(0))

    def _too_slow(self) -> None:
        self.refuse(TimedOut(f"the request did not come within {LINE_S:g} s"))

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _broken(self, error: Exception) -> None:
        """Something of ours has failed for this caller: it costs this one, and no other."""
        self._owner.report(error, f"a callback of process {self.program.pid}")
        self.close()


class Callers:
    """Those who are connected.

    Args:
        loop: watches them.
        listening: see `listen`; kept.
        on_line: called with a caller and its line, without the newline; the caller is to be answered.
        report: told of a defect and of what was being done.
    """

    def __init__(
        self,
        loop: Loop,
        listening: _socket.socket,
        *,
        on_line: Callable[[Caller, bytes], None],
        report: Callable[[Exception, str], None],
    ) -> None:
        self._loop, self._listening, self._on_line = loop, listening, on_line
        self.report = report
        # In the order they came: dicts are used as ordered sets.
        self._silent: dict[Caller, None] = {}
        self._asking: dict[Caller, None] = {}
        self._answering: dict[Caller, None] = {}

    def serve(self) -> None:
        """Begins to serve those who come, and those who have come already. Once."""
        self._loop.watch(self._listening.fileno(), _IN, self._on_caller)

    # What callers say of themselves.

    def has_begun(self, caller: Caller) -> None:
        """A part of its line has come, which takes memory."""
        if caller in self._silent:
            del self._silent[caller]
            self._asking[caller] = None
            if len(self._asking) > MOST_SLOW:
                next(iter(self._asking)).refuse(TooLarge(f"more than {MOST_SLOW} callers are slow to ask"))

    def has_asked(self, caller: Caller, line: bytes) -> None:
        """Its line has come."""
        self._forget(caller)
        self._on_line(caller, line)

    def is_slow_to_read(self, caller: Caller) -> None:
        """It does not take its answer at once."""
        self._forget(caller)
        self._answering[caller] = None
        if len(self._answering) > MOST_SLOW:
            next(iter(self._answering)).close()

    def closed(self, caller: Caller) -> None:
        """It is gone."""
        self._forget(caller)

    def _forget(self, caller: Caller) -> None:
        for those in (self._silent, self._asking, self._answering):
            those.pop(caller, None)

    def _on_caller(self, _events: int) -> None:
        for _ in range(_ACCEPTS):
            try:
                fd = _accept(self._listening)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ECONNABORTED:
                    self._loop.forget(self._listening.fileno())
                    self._loop.call_later(_PAUSE_S, self.serve)
                    return
            else:
                self._welcome(fd)

    def _welcome(self, fd: int) -> None:
        os.set_blocking(fd, False)
        if len(self._silent) >= MOST_SILENT:
            next(iter(self._silent)).refuse(
                TooLarge(f"more than {MOST_SILENT} callers have not said what they want")
            )
        self._silent[Caller(self, self._loop, fd, program_behind(fd))] = None


def _accept(listening: Any) -> int:
    # What `socket.accept` is made of; typeshed does not know it. Nobody inherits the descriptor.
    fd, _address = listening._accept()  # noqa: SLF001
    return int(fd)


def program_behind(fd: int) -> Program:
    """Who has connected a Unix socket."""
    peer = _socket.socket(fileno=fd)
    try:
        credentials = peer.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS.size)
    finally:
        peer.detach()
    pid, uid, _gid = _CREDENTIALS.unpack(credentials)
    return Program(pid, uid, _name_of(pid))


def _name_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            name = file.read(_LONGEST_NAME).decode(errors="replace").removesuffix("\n")
    except OSError:
        return ""
    # SAFETY: a process chooses its own name, and operators read it: nothing in it may move their cursor.
    return "".join(letter if letter.isprintable() else "?" for letter in name)
