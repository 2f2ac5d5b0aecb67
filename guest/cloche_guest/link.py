"""The link to the hub, at the follower's end: bytes to messages to events, and moves to messages to bytes.

The hub begins each link with a sync and a hello; this end echoes and answers. Nothing here waits or keeps time:
whether the hub is still there is the hub's to find out.

Rules:
- A sync makes everything of the link before void, half-written messages too.
- Bytes that are no frames cost the link: nothing is taken in until the next sync, then the session goes on.
- A peer that breaks the protocol costs the session: all channels fail, and the next sync begins a new one.
"""

from __future__ import annotations

from collections.abc import Callable

from cloche_guest.transport import Transport
from cloche_wire.connection import Connection
from cloche_wire.errors import BadRequest, LinkLost, RemoteProtocolError, Undecodable
from cloche_wire.events import Event
from cloche_wire.framing import Framing

# A message's size: enough that its handling does not count, little enough that others soon have their turn.
_MESSAGE = 64 << 10


class Link:
    """Carries a connection over a transport.

    Args:
        transport: the byte stream; started by this object.
        connection: the follower's side.
        on_event: called with each event, in order.
        on_trouble: told of a peer that broke the protocol.
    """

    def __init__(
        self,
        transport: Transport,
        connection: Connection,
        *,
        on_event: Callable[[Event], None],
        on_trouble: Callable[[str], None],
    ) -> None:
        self._transport, self._connection = transport, connection
        self._on_event, self._on_trouble = on_event, on_trouble
        self._framing = self._new_framing()
        self._unwritten = memoryview(b"")
        self._is_full = False
        transport.start(self)

    def received(self, data: bytes) -> None:
        """See `transport.Receiver`."""
        left = self._take(data)
        while left is not None:
            # Out of step: the next marker may be in what is there already.
            self._connection.link_down()
            self._framing.lose_step(left)
            left = self._take(b"")

    def writable(self) -> None:
        """See `transport.Receiver`."""
        self._is_full = False
        self.flush()

    def gone(self) -> None:
        """See `transport.Receiver`."""
        self._connection.link_down()
        self._framing = self._new_framing()
        self._unwritten = memoryview(b"")
        self._is_full = False

    def flush(self) -> None:
        """Sends what there is to send, as far as the transport takes it. To be called after every turn."""
        while not self._is_full:
            if not self._unwritten:
                message = self._connection.data_to_send(_MESSAGE)
                if not message:
                    return
                self._unwritten = memoryview(self._framing.wrap(message))
            written = self._transport.write(self._unwritten)
            self._is_full = written < len(self._unwritten)
            self._unwritten = self._unwritten[written:]

    def _take(self, data: bytes) -> bytes | None:
        """Takes bytes in; returns None, or, if the stream is out of step, the bytes in which to look for a marker."""
        try:
            messages, reply = self._framing.feed(data)
        except Undecodable:
            return b""
        if reply is not None:
            self._begin(reply)
        for index, message in enumerate(messages):
            try:
                events = self._connection.feed(message)
            except Undecodable:
                return b"".join(messages[index:])
            except RemoteProtocolError as error:
                self._give_up(error)
                return b""
            for event in events:
                self._on_event(event)
        return None

    def _begin(self, echo: bytes) -> None:
        """A sync has taken place: a new link begins."""
        self._connection.link_down()
        # What was half written stays half written; the hub drops everything before the echo.
        self._unwritten = memoryview(echo)
        self._is_full = False
        self._connection.link_up()

    def _give_up(self, error: RemoteProtocolError) -> None:
        """The peer broke the protocol: tells it why, if the transport takes it, and ends the session."""
        self._on_trouble(f"the hub broke the protocol: {error}")
        self._connection.part(BadRequest(str(error)))
        self.flush()
        for event in self._connection.fail_all(LinkLost("the protocol was broken; the session is over")):
            self._on_event(event)

    def _new_framing(self) -> Framing:
        return Framing(leader=False, max_message=self._connection.limits.max_message)
