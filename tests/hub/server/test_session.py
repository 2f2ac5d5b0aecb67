"""A client's session across links, without a hub around it: links in memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from cloche_hub.domain.tokens import Scope, Token
from cloche_hub.errors import Cancelled, CodedError, Unauthenticated
from cloche_hub.server.session import Session
from cloche_wire.aio import Channel, Heartbeat, MemoryTransport, Peer
from cloche_wire.connection import Connection
from cloche_wire.errors import WireError
from tests.support.fake_images import LONG_AGO
from tests.support.hub import until, within

ID = b"0123456789abcdef"
TOKEN = Token("tok_a", "test", "me", Scope.OWNER, "0" * 64, LONG_AGO)


class Ends:
    """A session, and a client of it that makes one link after another."""

    def __init__(self, tasks: asyncio.TaskGroup, *, grace_s: float) -> None:
        self._tasks = tasks
        hub = Peer(Connection(leader=False, software="hub/1"), on_open=self._serve, heartbeat=Heartbeat())
        self.client = Peer(Connection(leader=True, software="client/1", session=ID))
        self.session = Session(ID, TOKEN, hub, grace_s=grace_s)
        self.served: list[Channel] = []
        self.cancelled = 0

    async def _serve(self, channel: Channel) -> None:
        self.served.append(channel)
        try:
            await channel.wait_confirmed()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def link(self) -> tuple[MemoryTransport, asyncio.Future[WireError]]:
        """A fresh link; returns the client's end, and why it ends."""
        mine, theirs = MemoryTransport.pair()
        ended: asyncio.Future[WireError] = asyncio.get_running_loop().create_future()

        async def run() -> None:
            try:
                await self.client.run(mine)
            except WireError as error:
                ended.set_result(error)

        async def serve() -> None:
            first = await theirs.receive()
            await self.session.serve(theirs, first)
            await theirs.close()

        self._tasks.create_task(run())
        self._tasks.create_task(serve())
        await within(self.client.wait_up())
        return mine, ended


@contextlib.asynccontextmanager
async def session(*, grace_s: float = 3600.0) -> AsyncIterator[Ends]:
    async with asyncio.TaskGroup() as tasks:
        ends = Ends(tasks, grace_s=grace_s)
        async with ends.client:
            life = tasks.create_task(ends.session.live())
            yield ends
            await within(ends.session.end())
            await within(life)


async def test_a_channel_goes_on_over_the_next_link() -> None:
    async with session() as ends:
        mine, ended = await ends.link()
        channel = ends.client.open("x")
        await until(lambda: ends.served)
        await mine.close()
        await within(ended)
        assert not ends.session.has_link
        await ends.link()
        ends.served[0].close({"answer": 42})
        assert await within(channel.result()) == {"answer": 42}


async def test_a_session_without_a_link_ends_after_its_grace_and_its_channels_fail() -> None:
    clock = asyncio.get_running_loop().time
    async with session(grace_s=0.02) as ends:
        mine, ended = await ends.link()
        ends.client.open("x")
        await until(lambda: ends.served)
        left_at = clock()
        await mine.close()
        await within(ended)
        await until(lambda: ends.session.is_over)
        # However late this looks; a timer may come short of its time by a rounding error.
        assert clock() - left_at > 0.019
        assert not ends.served[0].is_live


async def test_a_client_that_comes_back_in_time_stops_the_grace() -> None:
    async with session() as ends:
        mine, ended = await ends.link()
        await mine.close()
        await within(ended)
        await until(lambda: ends.session._waiting)
        grace = ends.session._waiting
        assert grace is not None
        await ends.link()
        # Whatever the time: it never comes to its end.
        assert grace.cancelled()
        assert not ends.session.is_over


async def test_the_first_link_needs_no_grace() -> None:
    async with session(grace_s=0.0) as ends:
        await ends.link()
        await asyncio.sleep(0.01)  # many turns
        assert not ends.session.is_over


async def test_a_client_that_says_goodbye_is_not_waited_for() -> None:
    async with session() as ends:
        await ends.link()
        ends.client.open("x")
        await until(lambda: ends.served)
        ends.client.fail(Cancelled("bye"))
        await until(lambda: ends.session.is_over)
        await until(lambda: ends.cancelled or not ends.served[0].is_live)


async def test_the_end_tells_the_client_why_and_ends_what_is_served() -> None:
    async with session() as ends:
        _, ended = await ends.link()
        ends.client.open("x")
        await until(lambda: ends.served)
        await within(ends.session.end())
        error = await within(ended)
        assert isinstance(error, CodedError)
        assert error.code == "shutting_down"
        assert "cloche hub --background" in error.message


@pytest.mark.parametrize("turns", range(6))
async def test_a_session_that_ends_for_a_reason_serves_no_link_that_waits(turns: int) -> None:
    async with session() as ends:
        _, ended = await ends.link()
        # A second link waits for the first one to end, which it does together with the session.
        mine, theirs = MemoryTransport.pair()
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(ends.session.serve(theirs, b""))
            for _ in range(turns):
                await asyncio.sleep(0)
            await within(ends.session.end(Unauthenticated("revoked")))
            await within(waiting)
        assert ends.session.is_over
        assert not ends.session.has_link
        error = await within(ended)
        assert isinstance(error, CodedError)
        assert error.code in ("unauthenticated", "link_lost"), "the first link may be closed for the second"
        await mine.close()
        await theirs.close()


async def test_a_session_without_a_link_ends_at_once_for_a_reason() -> None:
    async with session() as ends:
        mine, ended = await ends.link()
        ends.client.open("x")
        await until(lambda: ends.served)
        await mine.close()
        await within(ended)
        await within(ends.session.end(Unauthenticated("revoked")))
        assert not ends.served[0].is_live


async def test_a_link_for_a_session_that_is_over_is_not_served() -> None:
    async with session() as ends:
        await ends.session.end()
        mine, theirs = MemoryTransport.pair()
        await within(ends.session.serve(theirs, b""))
        assert not ends.session.has_link
        await mine.close()
        await theirs.close()
