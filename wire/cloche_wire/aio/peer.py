"""One side of a link under asyncio: two tasks a link, handlers for what the other side opens, a heartbeat.

    async with Peer(connection, on_open=serve) as peer:
        while True:
            await peer.run(await connect())      # one link; channels wait for the next

Rules:
- The reader never waits for the writer: with one task, two peers over a bounded link can deadlock.
- Channels belong to the peer, not to the link: they go on over the next one, or fail with `fail`.
- `run` ends with the reason; whether to try again is the caller's decision.
- Every wait at a link's end has a bound: last words, the writer's loss, the closing of the transport.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import NoReturn, Self

from cloche_wire.aio.bounds import within
from cloche_wire.aio.channel import Channel
from cloche_wire.aio.heartbeat import Heartbeat, Watch
from cloche_wire.aio.judge import Judge, Trusting
from cloche_wire.aio.reasons import meant_for_caller, reason_of_end, told_to_breaker
from cloche_wire.aio.transports import Transport
from cloche_wire.connection import Connection
from cloche_wire.errors import (
    Cancelled,
    CodedError,
    InternalError,
    LinkLost,
    LocalProtocolError,
    RemoteProtocolError,
    TooLarge,
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
"""Serves a channel the other side has opened, and closes it. A CodedError it raises resets the channel with it.

It is not cancelled when its caller gives up: its next move on the channel raises. Who waits for something else that
may take long also waits for `Channel.wait_confirmed`, which raises then.
"""

_GONE = "this side has gone away"
_LAST_WORDS_S = 1.0
_CLOSE_S = 5.0
# About one DATA frame a message: with more, a whole window leaves in one piece, and each side waits for the other.
# Writes have no bound in time: a far end that takes nothing and says nothing is dropped by the heartbeat.
_WRITE_SIZE = 64 << 10


class Peer:
    """One side of the protocol, over any number of links, one at a time.

    Args:
        connection: the protocol's state.
        on_open: serves channels the other side opens; without it they are refused.
        heartbeat: the bounds for silence.
        on_defect: told of an exception in a handler that is not a CodedError; the channel is reset with `internal`.
            Must not raise.
        judge: weighs what the other side says; without one it is trusted.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        on_open: Handler | None = None,
        heartbeat: Heartbeat | None = None,
        on_defect: Callable[[Channel, Exception], None] | None = None,
        judge: Judge | None = None,
    ) -> None:
        self.connection = connection
        self.greeting: Greeted | None = None
        """The other side's hello on the current link, or on the last."""
        self._on_open, self._on_defect = on_open, on_defect
        self._heartbeat, self._judge = heartbeat or Heartbeat(), judge or Trusting()
        self._channels: dict[int, Channel] = {}
        self._handlers = asyncio.TaskGroup()
        self._handler_tasks: set[asyncio.Task[None]] = set()
        self._wakeup = asyncio.Event()
        self._greeted = asyncio.Event()
        self._watch = Watch(self._heartbeat, now=0.0)
        self._has_link = False
        self._leaving = asyncio.Event()
        # Why this side ends the current link, and why the other one does.
        self._leave_error: CodedError | None = None
        self._part_error: CodedError | None = None
        self._gone = False

    async def __aenter__(self) -> Self:
        await self._handlers.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gone = True
        self.fail(Cancelled(_GONE))
        # Handlers of failed channels end by themselves unless they wait for something else: that is cancelled.
        for task in list(self._handler_tasks):
            task.cancel()
        # Not told of the error: it would come back wrapped in a group.
        await self._handlers.__aexit__(None, None, None)

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
            TooLarge: the parameters do not fit a frame, or too many channels are open.
            Cancelled: the peer has been left (`async with` is over).
        """
        if self._gone:
            raise Cancelled(_GONE)
        params = params or {}
        number = self.connection.open(kind, params, window=window)
        channel = self._channels[number] = Channel(self, number, kind, {}, 0)
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
        """Gives up the session: every channel fails with the error. A link that is up ends with it, told the reason."""
        if self._has_link:
            # A copy: this one is raised, and the caller's may be raised elsewhere.
            self._leave_error = copy.copy(error)
            self._leaving.set()
        self._dispatch(self.connection.fail_all(error))
        # Nobody may be left waiting, even for a channel that the connection counts as settled.
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            channel.sink.failed(error)

    def wake(self) -> None:
        """Has the writer look for something to send."""
        self._wakeup.set()

    def holds(self, channel: Channel) -> bool:
        """Whether a channel is not over yet; called by the channel itself."""
        return self._channels.get(channel.number) is channel

    def forget(self, channel: Channel) -> None:
        """A channel is over; called by the channel itself, while it is held."""
        del self._channels[channel.number]

    # Links.

    async def run(self, transport: Transport, *, first: bytes = b"") -> None:
        """Serves one link until it ends, then closes it and raises why. Cancelling ends the link, not the channels.

        Args:
            transport: a fresh link.
            first: a message already received on it, if somebody had to look at it.

        Raises:
            LinkLost: it broke; channels wait for the next link.
            LinkSilent: nothing was heard for the heartbeat's bound; channels wait.
            CodedError: the other side said why it ends the link, or this side has (`fail`).
            RemoteProtocolError: the other side broke the protocol; all channels have failed. (Undecodable: they wait.)
            LocalProtocolError: another link is still being served.
        """
        if self._has_link:
            raise LocalProtocolError("one link at a time: the one before has not ended yet")
        self._has_link = True
        try:
            error = await self._serve(transport, first)
            await self._say_why(transport, error)
        finally:
            self._greeted.clear()
            self.connection.link_down()
            self._has_link = False
            await _close(transport)
        if isinstance(error, RemoteProtocolError) and not isinstance(error, Undecodable):
            self.fail(self._judge.breach(error))
        raise error

    async def _serve(self, transport: Transport, first: bytes) -> WireError:
        """Reads and writes until the link ends; returns why."""
        self._leaving.clear()
        self._leave_error = self._part_error = None
        if self._gone:
            self._leave_error = Cancelled(_GONE)
            return self._leave_error
        self.connection.link_up()
        self._watch = Watch(self._heartbeat, now=asyncio.get_running_loop().time())
        task = asyncio.current_task()
        assert task is not None
        cancels = task.cancelling()
        error: WireError = LinkLost("the link ended")
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._write(transport))
                tasks.create_task(self._listen())
                tasks.create_task(self._leave())
                await self._read(transport, first)
        except* WireError as group:
            error = reason_of_end(group)
        if task.cancelling() > cancels:
            # The group prefers an error of the same moment, but who cancels must not be taken for a lost link.
            raise asyncio.CancelledError
        return error

    async def _read(self, transport: Transport, first: bytes) -> NoReturn:
        if first:
            self._take(first)
        while True:
            self._take(await transport.receive())

    def _take(self, message: bytes) -> None:
        if self._leave_error is not None:
            # What the other side says of channels that have failed here would look like a breach.
            raise self._leave_error
        self._watch.heard(now=asyncio.get_running_loop().time())
        self._dispatch(self.connection.feed(message))
        if self._part_error is not None:
            raise self._part_error
        if self.connection.has_data_to_send:
            self.wake()

    async def _write(self, transport: Transport) -> None:
        try:
            while True:
                # Cleared before looking: a move during `send` sets it again.
                self._wakeup.clear()
                while data := self.connection.data_to_send(_WRITE_SIZE):
                    await transport.send(data)
                await self._wakeup.wait()
        except LinkLost:
            # Why the other side went may still be unread: the reader, which ends the link too, has the better reason.
            await asyncio.sleep(_LAST_WORDS_S)
            raise

    async def _leave(self) -> None:
        """Ends the link when this side wants to, even while the writer waits."""
        await self._leaving.wait()
        assert self._leave_error is not None
        raise self._leave_error

    async def _listen(self) -> None:
        """The heartbeat: asks after a quiet interval, gives up after a silent one."""
        clock = asyncio.get_running_loop().time
        while True:
            asks, wait_s = self._watch.look(now=clock(), may_ask=self.connection.is_up)
            if asks:
                self.connection.ping(0)
                self.wake()
            await asyncio.sleep(wait_s)

    async def _say_why(self, transport: Transport, error: WireError) -> None:
        """Tells the other side why the link ends, unless it knows."""
        if isinstance(error, RemoteProtocolError):
            await self.part(transport, told_to_breaker(error))
        elif error is self._leave_error:
            await self.part(transport, self._leave_error)

    async def part(self, transport: Transport, error: CodedError) -> None:
        """Says why the link ends, if the other side takes it within a moment. The caller then ends it.

        For the end of the session as well: `fail` does both.
        """
        self.connection.part(error)
        with contextlib.suppress(LinkLost, TimeoutError):
            async with within(_LAST_WORDS_S):
                await transport.send(self.connection.data_to_send(_WRITE_SIZE))

    # Events.

    def _dispatch(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case Opened():
                    self._serve_channel(event)
                case Greeted():
                    self._judge.greeted(event)
                    self.greeting = event
                    self._greeted.set()
                case Parted(error):
                    self._part_error = self._judge.error(error)
                case Ponged():
                    pass
                case _:
                    # What an event before this one made us give up is nobody's any more.
                    if channel := self._channels.get(event.channel):
                        self._tell(channel, event)

    def _tell(
        self,
        channel: Channel,
        event: Received | Acknowledged | Ended | Accepted | Finished | Confirmed | Failed,
    ) -> None:
        match event:
            case Received(_, stream, data):
                channel.sink.received(stream, data)
            case Acknowledged(_, stream, offset):
                channel.sink.acknowledged(stream, offset)
            case Ended(_, stream):
                channel.sink.ended(stream)
            case Accepted(_, info, window):
                channel.sink.accepted(info, window)
            case Finished(_, result):
                channel.sink.finished(result)
            case Confirmed():
                self.forget(channel)
                channel.sink.confirmed()
            case _:
                self.forget(channel)
                channel.sink.failed(self._judge.error(event.error) if event.by_peer else event.error)

    def _serve_channel(self, event: Opened) -> None:
        channel = Channel(self, event.channel, event.kind, event.params, event.window)
        self._channels[event.channel] = channel
        if len(self._handler_tasks) >= self.connection.limits.max_channels:
            # A caller that gives up leaves a handler which may still be busy: these must not pile up either.
            channel.reset(TooLarge(f"{channel.name}: too many requests are under way"))
            return
        task = self._handlers.create_task(self._handle(channel))
        self._handler_tasks.add(task)
        task.add_done_callback(self._handler_tasks.discard)

    async def _handle(self, channel: Channel) -> None:
        try:
            if self._on_open is None:
                raise Cancelled(f"nobody serves {channel.name!r} here")
            await self._on_open(channel)
            if not channel.is_answered:
                raise LocalProtocolError(
                    f"the handler of {channel.name!r} has ended without closing its channel"
                )
        except asyncio.CancelledError:
            channel.reset(Cancelled("the other side is going away"))
            raise
        except Exception as error:
            # The edge of a handler: one request's defect must not end the link.
            coded = meant_for_caller(error)
            if coded is None:
                coded = InternalError(f"{channel.name}: a defect; the log on that side has the cause")
                if self._on_defect is not None:
                    self._on_defect(channel, error)
            channel.reset(coded)
        finally:
            channel.forget_request()


async def _close(transport: Transport) -> None:
    # The link is over and its reason known: how it closes, or whether it can, changes nothing.
    with contextlib.suppress(LinkLost, OSError):
        async with within(_CLOSE_S):
            await transport.close()
