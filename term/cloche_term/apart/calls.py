"""Requests to one worker and its answers, in step whatever happens to those who asked.

Rules:
- A request is sent when it is asked, and its answer awaited; who is cancelled meanwhile loses the answer and nothing
  else: it is read, and dropped.
- The oldest request has so many seconds. One that takes longer, an end of the worker, or an answer that is none loses
  the worker: it is killed, and whoever waits or comes later gets `TerminalLost`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import replace

from cloche_term.apart.frames import (
    HEAD,
    MOST_REASON,
    SIZE,
    FrameError,
    Kind,
    State,
    Status,
    frame,
    most_answered,
    most_told,
    read_state,
)
from cloche_term.apart.process import WatchedProcess
from cloche_term.errors import SnapshotUnreadable, TerminalError, TerminalLost

_Answer = tuple[State, bytes]


class Calls(asyncio.Protocol):
    """The hub's side of a worker's socket.

    Args:
        process: the worker.
        patience_s: how long one request may take.
    """

    def __init__(self, process: WatchedProcess, *, patience_s: float) -> None:
        self.state: State | None = None
        """As the newest answer said."""
        self.lost: TerminalLost | None = None
        """Why nothing can be asked any more."""
        self._process, self._patience_s = process, patience_s
        self._waiting: deque[tuple[Kind, bytes, asyncio.Future[_Answer]]] = deque()
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        self._watchdog: asyncio.TimerHandle | None = None

    async def ask(self, kind: Kind, payload: bytes = b"") -> _Answer:
        """Asks, and waits for the answer. What was asked happens even if this is cancelled.

        Raises:
            TerminalLost: the worker is gone, or has just been given up.
            SnapshotUnreadable: it cannot read that.
            TerminalError: it could not do it, and goes on.
            ValueError: what is asked makes no sense, or is too much.
        """
        if self.lost is not None:
            raise TerminalLost(*self.lost.args)
        assert self._transport is not None
        self._transport.write(frame(kind, payload))
        answered: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((kind, payload[: SIZE.size], answered))
        if len(self._waiting) == 1:
            self._watch()
        return await answered

    def lose(self, reason: str) -> None:
        """Gives the worker up. Idempotent."""
        if self.lost is None:
            self.lost = TerminalLost(reason)
            self._process.kill()
            if self._transport is not None:
                self._transport.abort()
            self._stop_watching()
            self._received.clear()
            while self._waiting:
                *_, answered = self._waiting.popleft()
                if not answered.done():
                    answered.set_exception(TerminalLost(reason))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is ours."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """The worker has ended, or we have ended it."""
        self.lose("the process of this terminal has ended: what it was fed crashed it, or it was killed")

    def data_received(self, data: bytes) -> None:
        """A piece of an answer."""
        self._received += data
        while self.lost is None and len(self._received) >= HEAD.size:
            status, length = HEAD.unpack_from(self._received)
            if not self._waiting or length > most_answered(self._waiting[0][0]):
                self.lose("the process of this terminal says what nobody has asked")
                return
            end = HEAD.size + length
            if len(self._received) < end:
                return
            payload = bytes(self._received[HEAD.size : end])
            del self._received[:end]
            self._take(status, payload)

    def _take(self, status: int, payload: bytes) -> None:
        try:
            answer = _answer_of(Status(status), payload)
            if not isinstance(answer, Exception):
                self._check(*answer)
        except ValueError as error:
            self.lose(f"the process of this terminal gives no proper answer: {error}")
            return
        *_, answered = self._waiting.popleft()
        if not isinstance(answer, Exception):
            # SAFETY: it may say what it likes, but took no longer than it was given.
            self.state = replace(answer[0], cpu_s=min(answer[0].cpu_s, self._patience_s))
        if not answered.done():
            if isinstance(answer, Exception):
                answered.set_exception(answer)
            else:
                answered.set_result(answer)
        self._watch()

    def _check(self, state: State, told: bytes) -> None:
        """Whether this can be the answer to what was asked first.

        Raises:
            FrameError: it cannot.
        """
        kind, size, _ = self._waiting[0]
        if len(told) > most_told(kind):
            raise FrameError(f"{len(told)} bytes for {kind.name}")
        expected = (state.rows, state.cols)
        if kind in (Kind.OPEN, Kind.RESIZE):
            expected = SIZE.unpack(size)
        elif kind is not Kind.RESTORE and self.state is not None:
            # A program cannot change the size.
            expected = self.state.rows, self.state.cols
        if expected != (state.rows, state.cols):
            raise FrameError(
                f"{state.rows} rows and {state.cols} columns, not {expected[0]} and {expected[1]}"
            )

    def _watch(self) -> None:
        """The oldest request has its time from now on."""
        self._stop_watching()
        if self._waiting:
            loop = asyncio.get_running_loop()
            self._watchdog = loop.call_later(self._patience_s, self._give_up)

    def _stop_watching(self) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog = None

    def _give_up(self) -> None:
        self.lose(f"a request to this terminal took more than {self._patience_s} s: it was given up")


def _answer_of(status: Status, payload: bytes) -> _Answer | Exception:
    """What an answer says, or the error it tells of.

    Raises:
        FrameError: it is none.
    """
    if status is Status.DONE:
        return read_state(payload)
    reason = payload.decode(errors="replace")
    if len(reason) > MOST_REASON or not reason.replace("\n", " ").isprintable():
        raise FrameError("a reason that nobody can read")
    if status is Status.UNREADABLE:
        return SnapshotUnreadable(reason)
    return ValueError(reason) if status is Status.REFUSED else TerminalError(reason)
