"""One client's session: it outlives its links, so that a client whose link broke goes on where it was.

Rules:
- A session belongs to the token that began it; nobody else can take it up, whatever session id they say.
- A new link replaces the one before it: the client knows better than we do that the old one is dead.
- A session whose token is revoked ends at once, link or not, and no link can take it up any more.
- A session without a link ends after a grace, and at once if its client has said goodbye; then its channels fail, and
  what they held is let go.
"""

from __future__ import annotations

import asyncio

import structlog

from cloche_hub.domain.tokens import Token
from cloche_hub.errors import CodedError, LinkLost, LinkSilent, ShuttingDown
from cloche_hub.services.fair import FairTransport
from cloche_wire.aio import Peer, Transport
from cloche_wire.errors import Undecodable, WireError

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
        self._entered, self._over = asyncio.Event(), asyncio.Event()
        self._is_ending = False
        # Held by the link that is served.
        self._turn = asyncio.Lock()
        # The link that is served, or waits for the one before it to end.
        self._newest: Transport | None = None
        self._waiting: asyncio.TimerHandle | None = None

    async def live(self) -> None:
        """Returns when the session is over: ended, left by its client, or without a link for longer than the grace."""
        async with self._peer:
            self._entered.set()
            await self._over.wait()

    @property
    def is_over(self) -> bool:
        """Whether no link can take it up any more."""
        return self._is_ending or self._over.is_set()

    @property
    def has_link(self) -> bool:
        """Whether its client is there."""
        return self._newest is not None

    async def serve(self, transport: Transport, first: bytes) -> None:
        """Serves one link of this session until it ends.

        Args:
            transport: the link; the caller closes it.
            first: the client's hello, already received.
        """
        replaced, self._newest = self._newest, transport
        self._stop_waiting()
        try:
            await self._entered.wait()
            if replaced is not None:
                await replaced.close()
            async with self._turn:
                # Another one may have come while this one waited.
                if self._newest is transport and not self.is_over:
                    await self._run(transport, first)
        finally:
            if self._newest is transport:
                self._newest = None
                if not self.is_over:
                    self._wait_for_client()

    async def end(self, why: CodedError | None = None) -> None:
        """Ends the session in good order: the client is told why, if it takes that within a moment.

        Args:
            why: what it is told; else that the hub is going away.
        """
        # No link that waits for the one before it is served any more.
        self._is_ending = True
        self._stop_waiting()
        self._peer.fail(why or _GOING_AWAY)
        async with self._turn:
            self._over.set()

    def give_up(self) -> None:
        """Ends a session without a link."""
        self._stop_waiting()
        self._peer.fail(LinkLost(f"the client did not come back within {self._grace_s:g} s"))
        self._over.set()

    async def _run(self, transport: Transport, first: bytes) -> None:
        try:
            await self._peer.run(FairTransport(transport), first=first)
        except WireError as error:
            _log.debug("client_link_ended", token=self.token.id, reason=str(error))
            if not _may_come_back(error):
                self._over.set()

    def _wait_for_client(self) -> None:
        loop = asyncio.get_running_loop()
        self._waiting = loop.call_later(self._grace_s, self.give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def _may_come_back(error: WireError) -> bool:
    """Whether a link that ended so may be followed by another: it broke, rather than being left."""
    if isinstance(error, CodedError):
        return isinstance(error, LinkLost | LinkSilent)
    return isinstance(error, Undecodable)


_GOING_AWAY = ShuttingDown("the hub is going away; start it again with: cloche hub --background")
