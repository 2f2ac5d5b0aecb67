"""A client that asks for as much as it may, as largely as it may, and never reads: what it costs the hub is bounded."""

from __future__ import annotations

import gc
import secrets
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from cloche_wire.connection import Connection
from cloche_wire.frames import Open, encode
from cloche_wire.limits import Limits
from tests.support.hub import RunningHub, open_socket, running_hub, until, within
from tests.support.strangers import hello

FRAME = 16 << 10
LARGE = "x" * (FRAME - 500)
MOST = Limits().max_channels

REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "a field nobody knows": ("sandbox.list", {"large": LARGE}),
    "a value that is too large": ("sandbox.show", {"sandbox": LARGE}),
    "parameters that are no problem": (
        "policy.check",
        {"text": 'default = "deny"', "call": {"method": "pay", "params": f'"{LARGE}"'}},
    ),
    "a kind nobody knows": (LARGE, {}),
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
async def test_what_a_client_asks_and_never_confirms_is_not_held(
    tmp_path: Path, request_: tuple[str, dict[str, Any]]
) -> None:
    kind, params = request_
    async with running_hub(tmp_path, max_frame_bytes=FRAME, max_message_bytes=2 * FRAME) as hub:
        socket = await within(open_socket(hub.address))
        try:
            session = secrets.token_bytes(16)
            await socket.send(encode(hello(hub.admin, session=session), Limits()))
            await within(socket.recv())
            connection = _connection_of(session)
            tracemalloc.start()
            for index in range(2 * MOST):
                await within(socket.send(encode(Open(1 + 2 * index, kind, params, 0), Limits())))
            await until(lambda: len(connection.channels) == 2 * MOST)
            await until(
                lambda: all(channel.is_settled or channel.result for channel in connection.channels.values())
            )
            gc.collect()
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            socket.transport.abort()
        # It has sent 32 MiB.
        assert held < 8 << 20
        await _serves_others(hub)


def _connection_of(session: bytes) -> Connection:
    (connection,) = (
        one
        for one in gc.get_objects()
        if type(one) is Connection and one.session == session and not one.leader
    )
    return connection


async def _serves_others(hub: RunningHub) -> None:
    async with hub.client() as client:
        assert (await client.call("sandbox.list"))["sandboxes"] == []
