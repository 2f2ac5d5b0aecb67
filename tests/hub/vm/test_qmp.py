"""The monitor, against a server that says what the test wants."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from cloche_hub.errors import MachineFailed
from cloche_hub.vm.qmp import Monitor
from tests.hub.vm.world import open_descriptors

BOUND_S = 10.0
SHORT_S = 0.05
GREETING = {"QMP": {"version": {"qemu": {"major": 7, "minor": 2, "micro": 0}}, "capabilities": []}}


class Server:
    """The far end: answers `query-status`, refuses `bad`, never answers `slow`, closes on `die`."""

    def __init__(self, far: socket.socket) -> None:
        self.far = far

    async def run(self) -> None:
        self.reader, self.writer = await asyncio.open_connection(sock=self.far)
        self.tell(GREETING)
        buffer = ""
        while data := await self.reader.read(65536):
            buffer += data.decode()
            while buffer.strip():
                try:
                    request, used = json.JSONDecoder().raw_decode(buffer.lstrip())
                except ValueError:
                    break
                buffer = buffer.lstrip()[used:]
                self._answer(request)

    def tell(self, message: Mapping[str, Any]) -> None:
        self.writer.write(json.dumps(message).encode() + b"\r\n")

    def event(self, name: str, **data: Any) -> None:
        self.tell({"event": name, "data": data, "timestamp": {"seconds": 0, "microseconds": 0}})

    def _answer(self, request: Mapping[str, Any]) -> None:
        match request["execute"]:
            case "bad":
                self.tell({"error": {"class": "GenericError", "desc": "bad is refused"}, "id": request["id"]})
            case "slow":
                return
            case "die":
                self.writer.close()
            case _:
                self.tell({"return": {"status": "running"}, "id": request.get("id")})


@contextlib.asynccontextmanager
async def connected(
    events: list[tuple[str, Mapping[str, Any]]] | None = None,
) -> AsyncIterator[tuple[Monitor, Server]]:
    heard = [] if events is None else events
    near, far = socket.socketpair()
    far.setblocking(False)
    near.setblocking(False)
    server = Server(far)
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(server.run())
        monitor = Monitor(lambda name, data: heard.append((name, data)))
        await monitor.connect(near, bound_s=BOUND_S)
        yield monitor, server
        await monitor.close()
        await asyncio.wait([serving])
        server.writer.close()


async def test_a_command_is_answered() -> None:
    async with connected() as (monitor, _):
        assert await monitor.execute("query-status", bound_s=BOUND_S) == {"status": "running"}


async def test_a_refused_command_says_why() -> None:
    async with connected() as (monitor, _):
        with pytest.raises(MachineFailed, match="did not carry out bad: bad is refused"):
            await monitor.execute("bad", bound_s=BOUND_S)


async def test_a_command_without_answer_ends_at_its_bound_and_the_next_one_works() -> None:
    async with connected() as (monitor, _):
        with pytest.raises(MachineFailed, match="slow"):
            await monitor.execute("slow", bound_s=SHORT_S)
        assert await monitor.execute("query-status", bound_s=BOUND_S)


async def test_a_monitor_that_goes_away_fails_what_waits_and_what_comes_after() -> None:
    async with connected() as (monitor, _):
        for _ in range(2):
            with pytest.raises(MachineFailed):
                await monitor.execute("die", bound_s=BOUND_S)


async def test_events_are_told_as_they_come_and_none_is_kept() -> None:
    events: list[tuple[str, Mapping[str, Any]]] = []
    async with connected(events) as (monitor, server):
        for _ in range(1000):
            server.event("RTC_CHANGE", offset=1)
        server.event("SHUTDOWN", reason="guest-reset")
        # Answers come in the order of what was said before them.
        await monitor.execute("query-status", bound_s=BOUND_S)
        assert monitor._client.events.empty()
        assert len(monitor._client.events.history) == 0
    assert len(events) == 1001
    assert events[-1] == ("SHUTDOWN", {"reason": "guest-reset"})


async def test_a_monitor_that_says_nothing_is_given_up_at_its_bound() -> None:
    near, far = socket.socketpair()
    near.setblocking(False)
    before = open_descriptors()
    with far, pytest.raises(MachineFailed, match="does not answer"):
        await Monitor(lambda _name, _data: None).connect(near, bound_s=SHORT_S)
    near.close()
    assert open_descriptors() == before - 2


async def test_a_descriptor_is_handed_over() -> None:
    reading, writing = os.pipe()
    async with connected() as (monitor, server):
        # The server's transport reads without asking for descriptors, so look before it does.
        server.writer.transport.pause_reading()  # type: ignore[attr-defined]
        async with asyncio.TaskGroup() as tasks:
            handing = tasks.create_task(monitor.hand_over(writing, "state", bound_s=BOUND_S))
            await asyncio.sleep(0)
            _, descriptors, _, _ = socket.recv_fds(server.far, 1, 1)
            server.writer.transport.resume_reading()  # type: ignore[attr-defined]
            await handing
    os.write(descriptors[0], b"state")
    assert os.read(reading, 10) == b"state"
    for descriptor in (reading, writing, *descriptors):
        os.close(descriptor)


async def test_closing_twice_is_once() -> None:
    async with connected() as (monitor, _):
        await monitor.close()
        await monitor.close()
