"""One client's session: it outlives its links, so that a client whose link broke goes on where it was.

Rules:
- A session belongs to the token that began it; nobody else can take it up, whatever session id they say.
- A new link replaces the one before it: the client knows better than we do that the old one is dead.
- A session without a link ends after a grace; then its channels fail, and what they held is let go.
"""

from __future__ import annotations

import asyncio

import structlog

from cloche_hub.domain.tokens import Token
from cloche_hub.errors import LinkLost, ShuttingDown
from cloche_wire.aio import Peer, Transport
from cloche_wire.errors import WireError

_log = structlog.get_logger(__name__)


class Session:
    """A client's state across links.

    Args:
        session_id: the client's name for it.
        token: who the client is.
        peer: entered for as long as `live` runs.
        grace_s: how long it waits for a new link.
    """

    def __init__(self, session_id: bytes, token: Token, peer: Peer, *, grace_s: float) -> None:
        self.session_id, self.token = session_id, token
        self._peer, self._grace_s = peer, grace_s
        self._turn = asyncio.Lock()
        self._entered = asyncio.Event()
        self._transport: Transport | None = None
        # One of the two is set at any time; the end of the session sets both.
        self._linked, self._idle = asyncio.Event(), asyncio.Event()
        self._idle.set()
        self._over = False

    async def live(self) -> None:
        """Returns when the session is over: ended, or without a link for longer than the grace."""
        self._entered.set()
        while not self._over:
            try:
                async with asyncio.timeout(self._grace_s):
                    await self._linked.wait()
            except TimeoutError:
                self._over = True
                self._peer.fail(LinkLost(f"the client did not come back within {self._grace_s:g} s"))
                return
            await self._idle.wait()

    async def serve(self, transport: Transport, first: bytes) -> None:
        """Serves one link of this session until it ends.

        Args:
            transport: the link.
            first: the client's hello, already received.
        """
        await self._entered.wait()
        if self._transport is not None:
            await self._transport.close()
        async with self._turn:
            if self._over:
                await transport.close()
                return
            self._transport = transport
            self._idle.clear()
            self._linked.set()
            try:
                await self._peer.run(transport, first=first)
            except WireError as error:
                _log.debug("client_link_ended", token=self.token.id, reason=str(error))
            finally:
                self._transport = None
                if not self._over:
                    self._linked.clear()
                self._idle.set()

    async def end(self) -> None:
        """Ends the session in good order: the client is told why."""
        self._over = True
        self._peer.fail(_GOING_AWAY)
        if self._transport is not None:
            await self._peer.part(self._transport, _GOING_AWAY)
            await self._transport.close()
        self._linked.set()
        self._idle.set()


_GOING_AWAY = ShuttingDown("the hub is going away; start it again with: cloche hub --background")
