"""Strangers at the hub's door: they say what they like, and hear what the hub makes of it."""

from __future__ import annotations

import asyncio

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from cloche_wire.connection import Connection
from cloche_wire.frames import Decoder, Frame, Hello
from cloche_wire.limits import Limits
from tests.support.hub import BOUND_S, RunningHub, open_socket

SESSION = b"0123456789abcdef"


def hello(token: str | None, *, session: bytes = SESSION) -> Hello:
    """The first frame of a client that begins a session."""
    connection = Connection(leader=True, software="test/1", session=SESSION)
    connection.link_up()
    (frame,) = Decoder(Limits()).frames(connection.data_to_send())
    assert isinstance(frame, Hello)
    return frame._replace(session=session, info={} if token is None else {"token": token})


async def said_to(socket: ClientConnection) -> list[Frame]:
    """Everything the hub says until it closes the link."""
    frames: list[Frame] = []
    decoder = Decoder(Limits())
    async with asyncio.timeout(BOUND_S):
        try:
            while True:
                message = await socket.recv()
                assert isinstance(message, bytes)
                frames += decoder.frames(message)
        except ConnectionClosed:
            return frames


async def answer_to(hub: RunningHub, *messages: bytes | str) -> list[Frame]:
    """What the hub says to a stranger who says these things."""
    socket = await open_socket(hub.address)
    for message in messages:
        await socket.send(message)
    return await said_to(socket)
