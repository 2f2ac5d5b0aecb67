"""Joins two channels end to end: bytes, ends, acknowledgements, result and errors pass through; nothing piles up.

The back channel is opened with the front one's window and the front one is accepted with the back one's, and
acknowledgements are forwarded, never originated. So whatever arrives on one side fits the credit on the other, and
what the joint holds is at most one window a stream.

Bytes may be looked at as they pass (`Tap`): what a tap has seen is what the other side gets, no more and no less. Who
needs time for what it has seen keeps the acknowledgements back as long (`Gate`), so that what it holds is bounded, too.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Protocol

from cloche_wire.aio.channel import Channel
from cloche_wire.errors import Cancelled, CodedError
from cloche_wire.frames import Fields


class Tap(Protocol):
    """Sees what one side sends, just before it is passed on. Must not wait; a CodedError it raises fails both sides."""

    def received(self, stream: int, data: bytes) -> None:
        """Bytes are about to pass."""
        ...

    def ended(self, stream: int) -> None:
        """A stream's end is about to pass."""
        ...


class Gate:
    """Keeps back the acknowledgements of what one side sends until somebody else has dealt with the bytes, too.

    For one splice. What has been dealt with is told by `pass_below`, at any time.
    """

    def __init__(self) -> None:
        self._read: dict[int, int] = {}
        self._dealt_with: dict[int, int] = {}
        self._passed: dict[int, int] = {}
        self._consume: Callable[[int, int], None] = lambda _stream, _count: None

    def pass_below(self, stream: int, offset: int) -> None:
        """Everything of a stream below an offset has been dealt with."""
        self._dealt_with[stream] = offset
        self._pass(stream)

    def acknowledged(self, stream: int, offset: int) -> None:
        """The other side has read everything below an offset."""
        self._read[stream] = offset
        self._pass(stream)

    def connect(self, consume: Callable[[int, int], None]) -> None:
        """From now on `consume` is told how many more bytes of a stream may be acknowledged."""
        self._consume = consume

    def _pass(self, stream: int) -> None:
        already = self._passed.get(stream, 0)
        both = min(self._read.get(stream, 0), self._dealt_with.get(stream, 0))
        if both > already:
            self._passed[stream] = both
            self._consume(stream, both - already)


class _Joint:
    """What both sides share: how far the end has come."""

    def __init__(self, back: Channel, check_info: Callable[[Fields], Fields]) -> None:
        loop = asyncio.get_running_loop()
        self._back, self.check_info = back, check_info
        self.finished: asyncio.Future[Fields] = loop.create_future()
        self.confirmed: asyncio.Future[None] = loop.create_future()

    def fail(self, error: CodedError) -> None:
        self._back.reset(error)
        for step in (self.finished, self.confirmed):
            if not step.done():
                # A copy: one error may be told to many channels.
                step.set_exception(copy.copy(error))
                # Whoever waits for the other step first never looks at this one.
                step.exception()


class _Side:
    """The sink of one of the two channels: whatever happens on it is done to the other."""

    def __init__(self, joint: _Joint, other: Channel, tap: Tap | None, gate: Gate | None = None) -> None:
        self._joint, self._other, self._tap, self._gate = joint, other, tap, gate
        self._consumed: dict[int, int] = {}
        if gate is not None:
            gate.connect(other.consume)
        self._is_finished = False

    def accepted(self, info: Fields, window: int) -> None:
        try:
            self._other.accept(self._joint.check_info(info), window=window)
        except CodedError as error:
            self._joint.fail(error)

    def received(self, stream: int, data: bytes) -> None:
        # No credit means that the other channel is closing and its reader wants no more.
        if self._other.credit(stream) < len(data):
            return
        try:
            if self._tap is not None:
                self._tap.received(stream, data)
            self._other.send(stream, data)
        except CodedError as error:
            self._joint.fail(error)

    def ended(self, stream: int) -> None:
        if not self._other.can_send:
            return
        try:
            if self._tap is not None:
                self._tap.ended(stream)
            self._other.end(stream)
        except CodedError as error:
            self._joint.fail(error)

    def acknowledged(self, stream: int, offset: int) -> None:
        if self._gate is not None:
            self._gate.acknowledged(stream, offset)
            return
        already = self._consumed.get(stream, 0)
        self._consumed[stream] = offset
        self._other.consume(stream, offset - already)

    def finished(self, result: Fields) -> None:
        # Passed on by `splice`; confirmed to the peer only when the other side has it.
        self._is_finished = True
        if not self._joint.finished.done():
            self._joint.finished.set_result(result)

    def confirmed(self) -> None:
        self._other.confirm()
        if not self._joint.confirmed.done():
            self._joint.confirmed.set_result(None)

    def failed(self, error: CodedError) -> None:
        if self._is_finished:
            return  # All it had to say has been passed on; only nobody waits for its confirmation any more.
        self._joint.fail(error)


async def splice(
    front: Channel,
    back: Channel,
    *,
    check_info: Callable[[Fields], Fields],
    before_close: Callable[[Fields], Awaitable[Fields]] | None = None,
    front_tap: Tap | None = None,
    back_tap: Tap | None = None,
    back_gate: Gate | None = None,
) -> Fields:
    """Joins a channel the peer has opened (`front`) with one just opened to somebody else (`back`).

    Call it in the same turn of the loop in which `back` was opened. Cancelling resets `back`.

    A failure is not told to the front's peer in here: the caller does what must come before, then resets `front` (as
    the end of a peer's handler does).

    Args:
        front: offered, not yet accepted.
        back: opened with `window=front.window`.
        check_info: what the front's peer is told of the other's acceptance; must not wait. What it raises fails both.
        before_close: does what must be done with the result before the front's peer learns it, such as recording it,
            and returns what that is told.
        front_tap, back_tap: see what the front's and what the back's peer sends.
        back_gate: keeps acknowledgements from the back's peer.

    Returns:
        The result, once it has arrived at the front's peer.

    Raises:
        CodedError: either side failed; `back` has been reset with the same error.
    """
    joint = _Joint(back, check_info)
    front.sink, back.sink = _Side(joint, back, front_tap, back_gate), _Side(joint, front, back_tap)
    try:
        # The front's peer may have given up before anybody listened.
        front.require_live()
        result = await joint.finished
        if before_close is not None:
            result = await before_close(result)
        front.close(result)
        await joint.confirmed
    except CodedError as error:
        back.reset(error)
        raise
    except BaseException:
        back.reset(Cancelled("the hub has given up this channel"))
        raise
    return result
