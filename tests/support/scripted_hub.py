"""A hub whose answers a test writes: a real websocket server on a Unix socket, with handlers in Python.

    async with ScriptedHub(folder / "hub.sock", {"hub.status": answer({...})}) as hub:
        ...                     # connect to hub.address
        hub.cut()               # every socket breaks; sessions go on when clients come back

What it is for: everything a client meets between itself and a hub. It has no sandboxes; `local_hub` plays those.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, Self

from websockets.asyncio.server import Server, ServerConnection, unix_serve

from cloche_wire.aio import Channel, Heartbeat, Peer, WebSocketTransport
from cloche_wire.connection import Connection
from cloche_wire.errors import CodedError, LinkLost, Unauthenticated, WireError
from cloche_wire.frames import Bye, Decoder, Hello, encode
from cloche_wire.limits import Limits

Handler = Callable[[Channel], Awaitable[None]]

TOKEN = "tok_test"


def answer(result: Mapping[str, Any]) -> Handler:
    """A handler that closes the channel with this result."""

    async def handle(channel: Channel) -> None:
        channel.close(dict(result))

    return handle


def refuse(error: CodedError) -> Handler:
    """A handler that fails."""

    async def handle(_channel: Channel) -> None:
        raise error

    return handle


class ScriptedHub:
    """See the module.

    Args:
        socket: where to listen.
        handlers: request kind → handler; may be changed at any time.
        token: what clients must say.

    Attributes:
        asked: (kind, params) of every channel opened, in order.
        hellos: the hello of every link, in order.
        info: what it says of itself to sessions that begin.
    """

    def __init__(
        self, socket: Path, handlers: dict[str, Handler] | None = None, *, token: str = TOKEN
    ) -> None:
        self.socket, self.handlers, self.token = socket, handlers or {}, token
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.hellos: list[Hello] = []
        self.info: dict[str, Any] = {}
        self._sessions: dict[bytes, _Session] = {}
        self._sockets: set[ServerConnection] = set()
        self._lives = asyncio.TaskGroup()
        self._server: Server | None = None
        self._servers: list[Server] = []
        self._news = asyncio.Condition()

    @property
    def address(self) -> str:
        """What clients connect to."""
        return f"unix://{self.socket}"

    async def __aenter__(self) -> Self:
        await self._lives.__aenter__()
        await self.listen()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.vanish()
        for server in self._servers:
            await server.wait_closed()
        await self._lives.__aexit__(None, None, None)

    async def listen(self) -> None:
        """Accepts clients; called on entering, and again to come back."""
        self._server = await unix_serve(
            self._on_socket,
            str(self.socket),
            compression=None,
            max_size=Limits().max_message,
            ping_interval=None,
        )
        self._servers.append(self._server)

    async def deafen(self) -> None:
        """Accepts nobody any more; links and sessions stay."""
        if self._server is not None:
            self._server.close(close_connections=False)
            self.socket.unlink(missing_ok=True)
            self._server = None

    async def vanish(self) -> None:
        """Is gone, as if killed: links break and sessions are forgotten."""
        await self.deafen()
        self.cut()
        for session in self._sessions.values():
            session.over.set()
        self._sessions.clear()

    def cut(self) -> None:
        """Breaks every link without a word, in the middle of whatever is on it."""
        for socket in list(self._sockets):
            socket.transport.abort()

    def forget(self) -> None:
        """Loses all sessions, as a hub that was started again."""
        for session in self._sessions.values():
            session.over.set()
        self._sessions.clear()

    async def wait_links(self, count: int) -> None:
        """Waits until so many links have been greeted since the beginning."""
        async with asyncio.timeout(10), self._news:
            await self._news.wait_for(lambda: len(self.hellos) >= count)

    async def _on_socket(self, socket: ServerConnection) -> None:
        self._sockets.add(socket)
        transport = WebSocketTransport(socket)
        try:
            await self._serve(transport)
        except CodedError as error:
            with suppress(LinkLost):
                await transport.send(encode(Bye(0, error.code, error.message), Limits()))
        finally:
            self._sockets.discard(socket)
            await transport.close()

    async def _serve(self, transport: WebSocketTransport) -> None:
        first = await transport.receive()
        hello = next(Decoder(Limits()).frames(first))
        assert isinstance(hello, Hello)
        if hello.info.get("token") != self.token:
            raise Unauthenticated("the hub does not know this token")
        session = self._sessions.get(hello.session)
        if session is None:
            session = self._sessions[hello.session] = _Session(self._on_open, self.info)
            self._lives.create_task(session.live())
        async with self._news:
            self.hellos.append(hello)
            self._news.notify_all()
        await session.serve(transport, first)

    async def _on_open(self, channel: Channel) -> None:
        self.asked.append((channel.kind, channel.params))
        handler = self.handlers.get(channel.kind)
        if handler is None:
            raise AssertionError(f"the test's hub has no handler for {channel.kind}")
        await handler(channel)


class _Session:
    """What goes on across a client's links."""

    def __init__(self, on_open: Handler, info: dict[str, Any]) -> None:
        self.over = asyncio.Event()
        self._peer = Peer(
            Connection(leader=False, software="scripted-hub/1", info=info),
            on_open=on_open,
            heartbeat=Heartbeat(5, 20),
        )
        self._ready, self._turn = asyncio.Event(), asyncio.Lock()
        self._transport: WebSocketTransport | None = None

    async def live(self) -> None:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._peer)
            self._ready.set()
            await self.over.wait()

    async def serve(self, transport: WebSocketTransport, first: bytes) -> None:
        await self._ready.wait()
        if self._transport is not None:
            await self._transport.close()
        async with self._turn:
            self._transport = transport
            with suppress(WireError):
                await self._peer.run(transport, first=first)
            self._transport = None
