"""The dashboard's connection: made, lost, found again, and what is told of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.message import Message

from cloche.aio import Hub
from cloche.aio.pending import Pending
from cloche.errors import ShuttingDown, TooLarge, Unauthenticated
from cloche.link_news import OnLink
from cloche_tui.feed.session import NotConnected, Patience, Session
from cloche_tui.messages import Begun, EventsArrived, LinkChanged
from cloche_tui.model.link import Connecting, Lost, Up
from cloche_wire.aio import Channel
from cloche_wire.errors import ungrouped
from tests.support.hub import running_hub, until
from tests.support.scripted_hub import TOKEN, ScriptedHub, answer, refuse

QUICK = Patience(first_s=0.001, longest_s=0.002, refused_s=0.003)
ENDLESS = Patience(first_s=60, longest_s=60, refused_s=60)
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
STATUS = {
    "version": "0.1.0", "pid": 1, "address": "unix:///x", "accelerator": "tcg", "accelerator_reason": "no kvm",
    "machines": 0, "started_at": "2026-01-02T03:04:05Z",
}  # fmt: skip


async def _tell_the_end(channel: Channel) -> None:
    channel.accept()
    await channel.send_message({"topic": "current_end"})
    await asyncio.Event().wait()


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[ScriptedHub]:
    """A hub that has nothing to tell."""
    handlers = {"hub.status": answer(STATUS), "events": _tell_the_end}
    async with asyncio.timeout(30), ScriptedHub(tmp_path / "hub.sock", handlers) as running:
        yield running


class _Watched:
    """A session at work, and what it has told."""

    def __init__(self, connect: Callable[[OnLink], Pending[Hub]], patience: Patience) -> None:
        self.told: list[Message] = []
        self.now = NOW
        self.session = Session(connect, self.told.append, patience=patience, now=lambda: self.now)

    @property
    def states(self) -> list[str]:
        """The states it has told, without repetitions."""
        names = [type(each.state).__name__ for each in self.told if isinstance(each, LinkChanged)]
        return [name for name, before in zip(names, [None, *names], strict=False) if name != before]

    @property
    def pids(self) -> list[int]:
        """Of each hub that was told to be up."""
        changes = [each.state for each in self.told if isinstance(each, LinkChanged)]
        return [state.status.pid for state in changes if isinstance(state, Up)]

    def count(self, kind: type[Message]) -> int:
        return sum(isinstance(message, kind) for message in self.told)

    async def up(self) -> Hub:
        async with asyncio.timeout(10):
            return await self.session.wait_hub()


@contextlib.asynccontextmanager
async def _session_with(
    address: str, token: str = TOKEN, *, patience: Patience = QUICK, reconnect_s: float = 10
) -> AsyncIterator[_Watched]:
    def connect(on_link: OnLink) -> Pending[Hub]:
        return Hub.connect(address, token, reconnect_s=reconnect_s, on_link=on_link)

    async with _session_of(_Watched(connect, patience)) as watched:
        yield watched


@contextlib.asynccontextmanager
async def _session_of(watched: _Watched) -> AsyncIterator[_Watched]:
    with ungrouped():
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(watched.session.run())
            yield watched
            running.cancel()


async def test_a_session_connects_and_tells_what_there_is(hub: ScriptedHub) -> None:
    async with _session_with(hub.address) as watched:
        await watched.up()
        await until(lambda: watched.count(EventsArrived) == 1)
    state = watched.session.state
    assert isinstance(state, Up)
    assert (state.since, state.address, state.status.accelerator) == (NOW, hub.address, "tcg")
    assert [type(message) for message in watched.told] == [LinkChanged, Begun, EventsArrived]


async def test_a_hub_that_is_not_there_yet_is_waited_for(hub: ScriptedHub) -> None:
    await hub.deafen()
    async with _session_with(hub.address) as watched:
        await until(
            lambda: isinstance(watched.session.state, Connecting) and watched.session.state.attempt > 3
        )
        with pytest.raises(NotConnected, match="no connection to the hub yet"):
            _ = watched.session.hub
        assert "no hub answers at" in watched.session.state.reason  # type: ignore[union-attr]
        await hub.listen()
        await watched.up()
    assert watched.states == ["Connecting", "Up"]


async def test_a_link_that_is_mended_in_time_goes_on_with_the_same_subscription(hub: ScriptedHub) -> None:
    async with _session_with(hub.address) as watched:
        await watched.up()
        await until(lambda: watched.count(EventsArrived) == 1)
        await hub.deafen()
        hub.cut()
        await until(lambda: isinstance(watched.session.state, Lost))
        watched.now += timedelta(seconds=12)
        with pytest.raises(NotConnected, match="was lost 12 s ago"):
            _ = watched.session.hub
        await hub.listen()
        await watched.up()
    assert watched.states == ["Up", "Lost", "Up"]
    assert watched.count(Begun) == 1


async def test_a_hub_that_was_started_again_is_asked_for_everything_anew(hub: ScriptedHub) -> None:
    async with _session_with(hub.address) as watched:
        await watched.up()
        await until(lambda: watched.count(EventsArrived) == 1)
        hub.forget()
        hub.cut()
        hub.handlers["hub.status"] = answer({**STATUS, "pid": 2})
        await until(lambda: watched.count(EventsArrived) == 2)
        state = watched.session.state
    assert isinstance(state, Up)
    assert state.status.pid == 2
    assert watched.pids == [1, 2], "not up before it is known what answers"
    assert watched.count(Begun) == 2
    assert watched.states == ["Up", "Lost", "Up"]


async def test_a_hub_that_stays_away_is_looked_for_ever_after(hub: ScriptedHub) -> None:
    async with _session_with(hub.address, reconnect_s=0.05) as watched:
        await until(lambda: watched.count(EventsArrived) == 1)
        await hub.vanish()
        await until(lambda: isinstance(watched.session.state, Lost) and watched.session.state.attempt > 5)
        assert isinstance(watched.session.state, Lost)
        assert watched.session.state.since == NOW
        await hub.listen()
        await watched.up()
        await until(lambda: watched.count(EventsArrived) == 2)
    assert watched.states == ["Up", "Lost", "Up"]


async def test_a_hub_that_goes_away_in_good_order_is_waited_for_too(hub: ScriptedHub) -> None:
    async def leave(channel: Channel) -> None:
        channel.accept()
        await channel.send_message({"topic": "current_end"})
        raise ShuttingDown("the hub is going away")

    hub.handlers["events"] = leave
    async with _session_with(hub.address, patience=ENDLESS) as watched:
        await until(lambda: isinstance(watched.session.state, Lost))
        assert isinstance(watched.session.state, Lost)
        assert watched.session.state.reason == "the hub is going away"
        assert watched.session.state.next_try_at is not None
        hub.handlers["events"] = _tell_the_end
        watched.session.try_now()
        await watched.up()


async def test_a_subscription_that_fell_behind_begins_anew_on_the_same_connection(hub: ScriptedHub) -> None:
    hub.handlers["events"] = refuse(TooLarge("more has changed than is kept"))
    async with _session_with(hub.address) as watched:
        await until(lambda: [kind for kind, _ in hub.asked].count("events") >= 2)
        hub.handlers["events"] = _tell_the_end
        await until(lambda: watched.count(EventsArrived) == 1)
    assert watched.count(LinkChanged) == 1, "the connection is as it was"
    assert len(hub.hellos) == 1


async def test_a_refusal_is_told_and_tried_again_after_a_longer_while(hub: ScriptedHub) -> None:
    patience = Patience(first_s=0.001, longest_s=0.001, refused_s=60)
    async with _session_with(hub.address, "wrong", patience=patience) as watched:
        await until(lambda: watched.count(LinkChanged) == 1)
        assert watched.session.state == Connecting(
            attempt=2, reason="the hub does not know this token", next_try_at=NOW + timedelta(seconds=60)
        )
        hub.token = "wrong"
        watched.session.try_now()
        await watched.up()


async def test_a_token_that_is_revoked_loses_the_connection(hub: ScriptedHub) -> None:
    async with _session_with(hub.address, patience=ENDLESS) as watched:
        await watched.up()
        hub.handlers["events"] = refuse(Unauthenticated("this token was revoked"))
        hub.token = "another"
        hub.cut()
        await until(lambda: isinstance(watched.session.state, Lost) and watched.session.state.attempt > 1)
        assert isinstance(watched.session.state, Lost)
        assert watched.session.state.reason == "the hub does not know this token"


async def test_who_waits_for_the_hub_is_not_woken_by_one_that_is_being_left(
    hub: ScriptedHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving, may_leave, close = asyncio.Event(), asyncio.Event(), Hub.close

    async def close_slowly(left: Hub) -> None:
        leaving.set()
        await may_leave.wait()
        await close(left)

    async def leave(channel: Channel) -> None:
        channel.accept()
        await channel.send_message({"topic": "current_end"})
        raise ShuttingDown("the hub is going away")

    monkeypatch.setattr(Hub, "close", close_slowly)
    hub.handlers["events"] = leave
    async with _session_with(hub.address) as watched, asyncio.TaskGroup() as tasks:
        await leaving.wait()
        waiting = tasks.create_task(watched.session.wait_hub())
        await asyncio.sleep(0)
        with pytest.raises(NotConnected):
            _ = watched.session.hub
        hub.handlers["events"] = _tell_the_end
        may_leave.set()
        assert await waiting is watched.session.hub


async def test_delays_begin_small_again_once_the_hub_has_answered(hub: ScriptedHub) -> None:
    begun: list[Patience] = []

    class Counted(Patience):
        def delays(self) -> Iterator[float]:
            begun.append(self)
            return super().delays()

    await hub.deafen()
    async with _session_with(hub.address, patience=Counted(0.001, 0.002, 0.003), reconnect_s=0.05) as watched:
        await until(
            lambda: isinstance(watched.session.state, Connecting) and watched.session.state.attempt > 3
        )
        assert len(begun) == 1
        await hub.listen()
        await watched.up()
        assert len(begun) == 2


async def test_wanting_a_try_now_while_there_is_a_connection_hurries_no_later_one(hub: ScriptedHub) -> None:
    leave, made = asyncio.Event(), 0

    async def leave_then(channel: Channel) -> None:
        channel.accept()
        await leave.wait()
        raise ShuttingDown("the hub is going away")

    def connect(on_link: OnLink) -> Pending[Hub]:
        nonlocal made
        made += 1
        return Hub.connect(hub.address, TOKEN, on_link=on_link)

    hub.handlers["events"] = leave_then
    async with _session_of(_Watched(connect, ENDLESS)) as watched:
        await watched.up()
        watched.session.try_now()
        leave.set()
        await until(lambda: isinstance(watched.session.state, Lost))
        for _ in range(20):
            await asyncio.sleep(0)
        assert made == 1


async def test_the_longest_delay_is_a_bound_and_no_two_dashboards_come_in_step() -> None:
    delays = [next(each) for each in [Patience().delays()] for _ in range(50)]
    assert all(0.1 <= delay <= 5 for delay in delays)
    assert delays[0] <= 0.2 < max(delays)
    assert len(set(delays)) > 40


async def test_a_real_hub_is_found_again_by_its_next_life(tmp_path: Path) -> None:
    home = tmp_path / "home"
    address = f"unix://{home}/run/hub.sock"
    async with contextlib.AsyncExitStack() as stack:
        async with running_hub(home) as first:
            token = first.admin
            watched = await stack.enter_async_context(_session_with(address, token, reconnect_s=0.05))
            await until(lambda: watched.count(Begun) == 1)
        await until(partial(_is_lost, watched))
        async with running_hub(home):
            await watched.up()
            await until(lambda: watched.count(Begun) == 2)


def _is_lost(watched: Any) -> bool:
    return isinstance(watched.session.state, Lost)
