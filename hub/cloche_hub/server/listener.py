"""Where clients come in: sockets, hello, authentication, sessions. The only module that knows websockets.

Rules:
- Nothing is decoded for a stranger but one hello under a deadline; who has no token learns only that.
- The number of links is bounded, so strangers who say nothing cannot keep clients out for longer than that deadline.
- The Unix socket is 0600 in a directory of ours; TCP is opened only where settings ask for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from websockets.asyncio.server import Server, ServerConnection, serve, unix_serve

from cloche_hub.domain.tokens import Token
from cloche_hub.errors import CodedError, HubError, ShuttingDown, TooLarge, Unauthenticated
from cloche_hub.server.session import Session
from cloche_hub.settings import ListenAddress
from cloche_wire.aio import Channel, Heartbeat, Peer, WebSocketTransport
from cloche_wire.connection import Connection
from cloche_wire.errors import RemoteProtocolError
from cloche_wire.frames import Bye, Decoder, Hello, encode
from cloche_wire.limits import Limits

_log = structlog.get_logger(__name__)

Authenticate = Callable[[str], Awaitable[Token]]
Serve = Callable[[Channel, Token], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ListenerOptions:
    """What the listener needs of the settings."""

    socket: Path
    tcp: tuple[ListenAddress, ...]
    tls: ssl.SSLContext | None
    origins: tuple[str, ...]
    """Web pages that may connect; a client that is no browser sends none and is not concerned."""
    limits: Limits
    heartbeat: Heartbeat
    max_links: int
    grace_s: float
    """How long a session waits for its client's next link."""
    software: str
    hello_s: float = 10.0


class Listener:
    """Accepts clients and serves their channels with `serve_channel`.

    Args:
        options: sockets and bounds.
        authenticate: the token for a text; raises Unauthenticated.
        serve_channel: serves one request of one client.
    """

    def __init__(self, options: ListenerOptions, authenticate: Authenticate, serve_channel: Serve) -> None:
        self._options, self._authenticate, self._serve_channel = options, authenticate, serve_channel
        self._sessions: dict[bytes, Session] = {}
        self._links = 0
        self._stopping = False
        self._lives = asyncio.TaskGroup()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[list[str]]:
        """Listens for as long as the context lasts; yields the addresses. Leaving it ends all sessions in good order.

        Raises:
            HubError: an address is taken or not ours.
        """
        async with self._lives, contextlib.AsyncExitStack() as stack:
            addresses = [
                await self._listen_unix(stack),
                *[await self._listen_tcp(stack, address) for address in self._options.tcp],
            ]
            try:
                yield addresses
            finally:
                self._stopping = True
                async with asyncio.TaskGroup() as ends:
                    for session in list(self._sessions.values()):
                        ends.create_task(session.end())

    async def _listen_unix(self, stack: contextlib.AsyncExitStack) -> str:
        path = self._options.socket
        # SAFETY: the directory is checked to be ours and closed to others before anything is created in it, so
        # nobody can put a socket of theirs in our place or connect before the mode is set.
        _own_directory(path.parent)
        path.unlink(missing_ok=True)
        server = await unix_serve(self._on_socket, str(path), **self._common())
        stack.callback(path.unlink, missing_ok=True)
        stack.push_async_callback(_close, server)
        path.chmod(0o600)
        return f"unix://{path}"

    async def _listen_tcp(self, stack: contextlib.AsyncExitStack, address: ListenAddress) -> str:
        tls = self._options.tls
        try:
            server = await serve(
                self._on_socket,
                address.host,
                address.port,
                ssl=tls,
                **self._common(),
            )
        except OSError as error:
            raise HubError(f"cannot listen on {address}: {error.strerror}") from error
        stack.push_async_callback(_close, server)
        host, port = next(iter(server.sockets)).getsockname()[:2]
        return f"{'wss' if tls else 'ws'}://{f'[{host}]' if ':' in host else host}:{port}"

    def _common(self) -> dict[str, Any]:
        limits = self._options.limits
        return {
            "compression": None,
            "max_size": limits.max_message,
            # Two messages: the protocol's credit bounds what is underway, and the reader never waits.
            "max_queue": 2,
            "open_timeout": self._options.hello_s,
            "close_timeout": 1.0,
            # Silence is noticed by the protocol's own heartbeat, which also works over a serial port.
            "ping_interval": None,
            "origins": [None, *self._options.origins],
            "server_header": None,
        }

    async def _on_socket(self, socket: ServerConnection) -> None:
        transport = WebSocketTransport(socket)
        self._links += 1
        try:
            if self._stopping:
                raise ShuttingDown("the hub is going away")
            if self._links > self._options.max_links:
                raise TooLarge(
                    f"this hub takes {self._options.max_links} links at once; close some, or raise max_links"
                )
            await self._greet(transport)
        except CodedError as error:
            with contextlib.suppress(CodedError, TimeoutError):
                async with asyncio.timeout(1.0):
                    await transport.send(encode(Bye(0, error.code, error.message), self._options.limits))
        except (RemoteProtocolError, TimeoutError) as error:
            _log.info("stranger_refused", reason=str(error) or "no hello in time")
        finally:
            self._links -= 1
            await transport.close()

    async def _greet(self, transport: WebSocketTransport) -> None:
        async with asyncio.timeout(self._options.hello_s):
            first = await transport.receive()
        hello = next(Decoder(self._options.limits).frames(first), None)
        if not isinstance(hello, Hello):
            raise RemoteProtocolError("the first frame is not a hello")
        text = hello.info.get("token")
        if not isinstance(text, str):
            raise Unauthenticated("no token; set CLOCHE_TOKEN, or use the hub's admin.token")
        token = await self._authenticate(text)
        session = self._sessions.get(hello.session)
        if session is not None and session.token.id != token.id:
            raise Unauthenticated("that session is not yours")
        if session is None:
            session = self._begin(hello.session, token)
        await session.serve(transport, first)

    def _begin(self, session_id: bytes, token: Token) -> Session:
        async def on_open(channel: Channel) -> None:
            await self._serve_channel(channel, token)

        options = self._options
        connection = Connection(leader=False, software=options.software, limits=options.limits)
        peer = Peer(connection, on_open=on_open, heartbeat=options.heartbeat, on_defect=_log_defect)
        session = Session(session_id, token, peer, grace_s=options.grace_s)
        self._sessions[session_id] = session
        self._lives.create_task(self._live(session, peer))
        return session

    async def _live(self, session: Session, peer: Peer) -> None:
        try:
            async with peer:
                await session.live()
        finally:
            del self._sessions[session.session_id]


async def _close(server: Server) -> None:
    server.close(close_connections=True)
    await server.wait_closed()


def _own_directory(path: Path) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.stat(follow_symlinks=False)

    if status.st_uid != os.geteuid():
        raise HubError(
            f"{path} belongs to user {status.st_uid}; remove it, or set CLOCHE_HOME or XDG_RUNTIME_DIR"
        )
    path.chmod(0o700)


def _log_defect(channel: Channel, error: Exception) -> None:
    _log.error("handler_defect", kind=channel.kind, exc_info=error)
