"""The link to a hub: made, kept up and made again, so that what runs over it goes on.

    async with Link(address, token) as link:
        await link.call("hub.status")

Rules:
- The first connection fails at once and says why; a link that is lost later is looked for until a bound.
- Channels live in the session, not in the link: they go on where they were, or fail with LinkLost at the bound.
- One coroutine (`_live`) owns peer and link. An error that cannot be waited out ends it, and every later call gets it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import secrets
import ssl
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidHandshake

from cloche.config import Address, check_runtime
from cloche.errors import (
    BadRequest,
    Cancelled,
    CodedError,
    Forbidden,
    HubNotRunning,
    InternalError,
    LinkLost,
    LinkSilent,
    Unsupported,
)
from cloche.link_news import LinkNews, OnLink
from cloche.sockets import connect_unix
from cloche.version import VERSION
from cloche_wire.aio import Channel, Handler, Heartbeat, Peer, Transport, WebSocketTransport
from cloche_wire.aio.bounds import within
from cloche_wire.connection import Connection
from cloche_wire.errors import LocalProtocolError, Undecodable, WireError
from cloche_wire.limits import Limits
from cloche_wire.rendezvous import locations

_LAST_WORDS_S = 1.0


class _Connect(connect):
    """A websocket to the address that was given, and to no other."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        # SAFETY: who answers for the hub could send the client, and with it the token, anywhere.
        return exc


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the hub is waited for."""

    connect_s: float = 10.0
    """For the first hello."""
    reconnect_s: float = 30.0
    """For a lost hub to come back."""
    first_delay_s: float = 0.05
    """Before the second attempt; the delay doubles from attempt to attempt."""
    longest_delay_s: float = 2.0


class Link:
    """A connection to a hub that survives its sockets. An async context manager.

    Args:
        address: where the hub listens.
        token: who we are; None to ask without.
        patience: how long to wait for what.
        heartbeat: how silence is noticed.
        on_link: told of what happens to the link once there has been one.
    """

    def __init__(
        self,
        address: Address,
        token: str | None,
        *,
        patience: Patience | None = None,
        heartbeat: Heartbeat | None = None,
        on_link: OnLink | None = None,
    ) -> None:
        self.address = address
        self._patience = patience or Patience()
        self._on_link = on_link or (lambda _news: None)
        self._heartbeat = heartbeat or Heartbeat()
        self._limits = Limits()
        info = {} if token is None else {"token": token}
        self.answerers: dict[str, Handler] = {}
        """By its name, each registration's function that serves the callbacks which the hub makes to it."""
        self._peer = Peer(
            Connection(
                leader=True,
                software=f"cloche/{VERSION}",
                session=secrets.token_bytes(16),
                info=info,
                limits=self._limits,
            ),
            on_open=self._serve_hub,
            heartbeat=self._heartbeat,
        )
        self._transport: Transport | None = None
        self._ended: CodedError | None = None
        self._tasks = asyncio.TaskGroup()
        self._life: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] | None = None

    async def __aenter__(self) -> Self:
        """Connects.

        Raises:
            HubNotRunning: nobody listens there.
            Unauthenticated: the hub does not know the token.
            Unsupported: hub and client speak different protocols.
            LinkSilent: somebody listens and does not answer.
        """
        self._ready = asyncio.get_running_loop().create_future()
        await self._tasks.__aenter__()
        self._life = self._tasks.create_task(self._live(self._ready))
        try:
            await self._ready
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Gives up what is still underway, says goodbye, and ends the link. Idempotent."""
        if self._life is None:
            return
        life, self._life = self._life, None
        self._ended = self._ended or Cancelled("the connection to the hub is closed")
        try:
            await self._part()
        finally:
            self._peer.fail(self._ended)
            life.cancel()
            # Without the caller's error: a task group would wrap it.
            await self._tasks.__aexit__(None, None, None)

    def open(self, kind: str, params: dict[str, Any] | None = None) -> Channel:
        """Opens a channel; while the link is lost it waits for the next.

        Raises:
            BadRequest: the parameters hold what cannot be sent.
            CodedError: the link is closed or has been given up.
        """
        if self._ended is not None:
            raise self._ended
        with _sendable(kind):
            return self._peer.open(kind, params)

    async def call(self, kind: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Asks the hub and waits for its answer. Cancelling tells the hub to give up.

        Raises:
            CodedError: what the hub answered, or what happened to the link.
        """
        if self._ended is not None:
            raise self._ended
        with _sendable(kind):
            return await self._peer.call(kind, params)

    @property
    def is_over(self) -> bool:
        """Whether it is closed or has been given up: `open` raises, and nothing comes of it any more."""
        return self._ended is not None

    @property
    def hub_info(self) -> Mapping[str, Any]:
        """What the hub said of itself in its last hello."""
        return {} if self._peer.greeting is None else self._peer.greeting.info

    def look_after(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs something beside the link. It must raise nothing, and end by itself once `open` raises."""
        self._tasks.create_task(work)

    async def _serve_hub(self, channel: Channel) -> None:
        """Serves a channel that the hub has opened."""
        if channel.kind != "callback":
            raise Unsupported(f"this client ({VERSION}) answers callbacks and no {channel.kind[:60]!r}")
        answerer = self.answerers.get(str(channel.params.get("registration")))
        if answerer is None:
            # It was on its way when the registration was taken back.
            raise Cancelled("the program does not answer this any more")
        await answerer(channel)

    # The life of the link.

    async def _live(self, ready: asyncio.Future[None]) -> None:
        async with self._peer:
            try:
                await self._keep(ready)
            except CodedError as error:
                self._give_up(error, ready)
            except Exception as error:
                # The edge of this task: its defect must reach whoever waits for an answer, not only a log.
                self._give_up(InternalError(f"a defect in the connection to the hub: {error!r}"), ready)

    def _give_up(self, error: CodedError, ready: asyncio.Future[None]) -> None:
        self._ended = self._ended or error
        self._peer.fail(error)
        if not ready.done():
            ready.set_exception(error)

    async def _keep(self, ready: asyncio.Future[None]) -> None:
        """Makes link after link until one cannot be made; always raises."""
        attempts = enumerate(self._delays(), 1)
        try:
            async with within(self._patience.connect_s) as bound:
                self._transport = await self._dial()
                while True:
                    reason = await self._serve(self._transport, bound, ready)
                    self._transport = None
                    if bound.when() is None:
                        bound.reschedule(asyncio.get_running_loop().time() + self._patience.reconnect_s)
                        attempts = enumerate(self._delays(), 1)
                    elif not ready.done():
                        raise reason
                    self._transport = await self._redial(reason, attempts)
        except TimeoutError:
            if not ready.done():
                raise LinkSilent(
                    f"something listens at {self.address.text} and does not answer; see: cloche hub logs"
                ) from None
            raise LinkLost(
                f"the hub at {self.address.text} did not come back within {self._patience.reconnect_s:g} s; "
                "whether unfinished requests were carried out is not known"
            ) from None

    async def _serve(
        self, transport: Transport, bound: asyncio.Timeout, ready: asyncio.Future[None]
    ) -> CodedError:
        """Serves one link to its end and returns why it ended.

        Raises:
            CodedError: it ended for a reason that another link would not mend.
        """
        async with asyncio.TaskGroup() as tasks:
            greeting = tasks.create_task(self._await_greeting(bound, ready))
            error = await self._run(transport)
            greeting.cancel()
        match error:
            case LinkLost() | LinkSilent():
                return error
            case Undecodable():
                return LinkLost(str(error))
            case CodedError():
                raise error
        raise Unsupported(f"this client ({VERSION}) and the hub at {self.address.text} do not match: {error}")

    async def _run(self, transport: Transport) -> WireError:
        try:
            await self._peer.run(transport)
        except WireError as error:
            return error
        return LinkLost("the link ended")

    async def _await_greeting(self, bound: asyncio.Timeout, ready: asyncio.Future[None]) -> None:
        await self._peer.wait_up()
        bound.reschedule(None)
        if ready.done():
            resumed = self._peer.greeting is not None and self._peer.greeting.resumed
            text = (
                "the hub is back; what was underway goes on"
                if resumed
                else "the hub is back, but has forgotten what was underway"
            )
            self._on_link(LinkNews(is_up=True, text=text, resumed=resumed))
        else:
            ready.set_result(None)

    def _away(self, reason: CodedError, attempt: int, delay: float) -> LinkNews:
        text = f"the hub is still away ({reason.message})"
        if attempt == 1:
            seconds = self._patience.reconnect_s
            text = f"lost the hub ({reason.message}); trying to reach it again for {seconds:g} s"
        return LinkNews(
            is_up=False,
            text=text,
            reason=reason.message,
            attempt=attempt,
            next_try_s=delay,
            silent_s=self._heartbeat.silent_after_s if isinstance(reason, LinkSilent) else 0.0,
        )

    def _delays(self) -> Iterator[float]:
        delay = self._patience.first_delay_s
        while True:
            # Spread, so that the clients of a hub that starts again do not all come at once.
            yield delay * random.uniform(0.5, 1.0)  # noqa: S311 - nobody gains from guessing it
            delay = min(2 * delay, self._patience.longest_delay_s)

    async def _redial(self, reason: CodedError, attempts: Iterator[tuple[int, float]]) -> Transport:
        for attempt, delay in attempts:
            self._on_link(self._away(reason, attempt, delay))
            await asyncio.sleep(delay)
            try:
                return await self._dial()
            except (HubNotRunning, LinkSilent) as error:
                reason = error
        raise AssertionError("the delays never end")

    async def _dial(self) -> Transport:
        """A fresh link to the hub, on which nothing has been said.

        Raises:
            HubNotRunning: nobody listens, or no hub.
            Forbidden: this user may not connect.
        """
        options: dict[str, Any] = {
            "compression": None,
            "max_size": self._limits.max_message,
            "max_queue": 4,
            "ping_interval": None,  # the protocol has its own heartbeat
            "close_timeout": _LAST_WORDS_S,
            "open_timeout": None,  # bounded by the caller
        }
        socket = self.address.socket
        try:
            if socket is None:
                return WebSocketTransport(await _Connect(self.address.text, proxy=None, **options))
            if self.address.own:
                check_runtime(locations())
            return WebSocketTransport(
                await _Connect("ws://localhost/", unix=True, sock=await connect_unix(socket), **options)
            )
        except PermissionError:
            raise Forbidden(f"this user may not use the hub at {self.address.text}") from None
        except (OSError, InvalidHandshake, EOFError) as error:
            raise self._unreachable(error) from None

    def _unreachable(self, error: Exception) -> CodedError:
        if isinstance(error, ssl.SSLError):
            return Forbidden(f"the hub at {self.address.text} cannot prove who it is: {error}")
        if isinstance(error, InvalidHandshake | EOFError):
            return HubNotRunning(f"what listens at {self.address.text} is no Cloche hub ({error})")
        if self.address.own:
            return HubNotRunning("no hub is running; start one with: cloche hub --background")
        number = getattr(error, "errno", None) or 0
        # asyncio puts a call in Python's words in place of what the system says; names that are not found have numbers < 0.
        told = os.strerror(number) if number > 0 else getattr(error, "strerror", None)
        reason = told or str(error) or type(error).__name__
        return HubNotRunning(f"no hub answers at {self.address.text} ({reason}); is the address right?")

    async def _part(self) -> None:
        """Tells the hub that nothing more comes, so that it need not wait for us; bounded."""
        transport, connection = self._transport, self._peer.connection
        if transport is None or not connection.is_up:
            return
        for number, channel in list(connection.channels.items()):
            if channel.open_ever_sent:
                connection.reset(number, Cancelled("the client has gone away"))
        with contextlib.suppress(LinkLost, TimeoutError):
            async with within(_LAST_WORDS_S):
                while data := connection.data_to_send():
                    await transport.send(data)
                await self._peer.part(transport, Cancelled("the client has gone away"))


@contextlib.contextmanager
def _sendable(kind: str) -> Iterator[None]:
    try:
        yield
    except LocalProtocolError as error:
        # The caller's mistake and not the protocol's, such as a path with half of a surrogate pair.
        raise BadRequest(f"{kind} cannot be sent: {error}") from None
