"""A side that does not trust the other: what its judge says is what everybody hears."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import cast

import pytest

from cloche_wire.aio import Peer
from cloche_wire.aio.judge import Trusting
from cloche_wire.connection import Connection
from cloche_wire.errors import (
    CodedError,
    Conflict,
    LinkLost,
    MachineFailed,
    NotFound,
    RemoteProtocolError,
    WireError,
)
from cloche_wire.events import Greeted
from cloche_wire.frames import Accept, Bye, Data, Open, Reset
from tests.support.links import SESSION, Stranger, memory_link, outcome


class Stern:
    """Lets one in, believes nothing."""

    def __init__(self) -> None:
        self.met: list[str] = []

    def greeted(self, greeting: Greeted) -> None:
        self.met.append(greeting.software)
        if greeting.info:
            raise RemoteProtocolError("it brings gifts")

    def error(self, said: CodedError) -> CodedError:
        return Conflict(f"it says {said.code}")

    def breach(self, error: RemoteProtocolError) -> CodedError:
        return MachineFailed(f"thrown out: {error}")


@contextlib.asynccontextmanager
async def judged() -> AsyncIterator[tuple[Peer, Stranger, asyncio.Future[WireError], Stern]]:
    """A stern peer, the stranger at the other end, why the link ended, and the judge."""
    link, judge = memory_link(), Stern()
    connection = Connection(leader=True, software="stern/1", session=SESSION)
    ended: asyncio.Future[WireError] = asyncio.get_running_loop().create_future()
    async with Peer(connection, judge=judge) as peer, asyncio.TaskGroup() as tasks:

        async def run() -> None:
            ended.set_result(cast(WireError, await outcome(peer.run(link.leader))))

        tasks.create_task(run())
        yield peer, Stranger(link.follower), ended, judge
        link.sever()


async def test_an_error_the_other_side_names_is_told_as_the_judge_says() -> None:
    async with judged() as (peer, stranger, _, judge):
        await stranger.greets()
        channel = peer.open("exec")
        await stranger.hears(Open)
        await stranger.says(Reset(1, "machine_failed", "believe me", {"a": 1}))
        with pytest.raises(Conflict, match="it says machine_failed"):
            await channel.result()
        assert judge.met == ["stranger/1"]


async def test_what_this_side_says_itself_is_not_judged() -> None:
    async with judged() as (peer, stranger, _, _judge):
        await stranger.greets()
        channel = peer.open("exec")
        await stranger.hears(Open)
        peer.fail(NotFound("our own words"))
        with pytest.raises(NotFound, match="our own words"):
            await channel.result()


async def test_the_reason_the_other_side_gives_as_it_leaves_is_judged_too() -> None:
    async with judged() as (_, stranger, ended, _judge):
        await stranger.greets()
        await stranger.says(Bye(0, "link_silent", "believe me"))
        assert str(await ended) == "it says link_silent"


async def test_a_breach_fails_the_channels_as_the_judge_says() -> None:
    async with judged() as (peer, stranger, ended, _):
        await stranger.greets()
        channel = peer.open("exec")
        await stranger.hears(Open)
        await stranger.says(Accept(1, {}, 64), Data(99, 1, 0, b"x"))
        with pytest.raises(MachineFailed, match="thrown out: DATA on channel 99"):
            await channel.result()
        assert isinstance(await ended, RemoteProtocolError)


async def test_who_is_not_let_in_is_never_up_and_hears_of_nothing() -> None:
    async with judged() as (peer, stranger, ended, _):
        channel = peer.open("exec")
        stranger._connection.info = {"gift": "a horse"}
        await stranger.greets()
        assert str(await ended) == "it brings gifts"
        assert (peer.is_up, peer.greeting) == (False, None)
        with pytest.raises(MachineFailed, match="it brings gifts"):
            await channel.result()


def test_without_a_judge_everything_is_taken_as_it_is_said() -> None:
    trusting = Trusting()
    trusting.greeted(Greeted({"gift": "a horse"}, "stranger/1", resumed=False))
    said = NotFound("no such thing")
    assert trusting.error(said) is said
    lost = trusting.breach(RemoteProtocolError("it shouts"))
    assert (type(lost), lost.message) == (LinkLost, "the other side broke the protocol: it shouts")
