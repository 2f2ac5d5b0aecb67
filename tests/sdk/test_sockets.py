"""Connecting to a Unix socket whose queue is full."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path

import pytest

from cloche.sockets import connect_unix

BOUND_S = 5.0


async def test_who_finds_the_queue_full_waits_for_room(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(str(path))
        server.listen(0)
        stack.enter_context(await connect_unix(path))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await connect_unix(path)
        async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(connect_unix(path))
            await asyncio.sleep(0)
            assert not waiting.done()
            stack.enter_context(server.accept()[0])
        stack.enter_context(waiting.result()).send(b"x")
        assert stack.enter_context(server.accept()[0]).recv(1) == b"x"


async def test_where_nobody_listens_there_is_nothing_to_wait_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await connect_unix(tmp_path / "s")
