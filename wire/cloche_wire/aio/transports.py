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

from cloche_wire.aio.bounds import within
from cloche_wire.errors import LinkLost, LinkSilent, Undecodable
from cloche_wire.framing import NONCE_SIZE, Framing
from cloche_wire.limits import Limits

_READ_SIZE = 256 << 10
_CLOSE_S = 1.0


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

    def __init__(self, inbox: _Pipe, outbox: _Pipe) -> None:
        self._inbox, self._outbox = inbox, outbox

    @classmethod
    def pair(cls, *, depth: int = 4) -> tuple[MemoryTransport, MemoryTransport]:
        """Two ends, each of which holds `depth` messages that the other has not received."""
        there, back = _Pipe(depth), _Pipe(depth)
        return cls(there, back), cls(back, there)

    async def send(self, message: bytes) -> None:
        """See `Transport`."""
        await self._outbox.put(message)

    async def receive(self) -> bytes:
        """See `Transport`."""
        return await self._inbox.take()

    async def close(self) -> None:
        """See `Transport`. What this end has sent still arrives, as on a socket; what it has not received is lost."""
        self._inbox.close()
        self._inbox.messages.clear()
        self._outbox.close()


class _Pipe:
    """One direction of a link in memory."""

    def __init__(self, depth: int) -> None:
        self.messages: deque[bytes] = deque()
        self._depth = depth
        self._closed = False
        self._changed = asyncio.Event()

    async def put(self, message: bytes) -> None:
        while len(self.messages) >= self._depth and not self._closed:
            await self._changed.wait()
        if self._closed:
            raise LinkLost("the link is closed")
        self.messages.append(message)
        self._notify()

    async def take(self) -> bytes:
        while not self.messages:
            if self._closed:
                raise LinkLost("the far end closed the link")
            await self._changed.wait()
        message = self.messages.popleft()
        self._notify()
        return message

    def close(self) -> None:
        self._closed = True
        self._notify()

    def _notify(self) -> None:
        # Wakes those who wait now; who comes later waits for the next time.
        self._changed.set()
        self._changed.clear()


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
        try:
            async with within(_CLOSE_S):
                await self._socket.close()
        except TimeoutError:
            pass
        finally:
            # Also when this wait is cancelled: the socket must not outlive its link.
            self._socket.transport.abort()


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
        self._closing = False
        # What answers a sync that has been seen: a follower's echo, nothing at a leader.
        self._reply: bytes | None = None

    async def sync(self, *, attempt_s: float, deadline_s: float) -> None:
        """Leader: brings both sides into step. May be repeated on one stream; each time begins a new link.

        Args:
            attempt_s: how long to wait for the echo before completing whatever message the follower may be in.
            deadline_s: how long to try.

        Raises:
            LinkLost: the stream ended.
            LinkSilent: nobody echoed in time.
            Undecodable: what followed the echo are no messages.
        """
        marker = self._framing.sync(secrets.token_bytes(NONCE_SIZE))
        self._drop()
        try:
            async with within(deadline_s):
                await self._say(marker)
                while True:
                    try:
                        async with within(attempt_s):
                            await self._until_synced()
                            return
                    except TimeoutError:
                        await self._say(self._framing.filler() + marker)
        except TimeoutError:
            raise LinkSilent(f"the agent did not answer within {deadline_s:g} s") from None

    async def synced(self) -> None:
        """Follower: waits for the leader's next sync and answers it. What came before it is dropped.

        Raises:
            LinkLost: the stream ended.
            Undecodable: what followed the sync are no messages; call it again to wait for the next one.
        """
        if self._reply is None:
            self._framing.lose_step()
            self._drop()
            # The sync may stand behind what made no sense, in what has been read already.
            self._take(b"")
            await self._until_synced()
        reply, self._reply = self._reply, None
        await self._say(reply or b"")

    async def _until_synced(self) -> None:
        while self._reply is None:
            self._take(await self._read())

    async def send(self, message: bytes) -> None:
        """See `Transport`."""
        await self._say(self._framing.wrap(message))

    async def receive(self) -> bytes:
        """See `Transport`. For a follower a new sync ends the link; `synced` then begins the next."""
        while not self._messages and not self._reply:
            self._take(await self._read())
        if self._reply:
            # Any messages are the next link's.
            raise LinkLost("the leader began anew")
        return self._messages.popleft()

    async def close(self) -> None:
        """See `Transport`. A follower whose leader has begun anew leaves the stream open for the next link."""
        if self._reply or self._closing:
            return
        self._closing = True
        self._writer.close()
        try:
            async with within(_CLOSE_S):
                await self._writer.wait_closed()
        except OSError:
            pass  # a TimeoutError is one too
        finally:
            # Nobody takes what is still unsent, or this wait is cancelled: the stream must not outlive its link.
            self._writer.transport.abort()

    def _drop(self) -> None:
        self._messages.clear()
        self._reply = None

    def _take(self, data: bytes) -> None:
        # Only called while no message and no reply waits, so that nothing is kept that a sync voids.
        messages, self._reply = self._framing.feed(data)
        self._messages.extend(messages)

    async def _read(self) -> bytes:
        try:
            data = await self._reader.read(_READ_SIZE)
        except OSError as error:
            raise LinkLost(f"the link was lost ({error.strerror})") from error
        if not data:
            raise LinkLost("the far end closed the link")
        return data

    async def _say(self, data: bytes) -> None:
        """Writes and waits for room. One write: `writelines` knows no bound in some versions of Python."""
        if self._writer.is_closing():
            raise LinkLost("the link is closed")
        self._writer.write(data)
        try:
            await self._writer.drain()
        except OSError as error:
            raise LinkLost(f"the link was lost ({error.strerror})") from error
