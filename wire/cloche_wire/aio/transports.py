"""What carries link messages: memory, a websocket, a byte stream. They know no frames.

Rule: `receive` is called by one task and `send` by one other; `LinkLost` is the only error either raises.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from typing import Protocol

from websockets.asyncio.connection import Connection as WebSocket
from websockets.exceptions import ConnectionClosed

from cloche_wire.errors import LinkLost, LinkSilent, Undecodable
from cloche_wire.framing import NONCE_SIZE, Framing
from cloche_wire.limits import Limits

_READ_SIZE = 256 << 10


class Transport(Protocol):
    """Carries whole link messages in order, until it breaks."""

    async def send(self, message: bytes) -> None:
        """Hands a message over; returns when there is room for the next.

        Raises:
            LinkLost: the link is gone.
        """
        ...

    async def receive(self) -> bytes:
        """The next message. Cancelling loses nothing that was not returned.

        Raises:
            LinkLost: the link is gone.
            Undecodable: what arrived are no messages.
        """
        ...

    async def close(self) -> None:
        """Ends the link for both sides. Idempotent; never waits for the far end longer than a moment."""
        ...


class MemoryTransport:
    """One end of a link inside this process, bounded like a real one."""

    def __init__(self, inbox: asyncio.Queue[bytes | None], outbox: asyncio.Queue[bytes | None]) -> None:
        self._inbox, self._outbox = inbox, outbox
        self._closed = False

    @classmethod
    def pair(cls, *, depth: int = 4) -> tuple[MemoryTransport, MemoryTransport]:
        """Two ends, each of which holds `depth` messages that the other has not received."""
        there: asyncio.Queue[bytes | None] = asyncio.Queue(depth)
        back: asyncio.Queue[bytes | None] = asyncio.Queue(depth)
        return cls(there, back), cls(back, there)

    async def send(self, message: bytes) -> None:
        """See `Transport`."""
        if self._closed:
            raise LinkLost("the link is closed")
        await self._outbox.put(message)

    async def receive(self) -> bytes:
        """See `Transport`."""
        message = None if self._closed else await self._inbox.get()
        if message is None:
            self._closed = True
            raise LinkLost("the far end closed the link")
        return message

    async def close(self) -> None:
        """See `Transport`. What is underway is lost, as on a real link."""
        self._closed = True
        for queue in (self._inbox, self._outbox):
            while queue.full():
                queue.get_nowait()
            queue.put_nowait(None)


class WebSocketTransport:
    """A websocket: one binary message is one link message."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def send(self, message: bytes) -> None:
        """See `Transport`."""
        try:
            await self._socket.send(message)
        except (ConnectionClosed, OSError) as error:
            raise LinkLost(_why_closed(error)) from error

    async def receive(self) -> bytes:
        """See `Transport`."""
        try:
            message = await self._socket.recv()
        except (ConnectionClosed, OSError) as error:
            raise LinkLost(_why_closed(error)) from error
        if not isinstance(message, bytes):
            raise Undecodable("a text message; link messages are binary")
        return message

    async def close(self) -> None:
        """See `Transport`."""
        await self._socket.close()


def _why_closed(error: Exception) -> str:
    if isinstance(error, ConnectionClosed) and error.rcvd is not None and error.rcvd.reason:
        return f"the link was closed: {error.rcvd.reason}"
    return f"the link was lost ({type(error).__name__})"


class StreamTransport:
    """A byte stream such as a virtio-serial port: messages with a length in front, and a sync before the first.

    Call `sync` (leader) or `synced` (follower) before anything else; `in_step=True` is for a fresh stream of which
    both sides know that nothing was ever sent on it.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        leader: bool,
        limits: Limits | None = None,
        in_step: bool = False,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._framing = Framing(leader=leader, max_message=(limits or Limits()).max_message, in_step=in_step)
        self._messages: deque[bytes] = deque()
        self._reply: bytes | None = None

    async def sync(self, *, attempt_s: float, deadline_s: float) -> None:
        """Leader: brings both sides into step.

        Args:
            attempt_s: how long to wait for the echo before completing whatever message the follower may be in.
            deadline_s: how long to try.

        Raises:
            LinkLost: the stream ended.
            LinkSilent: nobody echoed in time.
        """
        marker = self._framing.sync(secrets.token_bytes(NONCE_SIZE))
        try:
            async with asyncio.timeout(deadline_s):
                self._writer.write(marker)
                while True:
                    try:
                        async with asyncio.timeout(attempt_s):
                            await self._until_synced()
                            self._reply = None
                            return
                    except TimeoutError:
                        self._writer.write(self._framing.filler() + marker)
                        await self._drain()
        except TimeoutError:
            raise LinkSilent(f"the agent did not answer within {deadline_s:g} s") from None

    async def synced(self) -> None:
        """Follower: waits for the leader's sync and answers it."""
        if self._reply is None:
            await self._until_synced()
        self._writer.write(self._reply or b"")
        self._reply = None
        await self._drain()

    async def _until_synced(self) -> None:
        while self._reply is None:
            self._take(await self._read())

    async def send(self, message: bytes) -> None:
        """See `Transport`."""
        self._writer.write(self._framing.header(message))
        self._writer.write(message)
        await self._drain()

    async def receive(self) -> bytes:
        """See `Transport`. For a follower a new sync ends the link; `synced` then begins the next."""
        while not self._messages:
            if self._reply is not None:
                raise LinkLost("the leader began anew")
            self._take(await self._read())
        return self._messages.popleft()

    async def close(self) -> None:
        """See `Transport`."""
        self._writer.close()

    def _take(self, data: bytes) -> None:
        messages, reply = self._framing.feed(data)
        if reply is not None:
            self._messages.clear()
            self._reply = reply
        self._messages.extend(messages)

    async def _read(self) -> bytes:
        try:
            data = await self._reader.read(_READ_SIZE)
        except OSError as error:
            raise LinkLost(f"the link was lost ({error.strerror})") from error
        if not data:
            raise LinkLost("the far end closed the link")
        return data

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError as error:
            raise LinkLost(f"the link was lost ({error.strerror})") from error
        if self._writer.is_closing():
            raise LinkLost("the link is closed")
