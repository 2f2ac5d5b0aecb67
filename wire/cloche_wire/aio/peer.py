"""One side of a link under asyncio: two tasks a link, handlers for what the other side opens, a heartbeat.

    async with Peer(connection, on_open=serve) as peer:
        while True:
            await peer.run(await connect())      # one link; channels wait for the next

Rules:
- The reader never waits for the writer: with one task, two peers over a bounded link can deadlock.
- Channels belong to the peer, not to the link: they go on over the next one, or fail with `fail`.
- `run` ends with the reason; whether to try again is the caller's decision.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from cloche_wire.aio.channel import Channel
from cloche_wire.aio.transports import Transport
from cloche_wire.connection import Connection
from cloche_wire.errors import (
    Cancelled,
    CodedError,
    InternalError,
    LinkLost,
    LinkSilent,
    RemoteProtocolError,
    Undecodable,
    WireError,
)
from cloche_wire.events import (
    Accepted,
    Acknowledged,
    Confirmed,
    Ended,
    Event,
    Failed,
    Finished,
    Greeted,
    Opened,
    Parted,
    Ponged,
    Received,
)
from cloche_wire.frames import Fields

Handler = Callable[[Channel], Awaitable[None]]
"""Serves a channel the other side has opened. A CodedError it raises resets the channel with it."""

_LAST_WORDS_S = 1.0
# A link that takes no byte for this long while it answers nothing is dropped by the heartbeat, so writes need no bound.
_WRITE_SIZE = 256 << 10


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """How silence is noticed."""

    interval_s: float = 5.0
    """After this long without a message the other side is asked for a sign of life."""
    silent_after_s: float = 20.0
    """After this long without a message the link counts as silent."""


class Peer:
    """One side of the protocol, over any number of links, one at a time.

    Args:
        connection: the protocol's state.
        on_open: serves channels the other side opens; without it they are refused.
        heartbeat: the bounds for silence.
        on_defect: told of an exception in a handler that is not a CodedError; the channel is reset with `internal`.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        on_open: Handler | None = None,
        heartbeat: Heartbeat | None = None,
        on_defect: Callable[[Channel, Exception], None] | None = None,
    ) -> None:
        self.connection = connection
        self.greeting: Greeted | None = None
        """The other side's hello on the current link, or on the last."""
        self._on_open, self._on_defect = on_open, on_defect
        self._heartbeat = heartbeat or Heartbeat()
        self._channels: dict[int, Channel] = {}
        self._handlers = asyncio.TaskGroup()
        self._handler_tasks: set[asyncio.Task[None]] = set()
        self._wakeup = asyncio.Event()
        self._greeted = asyncio.Event()
        self._last_heard = 0.0
        self._parting: CodedError | None = None

    async def __aenter__(self) -> Self:
        await self._handlers.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.fail(Cancelled("this side has gone away"))
        # Handlers of failed channels end by themselves unless they wait for something else: that is cancelled.
        for task in list(self._handler_tasks):
            task.cancel()
        await self._handlers.__aexit__(kind, error, trace)

    @property
    def is_up(self) -> bool:
        """Whether both sides have greeted on the current link."""
        return self._greeted.is_set()

    async def wait_up(self) -> Greeted:
        """Waits until both sides have greeted; returns the other side's hello."""
        await self._greeted.wait()
        assert self.greeting is not None
        return self.greeting

    def open(self, kind: str, params: Fields | None = None, *, window: int | None = None) -> Channel:
        """Opens a channel. Without a link it waits for the next.

        Raises:
            TooLarge: the parameters do not fit a frame.
        """
        params = params or {}
        number = self.connection.open(kind, params, window=window)
        channel = self._channels[number] = Channel(self, number, kind, params, 0)
        self.wake()
        return channel

    async def call(self, kind: str, params: Fields | None = None) -> Fields:
        """Opens a channel and waits for its result. Cancelling resets it.

        Raises:
            CodedError: what the other side answered, or what happened to the link.
        """
        channel = self.open(kind, params)
        try:
            return await channel.result()
        except asyncio.CancelledError:
            channel.reset(Cancelled(f"{kind}: the caller gave up"))
            raise

    def fail(self, error: CodedError) -> None:
        """Gives up the session: every channel fails with the error."""
        self._dispatch(self.connection.fail_all(error))
        self._channels.clear()

    def wake(self) -> None:
        """Has the writer look for something to send."""
        self._wakeup.set()

    def forget(self, number: int) -> None:
        """A channel of ours is over; called by the channel itself."""
        self._channels.pop(number, None)

    # Links.

    async def run(self, transport: Transport, *, first: bytes = b"") -> None:
        """Serves one link until it ends, then closes it and raises why. Cancelling ends the link, not the channels.

        Args:
            transport: a fresh link.
            first: a message already received on it, if somebody had to look at it.

        Raises:
            LinkLost: it broke; channels wait for the next link.
            LinkSilent: nothing was heard for the heartbeat's bound; channels wait.
            CodedError: the other side said why it ends the link.
            RemoteProtocolError: the other side broke the protocol; all channels have failed. (Undecodable: they wait.)
        """
        self.connection.link_up()
        self._parting = None
        self._last_heard = asyncio.get_running_loop().time()
        try:
            await self._serve(transport, first)
        except* WireError as group:
            error = _first(group)
        else:
            error = LinkLost("the link ended")
        finally:
            self._greeted.clear()
            self.connection.link_down()
            await transport.close()
        if isinstance(error, RemoteProtocolError) and not isinstance(error, Undecodable):
            self.fail(LinkLost(f"the other side broke the protocol: {error}"))
        raise error

    async def _serve(self, transport: Transport, first: bytes) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._write(transport))
            tasks.create_task(self._listen())
            if first:
                await self._take(transport, first)
            while True:
                await self._take(transport, await transport.receive())

    async def _take(self, transport: Transport, message: bytes) -> None:
        self._last_heard = asyncio.get_running_loop().time()
        try:
            events = self.connection.feed(message)
        except RemoteProtocolError as error:
            await self.part(transport, InternalError(f"protocol error: {error}"))
            raise
        self._dispatch(events)
        if self.connection.has_data_to_send:
            self.wake()
        if self._parting is not None:
            raise self._parting

    async def part(self, transport: Transport, error: CodedError) -> None:
        """Says why the link ends, if the other side takes it within a moment. The caller then ends the link."""
        self.connection.part(error)
        with contextlib.suppress(LinkLost, TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                await transport.send(self.connection.data_to_send())

    async def _write(self, transport: Transport) -> None:
        while True:
            # Cleared before looking: a move during `send` sets it again.
            self._wakeup.clear()
            while data := self.connection.data_to_send(_WRITE_SIZE):
                await transport.send(data)
            await self._wakeup.wait()

    async def _listen(self) -> None:
        """The heartbeat: asks after a quiet interval, gives up after a silent one."""
        clock = asyncio.get_running_loop().time
        beat = self._heartbeat
        asked_at = 0.0
        while True:
            quiet_s = clock() - self._last_heard
            if quiet_s >= beat.silent_after_s:
                raise LinkSilent(f"the other side has not answered for {quiet_s:.0f} s")
            if quiet_s >= beat.interval_s and asked_at <= self._last_heard and self.connection.is_up:
                asked_at = clock()
                self.connection.ping(0)
                self.wake()
            wake_at = self._last_heard + (
                beat.interval_s if quiet_s < beat.interval_s else beat.silent_after_s
            )
            await asyncio.sleep(wake_at - clock())
            if clock() - wake_at > beat.interval_s:
                # It was this process that stood still: what arrived meanwhile is not read yet.
                self._last_heard = clock()

    # Events.

    def _dispatch(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case Received(number, stream, data):
                    if channel := self._channels.get(number):
                        channel.sink.received(stream, data)
                case Acknowledged(number, stream, offset):
                    if channel := self._channels.get(number):
                        channel.sink.acknowledged(stream, offset)
                case Ended(number, stream):
                    if channel := self._channels.get(number):
                        channel.sink.ended(stream)
                case Accepted(number, info, window):
                    if channel := self._channels.get(number):
                        channel.sink.accepted(info, window)
                case Finished(number, result):
                    if channel := self._channels.get(number):
                        channel.sink.finished(result)
                case Confirmed(number):
                    if channel := self._channels.pop(number, None):
                        channel.sink.confirmed()
                case Failed(number, error):
                    if channel := self._channels.pop(number, None):
                        channel.sink.failed(error)
                case Opened():
                    self._serve_channel(event)
                case Greeted():
                    self.greeting = event
                    self._greeted.set()
                case Parted(error):
                    self._parting = error
                case Ponged():
                    pass

    def _serve_channel(self, event: Opened) -> None:
        channel = Channel(self, event.channel, event.kind, event.params, event.window)
        self._channels[event.channel] = channel
        task = self._handlers.create_task(self._handle(channel))
        self._handler_tasks.add(task)
        task.add_done_callback(self._handler_tasks.discard)

    async def _handle(self, channel: Channel) -> None:
        if self._on_open is None:
            channel.reset(Cancelled(f"nobody serves {channel.kind!r} here"))
            return
        try:
            await self._on_open(channel)
        except CodedError as error:
            channel.reset(error)
        except asyncio.CancelledError:
            channel.reset(Cancelled("the other side is going away"))
            raise
        except Exception as error:
            # The edge of a handler: one request's defect must not end the link.
            if self._on_defect is not None:
                self._on_defect(channel, error)
            channel.reset(InternalError(f"{channel.kind}: a defect; the log on that side has the cause"))


def _first(group: BaseExceptionGroup[WireError]) -> WireError:
    """The first plain error of a group: the others are what its end did to the neighbours."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, WireError)
    return error
