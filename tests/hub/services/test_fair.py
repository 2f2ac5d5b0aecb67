"""Links leave time for each other, whatever comes over one of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cloche_hub.services.fair import DEAR_S, REST, FairTransport, FairTurns, Turns
from cloche_wire.aio import MemoryTransport
from cloche_wire.errors import LinkLost
from cloche_wire.frames import Ping, encode
from cloche_wire.limits import Limits
from tests.support.hub import open_socket, running_hub, within
from tests.support.strangers import hello


async def test_one_has_one_turn_at_a_time_and_others_have_their_own() -> None:
    turns = Turns()
    async with turns.turn("ann"), turns.turn("bob"):
        assert turns.turn("ann").locked()
    assert not turns.turn("ann").locked()


FLOOD = encode(Ping(0, 1), Limits()) * 4000
"""As many frames as a message may have."""


class Link:
    """A fair transport in memory, whose messages cost what a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.far, near = MemoryTransport.pair(depth=100)
        self.fair = FairTransport(near, cpu_s=lambda: self.cpu_s)
        self.cpu_s = 0.0
        self.rests: list[float] = []
        monkeypatch.setattr("asyncio.sleep", self._rest)

    async def _rest(self, seconds: float) -> None:
        self.rests.append(seconds)

    async def take(self, *, cost_s: float) -> bytes:
        """Receives a message and handles it."""
        message = await self.fair.receive()
        self.cpu_s += cost_s
        return message


async def test_a_dear_message_gives_its_link_a_rest_and_a_cheap_one_the_others_a_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = Link(monkeypatch)
    for number in range(4):
        await link.far.send(bytes([number]))
    costs = [0.1, DEAR_S / 2, 0.01, 0.0]
    assert [await link.take(cost_s=cost) for cost in costs] == [b"\x00", b"\x01", b"\x02", b"\x03"]
    assert link.rests == [pytest.approx(0.1 * REST), 0, pytest.approx(0.01 * REST)]


async def test_time_spent_waiting_for_a_message_costs_no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    link = Link(monkeypatch)
    await link.far.send(b"one")
    await link.take(cost_s=0.0)
    link.cpu_s += 0.0
    await link.far.send(b"two")
    await link.take(cost_s=0.0)
    assert link.rests == [0]


async def test_it_sends_and_closes_as_the_link_it_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    link = Link(monkeypatch)
    await link.fair.send(b"hi")
    assert await link.far.receive() == b"hi"
    await link.fair.close()
    with pytest.raises(LinkLost):
        await link.far.receive()


async def test_a_guest_that_floods_the_hub_leaves_others_their_time(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="bad")
        bad = hub.machine
        await client.create(name="good")
        sent = 0

        async def flood() -> None:
            nonlocal sent
            while True:
                await bad.agent.babble(FLOOD)
                sent += 1

        async with asyncio.TaskGroup() as tasks:
            flooding = tasks.create_task(flood())
            for _ in range(2):
                assert (await client.run("good", "true")).result["exit_code"] == 0
            # Without rests it is hundreds: everything that fits the socket, in each turn of the loop.
            assert sent < 50
            flooding.cancel()
        bad.crash()


async def test_a_client_that_floods_the_hub_leaves_others_their_time(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="good")
        socket = await open_socket(hub.address)
        await socket.send(encode(hello(hub.admin), Limits()))
        await within(socket.recv())
        sent = 0

        async def flood() -> None:
            nonlocal sent
            while True:
                await socket.send(FLOOD)
                sent += 1

        async with asyncio.TaskGroup() as tasks:
            flooding = tasks.create_task(flood())
            for _ in range(2):
                assert (await client.run("good", "true")).result["exit_code"] == 0
            assert sent < 50
            flooding.cancel()
        socket.transport.abort()


class Work:
    """Turns at work that costs what a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.turns = FairTurns(cpu_s=lambda: self.cpu_s)
        self.cpu_s = 0.0
        self.log: list[object] = []
        self._sleep = asyncio.sleep
        monkeypatch.setattr("cloche_hub.services.fair.asyncio.sleep", self._rest)

    async def _rest(self, seconds: float) -> None:
        self.log.append(round(seconds, 6))
        await self._sleep(0)
        self.log.append("rested")

    async def work(self, who: str, cost_s: float) -> None:
        async with self.turns.turn(who):
            self.cpu_s += cost_s
            self.log.append(who)


async def test_after_dear_work_its_owner_rests_and_whoever_else_asks_does_not_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = Work(monkeypatch)
    async with asyncio.TaskGroup() as tasks:
        for who in ("greedy", "greedy", "modest"):
            tasks.create_task(work.work(who, 0.1))
    dear = round(0.1 * REST, 6)
    assert work.log == ["greedy", dear, "modest", dear, "rested", "rested", "greedy", dear, "rested"]


async def test_cheap_work_needs_no_rest_and_work_that_fails_does(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)
    await work.work("a", DEAR_S / 2)

    async def fail() -> None:
        async with work.turns.turn("a"):
            work.cpu_s += 1.0
            raise KeyError

    with pytest.raises(KeyError):
        await fail()
    assert work.log == ["a", 1.0 * REST, "rested"]
    assert not work.turns._turns._locks


async def test_what_another_process_has_done_costs_what_is_said_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = Work(monkeypatch)
    for told_s in (0.2, 0.0):
        async with work.turns.turn("a") as turn:
            # Others had the loop meanwhile.
            work.cpu_s += 1.0
            turn.cost_s = told_s
    assert work.log == [round(0.2 * REST, 6), "rested"]
