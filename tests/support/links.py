"""Peers joined by real links of every kind, links that break where a test wants, and a far end played by hand.

    async with open_links("websocket", tmp_path) as links, joined(links, on_open=serve) as pair:
        await pair.link()
        channel = pair.leader.open("exec")
        ...
        await pair.cut()
        await pair.link()

Rules:
- Nothing here waits for time. `quiet` proves that nothing can happen any more until somebody moves.
- A cut loses what is on its way in both directions, as a pulled cable does, and is seen by both ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from websockets.asyncio.client import unix_connect
from websockets.asyncio.connection import Connection as WebSocket
from websockets.asyncio.server import ServerConnection, unix_serve

from cloche_wire.aio import Channel, Handler, Heartbeat, MemoryTransport, Peer, StreamTransport, Transport
from cloche_wire.aio.transports import WebSocketTransport
from cloche_wire.connection import Connection
from cloche_wire.errors import LinkLost, WireError
from cloche_wire.frames import Decoder, Frame, encode
from cloche_wire.limits import Limits

F = TypeVar("F", bound=Frame)
T = TypeVar("T")

KINDS = ("memory", "websocket", "stream")
SESSION = b"session-of-tests"
SMALL = Limits(
    max_frame=1000,
    max_message=3000,
    max_channels=8,
    max_items=64,
    window=64,
    max_peer_window=1024,
    least_window=64,
    least_peer_window=64,
    chunk=16,
)
"""A flow of some hundred bytes takes many messages and many acknowledgements."""


@dataclass(frozen=True, slots=True)
class Link:
    """Both ends of one fresh link."""

    leader: Transport
    follower: Transport
    sever: Callable[[], None]
    """Breaks it at once. What has reached an end may still be read there."""


class Links:
    """Makes fresh links of one kind; from `open_links`."""

    def __init__(self, kind: str, make: Callable[[], Awaitable[Link]]) -> None:
        self.kind, self.make = kind, make


@contextlib.asynccontextmanager
async def open_links(kind: str, folder: Path, *, limits: Limits | None = None) -> AsyncIterator[Links]:
    """Links of a kind, for as long as the context lasts.

    Args:
        kind: one of `KINDS`.
        folder: where a websocket's server gets its socket.
        limits: what a byte stream's ends hold each other to.
    """
    made: list[Link] = []

    async def make_and_note() -> Link:
        made.append(await make())
        return made[-1]

    async with contextlib.AsyncExitStack() as stack:
        make: Callable[[], Awaitable[Link]] = _memory_link
        if kind == "websocket":
            make = await stack.enter_async_context(_websocket_links(folder))
        elif kind == "stream":
            make = functools.partial(stream_link, limits)
        try:
            yield Links(kind, make_and_note)
        finally:
            for link in made:
                link.sever()


def memory_link(*, depth: int = 4) -> Link:
    """A link in memory that holds so many messages each way."""
    leader, follower = MemoryTransport.pair(depth=depth)

    def sever() -> None:
        for pipe in (leader._inbox, leader._outbox):
            pipe.close()

    return Link(leader, follower, sever)


async def _memory_link() -> Link:
    return memory_link()


async def stream_link(limits: Limits | None = None) -> Link:
    """A byte stream whose two ends are in step."""
    (reader, writer), (far_reader, far_writer) = await stream_pair()
    leader = StreamTransport(reader, writer, leader=True, limits=limits)
    follower = StreamTransport(far_reader, far_writer, leader=False, limits=limits)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(follower.synced())
        tasks.create_task(leader.sync(attempt_s=10, deadline_s=20))

    def sever() -> None:
        writer.transport.abort()
        far_writer.transport.abort()

    return Link(leader, follower, sever)


Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def stream_pair() -> tuple[Stream, Stream]:
    """The two ends of a byte stream."""
    near, far = socket.socketpair()
    return await asyncio.open_connection(sock=near), await asyncio.open_connection(sock=far)


@contextlib.asynccontextmanager
async def _websocket_links(folder: Path) -> AsyncIterator[Callable[[], Awaitable[Link]]]:
    path = str(folder / "ws.sock")
    arrived: asyncio.Queue[ServerConnection] = asyncio.Queue()

    async def on_socket(connection: ServerConnection) -> None:
        await arrived.put(connection)
        await connection.wait_closed()

    options: dict[str, Any] = {
        "compression": None,
        "ping_interval": None,
        "max_size": 4 << 20,
        "max_queue": 2,
    }
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(unix_serve(on_socket, path, **options))

        async def make() -> Link:
            client = await unix_connect(path, "ws://localhost/", **options)
            served = await arrived.get()
            stack.callback(client.transport.abort)

            def sever() -> None:
                client.transport.abort()
                served.transport.abort()

            return Link(_transport(client), _transport(served), sever)

        yield make
        server.close(close_connections=True)


def _transport(connection: WebSocket) -> Transport:
    return WebSocketTransport(connection)


class Fuse:
    """Breaks a link after a number of messages, counted over both directions."""

    def __init__(self, link: Link, after: int | None = None) -> None:
        self._sever, self._left = link.sever, after
        self.is_blown = False
        self.count = 0
        """Messages that have passed."""
        self.leader = _Fused(link.leader, self)
        self.follower = _Fused(link.follower, self)

    def burn(self) -> None:
        """One message more."""
        self.count += 1
        if self._left is not None and self.count > self._left:
            self.blow()
        self.check()

    def blow(self) -> None:
        """Cuts the link now."""
        self.is_blown = True
        self._sever()

    def check(self) -> None:
        """Raises LinkLost once the link is cut."""
        if self.is_blown:
            raise LinkLost("the cable was pulled")


class _Fused:
    """One end of a link with a fuse."""

    def __init__(self, end: Transport, fuse: Fuse) -> None:
        self._end, self._fuse = end, fuse

    async def send(self, message: bytes) -> None:
        self._fuse.burn()
        await self._end.send(message)

    async def receive(self) -> bytes:
        message = await self._end.receive()
        self._fuse.check()
        return message

    async def close(self) -> None:
        await self._end.close()


@dataclass
class Run:
    """One peer's `run` on one link."""

    task: asyncio.Task[None]
    ended: list[WireError] = field(default_factory=list)

    async def reason(self) -> WireError:
        """Why it ended, once it has."""
        await asyncio.wait({self.task})
        return self.ended[0]


class Pair:
    """Two peers and the links between them; from `joined`."""

    def __init__(self, links: Links, leader: Peer, follower: Peer, tasks: asyncio.TaskGroup) -> None:
        self.leader, self.follower = leader, follower
        self._links, self._tasks = links, tasks
        self.fuse: Fuse | None = None
        self.runs: tuple[Run, Run] | None = None
        self.links_made = 0

    async def link(self, *, cut_after: int | None = None) -> None:
        """Joins the peers by a fresh link.

        Args:
            cut_after: how many messages it lives for.
        """
        self.fuse = Fuse(await self._links.make(), cut_after)
        self.links_made += 1
        self.runs = (self.start(self.leader, self.fuse.leader), self.start(self.follower, self.fuse.follower))

    def start(self, peer: Peer, transport: Transport, *, first: bytes = b"") -> Run:
        """Has a peer serve a link in a task."""

        async def serve() -> None:
            try:
                await peer.run(transport, first=first)
            except WireError as error:
                run.ended.append(error)

        run = Run(self._tasks.create_task(serve()))
        return run

    async def cut(self) -> tuple[WireError, WireError]:
        """Breaks the link; returns why each side thinks it ended."""
        assert self.fuse is not None
        self.fuse.blow()
        return await self.ended()

    async def ended(self) -> tuple[WireError, WireError]:
        """Waits until both sides have noticed the link's end; returns why, the leader first."""
        assert self.runs is not None
        return await self.runs[0].reason(), await self.runs[1].reason()

    async def keep_up(self, *, cut_after: int | None = None) -> None:
        """Links the peers again and again; each link lives for `cut_after` messages. Cancel it."""
        while True:
            await self.link(cut_after=cut_after)
            await self.ended()


@contextlib.asynccontextmanager
async def joined(
    links: Links,
    *,
    on_open: Handler | None = None,
    on_open_at_leader: Handler | None = None,
    limits: Limits | None = None,
    follower_limits: Limits | None = None,
    session: bytes = SESSION,
    heartbeat: Heartbeat | None = None,
    on_defect: Callable[[Channel, Exception], None] | None = None,
) -> AsyncIterator[Pair]:
    """Two peers that are not linked yet. On leaving, links are cut and the peers end."""
    near = Connection(leader=True, software="leader/1", session=session, limits=limits)
    far = Connection(leader=False, software="follower/1", limits=follower_limits or limits)
    async with (
        Peer(near, on_open=on_open_at_leader, heartbeat=heartbeat, on_defect=on_defect) as leader,
        Peer(far, on_open=on_open, heartbeat=heartbeat, on_defect=on_defect) as follower,
        asyncio.TaskGroup() as tasks,
    ):
        pair = Pair(links, leader, follower, tasks)
        try:
            yield pair
        finally:
            if pair.fuse is not None:
                pair.fuse.blow()


class Stranger:
    """A far end played by hand: says frames, hears frames. Only its hello is the real one's."""

    def __init__(self, transport: Transport, *, leader: bool = False, limits: Limits | None = None) -> None:
        self.transport, self._limits = transport, limits or Limits()
        self._connection = Connection(
            leader=leader,
            software="stranger/1",
            session=SESSION if leader else b"",
            limits=limits,
        )
        self._heard: deque[Frame] = deque()
        self._decoder = Decoder(self._limits)

    async def greets(self) -> None:
        """Exchanges hellos. A stranger has no state: on its second link too it begins anew."""
        self._connection.fail_all(LinkLost("a stranger forgets"))
        self._connection.link_up()
        if self._connection.leader:
            await self.transport.send(self._connection.data_to_send())
        self._connection.feed(await self.transport.receive())
        if not self._connection.leader:
            await self.transport.send(self._connection.data_to_send())

    async def says(self, *frames: Frame) -> None:
        """Sends frames in one message."""
        await self.transport.send(b"".join(encode(frame, self._limits) for frame in frames))

    async def hears(self, kind: type[F]) -> F:
        """The next frame of a kind; what comes before it is passed over."""
        while True:
            while self._heard:
                frame = self._heard.popleft()
                if isinstance(frame, kind):
                    return frame
            self._heard.extend(self._decoder.frames(await self.transport.receive()))


async def outcome(wait: Awaitable[T]) -> T | WireError:
    """What a wait gives or the error it ends with, for tasks whose failure is the test's to judge."""
    try:
        return await wait
    except WireError as error:
        return error


async def quiet() -> None:
    """Returns when nothing can happen any more without a move of the test or a timer."""
    loop = cast(Any, asyncio.get_running_loop())
    calm = 0
    # Each round polls the sockets once. A local socket hands its bytes over at once, so a few calm rounds are proof.
    while calm < 4:
        await asyncio.sleep(0)
        calm = 0 if loop._ready else calm + 1
