"""A channel as asyncio code uses it: write with back-pressure, read what came, wait for the result.

Who reads acknowledges: bytes count as consumed when `read` returns them. Who must first put them where they are safe
reads them with `consume=False`, calls `consume` later, and has the result wait for `confirm` (`confirms_itself`). Code
that passes bytes on without reading them (`splice`) takes the channel's events through a `Sink` of its own instead.
"""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

import msgpack

from cloche_wire.aio.messages import Messages
from cloche_wire.connection import Connection
from cloche_wire.errors import Cancelled, CodedError, LinkLost, LocalProtocolError
from cloche_wire.frames import Fields
from cloche_wire.limits import MAX_STREAMS

MESSAGES = 0
"""The stream that carries messages: msgpack values one after another."""
_MOST_NAME = 60


class Sink(Protocol):
    """Who is told of a channel's events, in the order they happened. Must not block and must not raise."""

    def accepted(self, info: Fields, window: int) -> None: ...
    def received(self, stream: int, data: bytes) -> None: ...
    def ended(self, stream: int) -> None: ...
    def acknowledged(self, stream: int, offset: int) -> None: ...
    def finished(self, result: Fields) -> None: ...
    def confirmed(self) -> None: ...
    def failed(self, error: CodedError) -> None: ...


class Owner(Protocol):
    """The peer, as its channels see it."""

    connection: Connection

    def open(self, kind: str, params: Fields | None = None, *, window: int | None = None) -> Channel: ...
    def wake(self) -> None: ...
    def holds(self, channel: Channel) -> bool: ...
    def forget(self, channel: Channel) -> None: ...


class Channel:
    """One channel of a peer.

    Attributes:
        number: of the channel.
        kind, params: as the other side opened it, until its handler has ended; of one opened here the kind only.
        window: bytes a stream that may be sent ahead (known once accepted, for a channel opened here).
        sink: who gets the events; the channel's own buffers unless replaced before the next event.
        confirms_itself: whether the peer may forget the channel as soon as its result is here. Set to False before the
            next event, this is for the owner to say, by `confirm`; until then it may read and consume what there is.
    """

    def __init__(self, owner: Owner, number: int, kind: str, params: Fields, window: int) -> None:
        self.number, self.kind, self.params, self.window = number, kind, params, window
        self._owner, self._connection = owner, owner.connection
        self._inbox = _Inbox(self)
        self._messages: Messages | None = None
        self._message_turn = asyncio.Lock()
        self.sink: Sink = self._inbox
        self.confirms_itself = True

    @property
    def name(self) -> str:
        """Its kind as messages show it: the other side chose it, at any length."""
        return self.kind[:_MOST_NAME]

    def forget_request(self) -> None:
        """Its handler has ended: what was asked is nobody's any more, while the peer may take its time to confirm."""
        self.kind, self.params = self.name, {}

    # Raw moves, for sinks: never wait.

    def accept(self, info: Fields | None = None, *, window: int | None = None) -> None:
        """Takes the channel.

        Raises:
            Cancelled: the peer has given it up.
        """
        self.require_live()
        self._connection.accept(self.number, info, window=window)
        self._inbox.notify()
        self._owner.wake()

    def credit(self, stream: int) -> int:
        """Bytes that `send` takes now."""
        return self._connection.credit(self.number, stream) if self.is_live else 0

    @property
    def can_send(self) -> bool:
        """Whether streams may carry data now: the channel is open both ways."""
        return self.is_live and self._connection.is_open(self.number)

    def send(self, stream: int, data: bytes | memoryview) -> None:
        """Queues bytes within the credit; see `write` for the one that waits. They must not change any more.

        Raises:
            Cancelled: the channel is over.
        """
        self.require_live()
        self._connection.send(self.number, stream, data)
        self._owner.wake()

    def end(self, stream: int) -> None:
        """Ends a stream behind what is queued on it; does nothing where the peer reads no more."""
        if self.can_send:
            self._connection.end(self.number, stream)
            self._owner.wake()

    def consume(self, stream: int, count: int) -> None:
        """Gives the peer credit for bytes that have been used."""
        if self.is_live:
            self._connection.consume(self.number, stream, count)
            self._owner.wake()

    def close(self, result: Fields | None = None) -> None:
        """Ends a channel the peer has opened, with its result, behind everything queued.

        Raises:
            Cancelled: the peer has given it up.
            TooLarge: the result does not fit a frame, or too many are unconfirmed; the channel is unchanged.
        """
        self.require_live()
        self._connection.close(self.number, result)
        self._inbox.closed_here()
        self._owner.wake()

    def confirm(self) -> None:
        """Lets the peer forget a channel it has closed. What is read afterwards needs no `consume` any more."""
        if self.is_live:
            self._connection.confirm(self.number)
            self._owner.forget(self)
            self._owner.wake()

    def reset(self, error: CodedError) -> None:
        """Drops the channel at once; does nothing if it is gone. Who waits on it gets the error."""
        if self.is_live:
            self._connection.reset(self.number, error)
            self._owner.forget(self)
            self._owner.wake()
        self._inbox.failed(error)

    def open_beside(self, kind: str, params: Fields, *, window: int | None = None) -> Channel:
        """Opens another channel to the same peer, for as long as this one is there to say who that is.

        Raises:
            Cancelled: this channel is over, or the peer has been left.
            TooLarge: the parameters do not fit a frame, or too many channels are open.
        """
        self.require_live()
        return self._owner.open(kind, params, window=window)

    # For coroutines.

    async def wait_accepted(self) -> Fields:
        """The peer's answer to the opening; also returns if it closed at once (the result then says what).

        Raises:
            CodedError: it refused, or the channel failed.
        """
        return await self._inbox.wait_accepted()

    async def wait_credit(self, stream: int, least: int = 1) -> int:
        """Waits until `send` takes at least so many bytes; returns how many it takes. Raises as `write`."""
        return await self._inbox.wait_credit(stream, least)

    async def write(self, stream: int, data: bytes) -> None:
        """Sends bytes, waiting for credit. Cancelling may leave a part of them sent.

        The bytes must not change any more. What several coroutines write to one stream at once may mix.

        Raises:
            CodedError: the channel failed, or the peer has closed it and reads no more (LinkLost).
            LocalProtocolError: this side has ended the stream or closed the channel.
        """
        view = memoryview(data)
        while view:
            credit = await self.wait_credit(stream)
            self.send(stream, view[:credit])
            view = view[credit:]

    async def read(self, stream: int, *, consume: bool = True) -> bytes:
        """The next bytes of a stream, all there are; empty at its end. Cancelling loses nothing.

        Args:
            stream: the stream's number.
            consume: whether they count as used now. If not, the peer keeps them, and sends no more than the window
                beyond them, until `consume` is called with their number, or with parts of it.

        Raises:
            CodedError: the channel failed before the stream ended.
        """
        return await self._inbox.read(stream, consume=consume)

    async def read_any(self, *streams: int) -> tuple[int, bytes] | None:
        """The next bytes of whichever of these streams has some, and which; None once all have ended.

        Cancelling loses nothing.

        Raises:
            CodedError: the channel failed before the streams ended.
        """
        return await self._inbox.read_any(streams)

    async def send_message(self, value: Any) -> None:
        """Sends one message on stream 0; several coroutines may.

        Cancelling sends all of it or nothing, if it is no larger than half the window.

        Raises:
            CodedError: as `write`.
        """
        packed = msgpack.packb(value, use_bin_type=True)
        async with self._message_turn:
            # Not the whole window: up to a quarter at each end of a splice is consumed but not yet acknowledged.
            if len(packed) <= self.window // 2:
                await self.wait_credit(MESSAGES, len(packed))
            await self.write(MESSAGES, packed)

    def messages(self, *, max_bytes: int = 1 << 20) -> Messages:
        """The messages of stream 0 until it ends; always the same iterator, so a later loop goes on with the next.

        Raises (while iterating):
            BadRequest: a message is malformed or over `max_bytes`.
            CodedError: the channel failed before the stream ended.
        """
        if self._messages is None:
            self._messages = Messages(
                lambda: self.read(MESSAGES), max_bytes=max_bytes, max_items=self._connection.limits.max_items
            )
        return self._messages

    async def result(self) -> Fields:
        """What the peer closed the channel with.

        Raises:
            CodedError: it failed instead.
        """
        return await self._inbox.result()

    async def wait_confirmed(self) -> None:
        """After `close`: waits until everything has arrived at the peer.

        Raises:
            CodedError: the peer gave up before.
        """
        await self._inbox.wait_confirmed()

    @property
    def is_live(self) -> bool:
        """Whether the channel still exists on this side. Its number alone does not say so: a new session begins anew."""
        return self._owner.holds(self)

    @property
    def is_reachable(self) -> bool:
        """Whether there is a link to the other side now, as far as is known: a lost one may come back."""
        return self._connection.is_up

    @property
    def is_answered(self) -> bool:
        """Whether this side has closed it, or it is over: there is nothing left to say."""
        return self._inbox.is_closed_here or not self.is_live

    def require_live(self) -> None:
        """Raises Cancelled if the channel is over."""
        if not self.is_live:
            raise Cancelled(f"{self.name}: the caller has given up")


class _Inbox:
    """The default sink: keeps what came until somebody asks. Bounded by the window, since unread bytes get no credit."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._buffers: list[deque[bytes]] = [deque() for _ in range(MAX_STREAMS)]
        self._ended: set[int] = set()
        self._info: Fields | None = None
        self._result: Fields | None = None
        self._error: CodedError | None = None
        self.is_closed_here = self._confirmed = False
        self._changed = asyncio.Event()

    # Events.

    def accepted(self, info: Fields, window: int) -> None:
        self._info = info
        self._channel.window = window
        self.notify()

    def received(self, stream: int, data: bytes) -> None:
        self._buffers[stream].append(data)
        self.notify()

    def ended(self, stream: int) -> None:
        self._ended.add(stream)
        self.notify()

    def acknowledged(self, stream: int, offset: int) -> None:
        del stream, offset
        self.notify()

    def closed_here(self) -> None:
        self.is_closed_here = True
        self.notify()

    def finished(self, result: Fields) -> None:
        self._result = result
        if self._channel.confirms_itself:
            # Everything has arrived and is kept here, so the peer may forget it.
            self._channel.confirm()
        self.notify()

    def confirmed(self) -> None:
        self._confirmed = True
        self.notify()

    def failed(self, error: CodedError) -> None:
        if not self._is_over and self._error is None:
            self._error = error
            self.notify()

    # Waits.

    async def wait_accepted(self) -> Fields:
        while self._info is None and self._result is None:
            await self._change()
        return self._info or {}

    async def wait_credit(self, stream: int, least: int = 1) -> int:
        while True:
            if self._result is not None:
                raise LinkLost("the other side has closed the channel and reads no more")
            if self.is_closed_here and self._error is None:
                raise LocalProtocolError(
                    f"{self._channel.name}: closed on this side; nothing more can be sent"
                )
            credit = self._channel.credit(stream)
            if credit >= least:
                return credit
            await self._change()

    async def read(self, stream: int, *, consume: bool) -> bytes:
        found = await self.read_any((stream,), consume=consume)
        return b"" if found is None else found[1]

    async def read_any(self, streams: Sequence[int], *, consume: bool = True) -> tuple[int, bytes] | None:
        while True:
            for stream in streams:
                if self._buffers[stream]:
                    return stream, self._take(stream, consume=consume)
            # After our close the peer's bytes are dropped, so there is nothing to wait for.
            if self._result is not None or self._ended.issuperset(streams) or self.is_closed_here:
                return None
            await self._change()

    def _take(self, stream: int, *, consume: bool) -> bytes:
        buffer = self._buffers[stream]
        data = buffer[0] if len(buffer) == 1 else b"".join(buffer)
        buffer.clear()
        if consume:
            self._channel.consume(stream, len(data))
        return data

    async def result(self) -> Fields:
        while self._result is None:
            await self._change()
        return self._result

    async def wait_confirmed(self) -> None:
        while not self._confirmed:
            await self._change()

    @property
    def _is_over(self) -> bool:
        return self._result is not None or self._confirmed

    async def _change(self) -> None:
        """Waits for the next event; raises the channel's error once there is one."""
        if self._error is not None:
            # A copy for each who waits: an exception that is raised twice gathers the frames of both.
            raise copy.copy(self._error)
        if self._is_over:
            raise LocalProtocolError(f"{self._channel.name}: the channel is over; nothing more happens on it")
        await self._changed.wait()

    def notify(self) -> None:
        # Wakes those who wait now; who comes later waits for the next event.
        self._changed.set()
        self._changed.clear()
