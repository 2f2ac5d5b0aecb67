"""No terminal's process outlives what it was opened for, whatever ends while it is being opened."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from cloche_hub.errors import Cancelled
from cloche_term.apart.calls import Calls
from cloche_term.apart.frames import Kind
from cloche_term.apart.terminals import Terminals
from cloche_wire.aio import Channel
from tests.support.consoles import attach, create
from tests.support.hub import Client, RunningHub, running_hub, until, within
from tests.term.apart.processes import children_of

FORKED, OPENED = "forked", "opened"


class Gate:
    """Holds up whoever opens a terminal from now on, at one point of that, until it is opened.

    Args:
        patch: puts it there.
        stage: before the worker is known, or behind its first answer.
    """

    def __init__(self, patch: pytest.MonkeyPatch, stage: str) -> None:
        self.reached, self._opened = asyncio.Event(), asyncio.Event()
        hello, ask = Terminals._hello, Calls.ask

        async def held_hello(terminals: Terminals, ours: Any) -> Any:
            await self._hold(stage == FORKED)
            return await hello(terminals, ours)

        async def held_ask(calls: Calls, kind: Kind, payload: bytes = b"") -> Any:
            answer = await ask(calls, kind, payload)
            await self._hold(stage == OPENED and kind in (Kind.OPEN, Kind.RESTORE))
            return answer

        patch.setattr(Terminals, "_hello", held_hello)
        patch.setattr(Calls, "ask", held_ask)

    def open(self) -> None:
        """Lets everybody pass from now on."""
        self._opened.set()

    def close(self) -> None:
        """Holds up whoever comes from now on."""
        self._opened.clear()
        self.reached.clear()

    async def _hold(self, holds: bool) -> None:
        if holds:
            self.reached.set()
            await self._opened.wait()


Leave: TypeAlias = Callable[[], object]
"""Whoever wanted the terminal does so no more."""
Begin: TypeAlias = Callable[[Client, RunningHub, Gate], Awaitable[Leave]]


def giving_up(channel: Channel) -> Leave:
    """Who has asked gives up."""
    return partial(channel.reset, Cancelled("enough"))


async def opening(client: Client, hub: RunningHub, gate: Gate) -> Leave:
    """A console, as it is opened."""
    del hub, gate
    return giving_up(client.open("console.create", sandbox="a"))


async def watching(client: Client, hub: RunningHub, gate: Gate) -> Leave:
    """A boot console that somebody comes to watch."""
    del hub, gate
    return giving_up(client.open("console.attach", sandbox="a", console="boot"))


async def replaying(client: Client, hub: RunningHub, gate: Gate) -> Leave:
    """An ended console whose last screen is made once more."""
    gate.open()
    await create(client)
    viewer = await attach(client)
    await viewer.type(b"bye\x04")
    await viewer.result()
    await until(lambda: children_of(zygote_of(hub)) == [])
    gate.close()
    return giving_up(client.open("console.attach", sandbox="a", console="1"))


async def losing(client: Client, hub: RunningHub, gate: Gate) -> Leave:
    """A console whose terminal was lost, as the next one is opened to be fed."""
    gate.open()
    console = await create(client)
    viewer = await attach(client)
    await lose(hub)
    gate.close()
    await viewer.type(b"x")
    return partial(client.open, "console.close", sandbox="a", console=console["id"])


async def looking(client: Client, hub: RunningHub, gate: Gate) -> Leave:
    """The same, as the next one is opened for somebody who only looks."""
    gate.open()
    console = await create(client)
    await lose(hub)
    gate.close()
    client.open("console.screen", sandbox="a", console=console["id"])
    return partial(client.open, "console.close", sandbox="a", console=console["id"])


async def lose(hub: RunningHub) -> None:
    """The only terminal there is ends."""
    (terminal,) = [one for one in hub.terminals._open if not one.is_lost]
    os.kill(terminal.pid, signal.SIGKILL)
    await until(lambda: terminal.is_lost)


def zygote_of(hub: RunningHub) -> int:
    """What its terminals come from."""
    pid = hub.terminals._zygote.pid
    assert pid is not None
    return pid


@pytest.mark.parametrize("stage", [FORKED, OPENED])
@pytest.mark.parametrize("end", ["left", "removed", "hub"])
@pytest.mark.parametrize("begin", [opening, watching, replaying, losing, looking])
async def test_a_terminal_that_is_opened_while_its_owner_goes_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: Begin, end: str, stage: str
) -> None:
    gate = Gate(monkeypatch, stage)
    async with running_hub(tmp_path / "home") as hub, hub.client() as client, hub.client() as other:
        await client.create(name="a")
        await until(lambda: hub.terminals._zygote.pid)
        assert children_of(zygote_of(hub)) == []
        leave = await begin(client, hub, gate)
        await within(gate.reached.wait())
        if end == "left":
            leave()
        elif end == "removed":
            other.open("sandbox.remove", sandbox="a")
        else:
            hub.stop.set()
        for _ in range(100):
            await asyncio.sleep(0)
        gate.open()
        await until(lambda: children_of(zygote_of(hub)) == [])
