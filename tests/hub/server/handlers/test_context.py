"""What handlers do alike: progress, and giving up when the client does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche_hub.errors import BuildFailed, Cancelled
from cloche_hub.ports import Progress
from cloche_hub.server.handlers.context import with_progress
from cloche_hub.services.wanted import while_wanted
from cloche_wire.aio import Channel, Handler, MemoryTransport, Peer
from cloche_wire.connection import Connection
from cloche_wire.errors import WireError
from cloche_wire.limits import Limits
from tests.support.fake_images import FakeImages
from tests.support.hub import running_hub, until, within

TINY = Limits(window=64, max_peer_window=64)


class Pair:
    """A client and a handler, joined in memory; from `joined`."""

    def __init__(self, handler: Handler, limits: Limits | None) -> None:
        self._handler = handler
        self.outcome: BaseException | str = "nothing yet"
        self.client = Peer(
            Connection(leader=True, software="c", session=b"s" * 16, limits=limits or Limits())
        )
        self.hub = Peer(Connection(leader=False, software="h", limits=Limits()), on_open=self._serve)

    async def _serve(self, channel: Channel) -> None:
        try:
            await self._handler(channel)
        except BaseException as error:
            self.outcome = error
            raise
        self.outcome = "done"


@contextlib.asynccontextmanager
async def joined(handler: Handler, limits: Limits | None = None) -> AsyncIterator[Pair]:
    """A pair whose link is up."""
    pair = Pair(handler, limits)
    async with asyncio.TaskGroup() as tasks, pair.hub, pair.client:
        for peer, end in zip((pair.client, pair.hub), MemoryTransport.pair(), strict=True):
            tasks.create_task(_run(peer, end))
        await within(pair.client.wait_up())
        yield pair


async def _run(peer: Peer, end: MemoryTransport) -> None:
    with contextlib.suppress(WireError):
        await peer.run(end)


async def test_a_work_nobody_waits_for_any_more_is_cancelled() -> None:
    begun = asyncio.Event()
    cancelled: list[bool] = []

    async def handler(channel: Channel) -> None:
        async with while_wanted(channel):
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(True)
                raise

    async with joined(handler) as pair:
        channel = pair.client.open("x")
        await within(begun.wait())
        channel.reset(Cancelled("enough"))
        await until(lambda: isinstance(pair.outcome, Cancelled))
        assert cancelled == [True]


async def test_a_work_that_is_done_ends_the_watch_and_answers() -> None:
    async def handler(channel: Channel) -> None:
        async with while_wanted(channel):
            await asyncio.sleep(0)
        channel.close({"answer": 42})

    async with joined(handler) as pair:
        assert await within(pair.client.call("x")) == {"answer": 42}


async def test_a_work_that_fails_fails_with_its_own_error() -> None:
    async def handler(channel: Channel) -> None:
        async with with_progress(channel):
            raise BuildFailed("no route to host")

    async with joined(handler) as pair:
        with pytest.raises(BuildFailed, match="no route to host"):
            await within(pair.client.call("x"))


async def test_steps_are_told_as_they_come() -> None:
    told = asyncio.Event()

    async def handler(channel: Channel) -> None:
        async with with_progress(channel) as progress:
            progress(Progress("one", "first", 0.5))
            await told.wait()
            progress(Progress("two", "second"))
            await asyncio.sleep(0.01)  # for the sender to take it
        channel.close({})

    async with joined(handler) as pair:
        channel = pair.client.open("x")
        steps = channel.messages()
        assert await within(anext(steps)) == {"step": "one", "message": "first", "fraction": 0.5}
        told.set()
        assert await within(anext(steps)) == {"step": "two", "message": "second", "fraction": None}
        await within(channel.result())


async def test_a_client_that_reads_no_steps_gets_the_newest_and_holds_up_nothing() -> None:
    async def handler(channel: Channel) -> None:
        async with with_progress(channel) as progress:
            for number in range(1000):
                progress(Progress("step", f"number {number}", None))
                await asyncio.sleep(0)
        channel.close({})

    async with joined(handler, TINY) as pair:
        channel = pair.client.open("x")
        await within(channel.result())
        assert pair.outcome == "done"


async def test_a_request_given_up_ends_its_build_and_nothing_else(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", images=FakeImages(built=())) as hub, hub.client() as client:
        hub.images.build_gate.clear()
        channel = client.open("image.build", recipe="python")
        await until(lambda: hub.images.building)
        channel.reset(Cancelled("enough"))
        await until(lambda: not hub.images.building)
        await client.call("hub.status")
