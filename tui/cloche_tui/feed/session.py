"""The dashboard's connection to its hub: made, kept, and made again for as long as the dashboard runs.

    session = Session(connect, app.post_message)
    await session.run()                      # in a worker: it ends by being cancelled
    sandbox = await session.hub.sandbox(id)  # anywhere: raises NotConnected while the hub is away

Rules:
- A link that breaks is the SDK's to mend first: what is underway goes on. Only what it gives up is begun anew here.
- What happens is told, never raised: `LinkChanged`, `Begun` and `EventsArrived`.
- While the hub is away nothing is asked of it: what a person does then is refused at once and not done late.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cloche import HubStatus, LinkNews
from cloche.aio import Hub
from cloche.aio.pending import Pending
from cloche.errors import (
    BadRequest,
    CodedError,
    Forbidden,
    LinkLost,
    LinkSilent,
    TooLarge,
    Unauthenticated,
    Unsupported,
)
from cloche.link_news import OnLink
from cloche_tui.feed.events import Post, follow_events
from cloche_tui.messages import LinkChanged
from cloche_tui.model.link import (
    Answered,
    Broke,
    Connecting,
    Failed,
    Happening,
    LinkState,
    Lost,
    Up,
    after,
    duration,
)
from cloche_wire.aio.bounds import within

Connect = Callable[[OnLink], Pending[Hub]]
"""Makes a connection that tells its news."""

_REFUSALS = (BadRequest, Forbidden, Unauthenticated, Unsupported)
"""What time alone seldom mends."""

_ANSWER_S = 10.0


class NotConnected(CodedError):
    """The hub is away, so nothing can be asked of it now."""

    code = "not_connected"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited before the next attempt to connect."""

    first_s: float = 0.2
    """The delay doubles from attempt to attempt."""
    longest_s: float = 5.0
    refused_s: float = 30.0
    """After the hub has refused us, as with a token that is revoked: somebody has to do something first."""

    def delays(self) -> Iterator[float]:
        """Each delay; spread, so that the dashboards of a hub that starts again do not all come at once."""
        delay = self.first_s
        while True:
            yield delay * random.uniform(0.5, 1.0)  # noqa: S311 - nobody gains from guessing it
            delay = min(2 * delay, self.longest_s)


class Session:
    """See the module.

    Args:
        connect: makes a connection.
        post: tells the app; must not block.
        patience: how long is waited between attempts.
        now: the time of day.
    """

    def __init__(
        self,
        connect: Connect,
        post: Post,
        *,
        patience: Patience | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.state: LinkState = Connecting()
        """The connection as it is."""
        self._connect, self._post, self._now = connect, post, now
        self._patience = patience or Patience()
        self._delays = self._patience.delays()
        self._hub: Hub | None = None
        self._status: HubStatus | None = None
        self._up, self._hurry = asyncio.Event(), asyncio.Event()

    @property
    def is_up(self) -> bool:
        """Whether the hub answers."""
        return isinstance(self.state, Up)

    @property
    def hub(self) -> Hub:
        """The connection, to ask of it now; do not keep it.

        Raises:
            NotConnected: the hub is away.
        """
        if self._hub is not None and self.is_up:
            return self._hub
        if isinstance(self.state, Lost):
            ago = duration(self._now() - self.state.since)
            raise NotConnected(f"the connection to the hub was lost {ago} ago; it is being looked for")
        raise NotConnected("there is no connection to the hub yet")

    async def wait_hub(self) -> Hub:
        """The connection, as soon as the hub answers. Unbounded; cancelling loses nothing."""
        while not self.is_up or self._hub is None:
            await self._up.wait()
        return self._hub

    def try_now(self) -> None:
        """Makes the next attempt to connect at once."""
        self._hurry.set()

    async def run(self) -> None:
        """Keeps the connection for ever."""
        while True:
            try:
                async with self._connect(self._on_link) as hub:
                    await self._serve(hub)
            except CodedError as error:
                await self._wait_after(error)

    async def _serve(self, hub: Hub) -> None:
        """Follows what a hub tells; always raises."""
        self._hub = hub
        try:
            while True:
                # Asked for anew each time: the hub behind a link that has come back may be another program by now.
                self._status = await _status(hub)
                self._move(Answered(self._now(), hub.address, self._status))
                # The connection may be good even so: asking for its status tells.
                with contextlib.suppress(LinkLost, TooLarge):
                    await follow_events(hub, self._post)
                await asyncio.sleep(self._patience.first_s)
        finally:
            self._hub = None
            self._up.clear()

    def _on_link(self, news: LinkNews) -> None:
        """Something has happened to the link that the SDK looks after."""
        if not news.is_up:
            next_try_at = self._now() + timedelta(seconds=news.next_try_s)
            self._move(
                Broke(self._now(), news.reason, silent_s=news.silent_s, next_try_at=next_try_at)
                if self.is_up
                else Failed(news.reason, next_try_at)
            )
        elif news.resumed and self._hub is not None and self._status is not None:
            self._move(Answered(self._now(), self._hub.address, self._status))

    async def _wait_after(self, error: CodedError) -> None:
        """There is no connection any more, or none yet: says so, and waits until the next attempt is due."""
        delay = self._patience.refused_s if isinstance(error, _REFUSALS) else next(self._delays)
        now = self._now()
        next_try_at = now + timedelta(seconds=delay)
        self._hurry.clear()
        self._move(
            Broke(now, error.message, next_try_at=next_try_at)
            if self.is_up
            else Failed(error.message, next_try_at)
        )
        with contextlib.suppress(TimeoutError):
            async with within(delay):
                await self._hurry.wait()

    def _move(self, happening: Happening) -> None:
        before, self.state = self.state, after(self.state, happening)
        if not self.is_up:
            self._up.clear()
        elif not isinstance(before, Up):
            self._delays = self._patience.delays()
            self._up.set()
        if self.state != before:
            self._post(LinkChanged(self.state))


async def _status(hub: Hub) -> HubStatus:
    try:
        async with within(_ANSWER_S):
            return await hub.status()
    except TimeoutError:
        raise LinkSilent("the hub listens and does not answer; see: cloche hub logs") from None
