"""Joins two channels end to end: bytes, ends, acknowledgements, result and errors pass through; nothing piles up.

The back channel is opened with the front one's window and the front one is accepted with the back one's, and
acknowledgements are forwarded, never originated. So whatever arrives on one side fits the credit on the other, and
what the joint holds is at most one window a stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from cloche_wire.aio.channel import Channel
from cloche_wire.errors import Cancelled, CodedError
from cloche_wire.frames import Fields


class _Joint:
    """What both sides share: how it ended, and who wants to know on the way."""

    def __init__(self, on_accepted: Callable[[Fields], None], on_finished: Callable[[Fields], None]) -> None:
        self.over: asyncio.Future[Fields] = asyncio.get_running_loop().create_future()
        self.result: Fields = {}
        self.on_accepted, self.on_finished = on_accepted, on_finished

    def fail(self, error: CodedError) -> None:
        if not self.over.done():
            self.over.set_exception(error)


class _Side:
    """The sink of one of the two channels: whatever happens on it is done to the other."""

    def __init__(self, joint: _Joint, this: Channel, other: Channel) -> None:
        self._joint, self._this, self._other = joint, this, other
        self._consumed: dict[int, int] = {}

    def accepted(self, info: Fields, window: int) -> None:
        self._joint.on_accepted(info)
        try:
            self._other.accept(info, window=window)
        except CodedError as error:
            self._give_up(error)

    def received(self, stream: int, data: bytes) -> None:
        # No credit means that the other channel is closing and its reader wants no more.
        if self._other.credit(stream) >= len(data):
            self._other.send(stream, data)

    def ended(self, stream: int) -> None:
        self._other.end(stream)

    def acknowledged(self, stream: int, offset: int) -> None:
        already = self._consumed.get(stream, 0)
        self._consumed[stream] = offset
        self._other.consume(stream, offset - already)

    def finished(self, result: Fields) -> None:
        # Confirmed to the peer only when the other side has it: see `confirmed`.
        self._joint.result = result
        self._joint.on_finished(result)
        try:
            self._other.close(result)
        except CodedError as error:
            self._give_up(error)

    def confirmed(self) -> None:
        self._other.confirm()
        if not self._joint.over.done():
            self._joint.over.set_result(self._joint.result)

    def failed(self, error: CodedError) -> None:
        self._other.reset(error)
        self._joint.fail(error)

    def _give_up(self, error: CodedError) -> None:
        self._this.reset(error)
        self._other.reset(error)
        self._joint.fail(error)


def _ignore(_fields: Fields) -> None:
    """For callers that only want the end."""


async def splice(
    front: Channel,
    back: Channel,
    *,
    on_accepted: Callable[[Fields], None] = _ignore,
    on_finished: Callable[[Fields], None] = _ignore,
) -> Fields:
    """Joins a channel the peer has opened (`front`) with one just opened to somebody else (`back`).

    Call it in the same turn of the loop in which `back` was opened. Cancelling resets both.

    Args:
        front: offered, not yet accepted.
        back: opened with `window=front.window`.
        on_accepted: told the info of the acceptance as it passes.
        on_finished: told the result as it passes, which may be long before it arrives.

    Returns:
        The result, once it has arrived at the front's peer.

    Raises:
        CodedError: either side failed; the other has been reset with the same error.
    """
    joint = _Joint(on_accepted, on_finished)
    front.sink = _Side(joint, front, back)
    back.sink = _Side(joint, back, front)
    try:
        return await joint.over
    except asyncio.CancelledError:
        error = Cancelled("the hub has given up this channel")
        front.reset(error)
        back.reset(error)
        raise
