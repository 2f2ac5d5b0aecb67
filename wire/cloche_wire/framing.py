"""Link messages over a byte stream: a length in front, and a way back into step after the stream was cut.

A message is `0xC1`, three bytes of length (big-endian, never 0), then that many bytes. 0xC1 is the one byte that
msgpack never uses, so a stream out of step is seen at the next header.

When a serial port's far end goes away, what was in flight is lost, possibly in the middle of a message. So a link
over such a port begins with a **sync**: the leader sends a marker with a fresh nonce, the follower drops everything
before it and echoes the nonce, the leader drops everything before that echo. A marker is a header of length 0, a word
and 16 bytes of nonce.

Without I/O; the rules of who waits how long are the driver's:

- A follower in step takes a marker at any message boundary. If it is in the middle of a message that will never be
  completed, the marker is swallowed as part of that message; the leader, missing the echo, sends `filler` and the
  marker again, which completes any message. Its garbage does not decode, and the follower calls `lose_step`.
"""

from __future__ import annotations

import struct

from cloche_wire.errors import LocalProtocolError, Undecodable

_HEADER = struct.Struct(">I")
_FIRST_BYTE = 0xC1 << 24
_LEADER_MARK = _HEADER.pack(_FIRST_BYTE) + b"cloche-sync?"
_FOLLOWER_MARK = _HEADER.pack(_FIRST_BYTE) + b"cloche-sync!"
NONCE_SIZE = 16
_MARKER_SIZE = len(_LEADER_MARK) + NONCE_SIZE


class Framing:
    """One side's cutting of a byte stream into messages.

    Args:
        leader: whether this side begins syncs.
        max_message: bytes of one message, as in `Limits`.
        in_step: whether the stream starts at a message boundary, as a fresh socket does; otherwise `sync` first.
    """

    def __init__(self, *, leader: bool, max_message: int, in_step: bool = False) -> None:
        if not 0 < max_message < 1 << 24:
            raise LocalProtocolError("a message's length has three bytes")
        self._max_message = max_message
        self._leader = leader
        self._their_mark = _FOLLOWER_MARK if leader else _LEADER_MARK
        self._nonce: bytes | None = None
        self._buffer = bytearray()
        self.in_step = in_step

    def header(self, message: bytes) -> bytes:
        """What goes in front of a message."""
        if not 0 < len(message) <= self._max_message:
            raise LocalProtocolError(f"a message of {len(message)} bytes; the limit is {self._max_message}")
        return _HEADER.pack(_FIRST_BYTE | len(message))

    def sync(self, nonce: bytes) -> bytes:
        """Leader: begins a sync; returns what to send. Everything before the echo of this nonce is dropped."""
        if not self._leader or len(nonce) != NONCE_SIZE:
            raise LocalProtocolError(f"the leader syncs, with a nonce of {NONCE_SIZE} bytes")
        self._nonce = nonce
        self.lose_step()
        return _LEADER_MARK + nonce

    def filler(self) -> bytes:
        """Leader: bytes that complete any message the follower may be in the middle of."""
        return bytes(self._max_message)

    def lose_step(self, rejected: bytes = b"") -> None:
        """Drops everything up to the next marker, which may hide in a message that made no sense (`rejected`)."""
        self.in_step = False
        self._buffer[:0] = rejected

    def feed(self, data: bytes) -> tuple[list[bytes], bytes | None]:
        """Takes bytes from the stream.

        Returns:
            The complete messages since the last sync, and, if a sync has just taken place, what to send before
            anything else on the new link (the echo for a follower, nothing for a leader). Where it is not None,
            whatever was underway on the link before is void.

        Raises:
            Undecodable: the stream is out of step; it is searched for the next marker from here on.
        """
        self._buffer += data
        messages: list[bytes] = []
        reply: bytes | None = None
        while True:
            if not self.in_step:
                found = self._search()
                if found is None:
                    return messages, reply
                reply = found
                messages.clear()
            size = self._next_size()
            if size is None:
                return messages, reply
            if size == 0:
                # A marker where a header is due: let the search take it.
                self.in_step = False
                continue
            end = _HEADER.size + size
            messages.append(bytes(memoryview(self._buffer)[_HEADER.size : end]))
            del self._buffer[:end]

    def _next_size(self) -> int | None:
        """The size of the message at the front if it is complete, 0 for a complete marker, None if bytes are missing."""
        if len(self._buffer) < _HEADER.size:
            return None
        (header,) = _HEADER.unpack_from(self._buffer)
        size = int(header ^ _FIRST_BYTE)
        if size > self._max_message:
            self.in_step = False
            raise Undecodable("the byte stream is out of step")
        needed = _HEADER.size + size if size else _MARKER_SIZE
        return size if len(self._buffer) >= needed else None

    def _search(self) -> bytes | None:
        """Looks for a marker of the peer's; drops what is before it. Returns what to send once it is found."""
        while True:
            at = self._buffer.find(self._their_mark)
            if at < 0:
                # The beginning of a marker may stand at the end.
                del self._buffer[: max(0, len(self._buffer) - len(self._their_mark) + 1)]
                return None
            del self._buffer[:at]
            if len(self._buffer) < _MARKER_SIZE:
                return None
            nonce = bytes(self._buffer[len(self._their_mark) : _MARKER_SIZE])
            del self._buffer[:_MARKER_SIZE]
            if not self._leader:
                self.in_step = True
                return _FOLLOWER_MARK + nonce
            if nonce == self._nonce:
                self.in_step = True
                return b""
