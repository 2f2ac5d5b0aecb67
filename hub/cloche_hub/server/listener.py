"""Where clients come in: hello, authentication, sessions.

Rules:
- Nothing is decoded for a stranger but one hello under a deadline; who has no token learns only that.
- The numbers of strangers, of links and of sessions are bounded (`gate`, `max_links`). No token but an admin's can have
  all of them (`max_token_links`), and all others together leave some to admins, who must be able to mend things.
- Whatever a client does ends its own link or its own request, never the listener.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from websockets.asyncio.server import ServerConnection

from cloche_hub.domain.tokens import Scope, Token
from cloche_hub.errors import (
    BadRequest,
    CodedError,
    InternalError,
    ShuttingDown,
    TimedOut,
    TooLarge,
    Unauthenticated,
)
from cloche_hub.server.gate import MAX_STRANGERS, Gate, Stage
from cloche_hub.server.session import Session
from cloche_hub.server.sockets import Tls, listen_tcp, listen_unix
from cloche_hub.setting_values import ListenAddress
from cloche_wire.aio import Channel, Heartbeat, Peer, WebSocketTransport
from cloche_wire.aio.bounds import within
from cloche_wire.connection import Connection
from cloche_wire.errors import RemoteProtocolError
from cloche_wire.frames import Bye, Decoder, Fields, Hello, encode
from cloche_wire.limits import Limits

_log = structlog.get_logger(__name__)

Authenticate = Callable[[str], Awaitable[Token]]
Serve = Callable[[Channel, Token], Awaitable[None]]
Greet = Callable[[Token], Fields]
"""What the hub's hello tells a client as its session begins."""

_SESSION_SIZES = range(16, 65)
_LAST_WORDS_S = 1.0


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
    max_token_links: int
    """Links of one token, and sessions of its that wait for their client's next link."""
    grace_s: float
    """How long a session waits for its client's next link."""
    software: str
    hello_s: float = 10.0
    max_strangers: int = MAX_STRANGERS


class Listener:
    """Accepts clients and serves their channels with `serve_channel`.

    Args:
        options: sockets and bounds.
        authenticate: the token for a text; raises Unauthenticated.
        serve_channel: serves one request of one client.
        greet: what a client is told as its session begins.
    """

    def __init__(
        self,
        options: ListenerOptions,
        authenticate: Authenticate,
        serve_channel: Serve,
        greet: Greet = lambda _token: {},
    ) -> None:
        self._options, self._authenticate, self._serve_channel = options, authenticate, serve_channel
        self._greet_with = greet
        self._gate = Gate(most=options.max_strangers)
        self._sessions: dict[bytes, Session] = {}
        self._links = 0
        self._is_stopping = False
        self._lives = asyncio.TaskGroup()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[list[str]]:
        """Listens for as long as the context lasts; yields the addresses. Leaving it ends all sessions in good order.

        Raises:
            HubError: an address is taken or not ours.
        """
        async with self._lives, contextlib.AsyncExitStack() as stack:
            addresses = await self._listen(stack)
            try:
                yield addresses
            finally:
                self._is_stopping = True
                self._gate.close()
                async with asyncio.TaskGroup() as ends:
                    for session in self._sessions.values():
                        ends.create_task(session.end())

    async def _listen(self, stack: contextlib.AsyncExitStack) -> list[str]:
        options = self._options
        common: dict[str, Any] = {
            "create_connection": self._gate.connection_class(),
            "compression": None,
            "max_size": options.limits.max_message,
            # Two messages: the protocol's credit bounds what is under way, and the reader never waits.
            "max_queue": 2,
            "open_timeout": options.hello_s,
            "close_timeout": 1.0,
            # Silence is noticed by the protocol's own heartbeat, which also works over a serial port.
            "ping_interval": None,
            "origins": [None, *options.origins],
            "server_header": None,
        }
        unix = await listen_unix(stack, options.socket, self._on_socket, **common)
        tls = Tls(options.tls, handshake_s=options.hello_s) if options.tls else None
        tcp = [
            await listen_tcp(stack, address, self._on_socket, tls=tls, **common) for address in options.tcp
        ]
        return [unix, *tcp]

    def expel(self, token_id: str) -> None:
        """Ends every session of a token that is good no more, and what it runs. Waits for nothing."""
        why = Unauthenticated(f"token {token_id} was revoked; ask for another")
        for session in list(self._sessions.values()):
            if session.token.id == token_id and not session.is_over:
                self._lives.create_task(session.end(why))

    # One link.

    async def _on_socket(self, socket: ServerConnection) -> None:
        transport = WebSocketTransport(socket)
        self._gate.reach(socket, Stage.OPEN)
        try:
            session, first = await self._greet(transport, socket)
            self._gate.leave(socket)
            self._links += 1
            try:
                await session.serve(transport, first)
            finally:
                self._links -= 1
        except CodedError as error:
            _log.info("client_refused", code=error.code, reason=error.message)
            self._gate.reach(socket, Stage.REFUSED)
            await self._refuse(transport, error)
        except Exception:
            # The edge of a connection: websockets would print it and go on; so do we, in the log's own form.
            _log.exception("link_defect")
            await self._refuse(transport, InternalError("a defect in the hub; its log has the cause"))
        finally:
            await transport.close()

    async def _greet(self, transport: WebSocketTransport, socket: ServerConnection) -> tuple[Session, bytes]:
        """The session a new link is for, and the hello it began with."""
        try:
            async with within(self._options.hello_s):
                first = await transport.receive()
                hello = self._parse_hello(first)
                self._gate.reach(socket, Stage.ASKING)
                token = await self._authenticate(_token_text(hello))
        except RemoteProtocolError as error:
            raise BadRequest(f"that is no hello: {error}") from None
        except TimeoutError:
            raise TimedOut(f"no hello within {self._options.hello_s:g} s") from None
        # From here on to the session's first link nothing waits, so that nobody comes in between.
        return self._session_of(hello.session, token), first

    def _parse_hello(self, first: bytes) -> Hello:
        hello = next(Decoder(self._options.limits).frames(first), None)
        if not isinstance(hello, Hello):
            raise RemoteProtocolError("the first frame is another one")
        if len(hello.session) not in _SESSION_SIZES:
            raise RemoteProtocolError("its session has too few or too many bytes")
        return hello

    async def _refuse(self, transport: WebSocketTransport, error: CodedError) -> None:
        words = encode(Bye(0, error.code, error.message[:500]), Limits())
        with contextlib.suppress(CodedError, TimeoutError):
            async with within(_LAST_WORDS_S):
                await transport.send(words)

    # Sessions.

    def _session_of(self, session_id: bytes, token: Token) -> Session:
        if self._is_stopping:
            raise ShuttingDown("the hub is going away")
        session = self._sessions.get(session_id)
        if session is not None and session.token.id != token.id:
            raise Unauthenticated("that session is not yours")
        if not (session and session.has_link):
            self._require_room(token)
        if session is None or session.is_over:
            session = self._begin(session_id, token)
        return session

    def _require_room(self, token: Token) -> None:
        """Raises TooLarge unless this token may have another link."""
        most = self._options.max_links
        if token.scope is not Scope.ADMIN:
            most -= _reserve(most)
            own = sum(session.has_link for session in self._sessions_of(token))
            if own >= self._options.max_token_links:
                raise TooLarge(
                    f"this token has {own} links, as many as one may have; close some, "
                    "or have the hub's admin raise max_token_connections"
                )
        if self._links >= most:
            raise TooLarge(f"this hub takes {most} links at once; close some, or raise max_connections")

    def _sessions_of(self, token: Token) -> list[Session]:
        return [session for session in self._sessions.values() if session.token.id == token.id]

    def _begin(self, session_id: bytes, token: Token) -> Session:
        async def on_open(channel: Channel) -> None:
            await self._serve_channel(channel, token)

        self._make_room(token)
        options = self._options
        connection = Connection(
            leader=False, software=options.software, info=self._greet_with(token), limits=options.limits
        )
        peer = Peer(connection, on_open=on_open, heartbeat=options.heartbeat, on_defect=_log_defect)
        session = Session(session_id, token, peer, grace_s=options.grace_s)
        self._sessions[session_id] = session
        self._lives.create_task(self._live(session))
        return session

    def _make_room(self, token: Token) -> None:
        """Sessions without a link are as many as those with one at most; of the token's own, the oldest goes first."""
        waiting = [session for session in self._sessions.values() if not session.has_link]
        own = [session for session in waiting if session.token.id == token.id]
        if token.scope is not Scope.ADMIN and len(own) >= self._options.max_token_links:
            own[0].give_up()
        elif len(waiting) >= self._options.max_links:
            waiting[0].give_up()

    async def _live(self, session: Session) -> None:
        try:
            await session.live()
        except Exception:
            # The edge of a session: a defect in it must not end the others.
            _log.exception("session_defect", token=session.token.id)
        finally:
            # A new one of that name may have begun while this one ended.
            if self._sessions.get(session.session_id) is session:
                del self._sessions[session.session_id]


def _reserve(most: int) -> int:
    """How many of so many links only admins get: some, unless there is but one."""
    return max(most // 16, 1) if most > 1 else 0


def _token_text(hello: Hello) -> str:
    text = hello.info.get("token")
    if not isinstance(text, str):
        raise Unauthenticated("no token; set CLOCHE_TOKEN, or use the hub's admin.token")
    return text


def _log_defect(channel: Channel, error: Exception) -> None:
    _log.error("handler_defect", kind=channel.name, exc_info=error)
