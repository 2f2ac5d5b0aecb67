"""Link messages over a byte stream: a length in front, a mark behind, and a way back into step after a cut.

A message is `0xC1`, three bytes of length (big-endian, never 0), that many bytes, and `0xC1` once more. 0xC1 is the
one byte that msgpack never uses, so a stream out of step is seen at the next header.

When a serial port's far end goes away, what was in flight is lost, possibly in the middle of a message. So a link
over such a port begins with a **sync**: the leader sends a marker with a fresh nonce, the follower drops everything
before it and echoes the nonce, the leader drops everything before that echo. A marker is a header of length 0, a word,
and a nonce of 16 bytes in hexadecimal digits.

Rules:
- A follower in the middle of a message that will never be completed swallows the marker as a part of it. The leader,
  missing the echo, sends `filler` and the marker again: enough zeros to complete any message.
- Such a message is never taken for a real one, whatever it carries: where its end mark should be there is a zero or a
  byte of a marker, and behind its first byte a marker holds no 0xC1.
- The first marker found begins the link; echoes of further ones of the same sync mean nothing to the leader.

Without I/O; who waits how long is the driver's.
"""

from __future__ import annotations

import re
import struct

from cloche_wire.errors import LocalProtocolError, Undecodable

_MARK = 0xC1
_HEADER = struct.Struct(">I")
_END = bytes([_MARK])
_LEADER_MARKER = _HEADER.pack(_MARK << 24) + b"cloche-sync?"
_FOLLOWER_MARKER = _HEADER.pack(_MARK << 24) + b"cloche-sync!"
NONCE_SIZE = 16
_MARKER_SIZE = len(_LEADER_MARKER) + 2 * NONCE_SIZE
_DIGITS = re.compile(rb"[0-9a-f]{32}")


class Framing:
    """One side's cutting of a byte stream into messages.

    Args:
        leader: whether this side begins syncs.
        max_message: bytes of one message, as in `Limits`; the leader's must not be below the follower's.
        in_step: whether the stream starts at a message boundary, as a fresh socket does; otherwise `sync` first.
    """

    def __init__(self, *, leader: bool, max_message: int, in_step: bool = False) -> None:
        if not 0 < max_message < 1 << 24:
            raise LocalProtocolError("a message's length has three bytes")
        self._max_message = max_message
        self._leader = leader
        self._our_marker = _LEADER_MARKER if leader else _FOLLOWER_MARKER
        self._their_marker = _FOLLOWER_MARKER if leader else _LEADER_MARKER
        self._nonce = b""
        self._buffer = bytearray()
        self.in_step = in_step

    def wrap(self, message: bytes) -> bytes:
        """A message as it goes into the stream."""
        if not 0 < len(message) <= self._max_message:
            raise LocalProtocolError(f"a message of {len(message)} bytes; the limit is {self._max_message}")
        return b"".join((_HEADER.pack(_MARK << 24 | len(message)), message, _END))

    def sync(self, nonce: bytes) -> bytes:
        """Leader: begins a sync; returns the marker to send. Everything before its echo is dropped.

        Args:
            nonce: 16 bytes that were never used before on this stream.
        """
        if not self._leader or len(nonce) != NONCE_SIZE:
            raise LocalProtocolError(f"the leader syncs, with a nonce of {NONCE_SIZE} bytes")
        self._nonce = nonce.hex().encode()
        self.lose_step()
        return self._our_marker + self._nonce

    def filler(self) -> bytes:
        """Leader: bytes that complete any message the follower may be in the middle of."""
        return bytes(self._max_message + len(_END))

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
            Undecodable: the stream is out of step, and so far no marker has come; it is searched for one from here on.
        """
        self._buffer += data
        messages: list[bytes] = []
        reply: bytes | None = None
        lost = False
        while True:
            if not self.in_step:
                found = self._search()
                if found is None and lost:
                    raise Undecodable("the byte stream is out of step")
                if found is None:
                    return messages, reply
                reply, lost = found, False
                messages.clear()
            size = self._next_size()
            if size is None:
                return messages, reply
            if size > 0:
                messages.append(bytes(memoryview(self._buffer)[_HEADER.size : _HEADER.size + size]))
                del self._buffer[: _HEADER.size + size + len(_END)]
            elif self._leader and self._buffer.startswith(self._their_marker):
                del self._buffer[:_MARKER_SIZE]
            else:
                # For a follower a marker where a header is due is a new sync: let the search take it.
                lost = not self._buffer.startswith(self._their_marker)
                self.in_step = False

    def _next_size(self) -> int | None:
        """The size of the whole message at the front; 0 if there stands something else; None if bytes are missing."""
        if len(self._buffer) < _HEADER.size:
            return None
        (header,) = _HEADER.unpack_from(self._buffer)
        size = int(header ^ _MARK << 24)
        if size > self._max_message:
            return 0
        if size == 0:
            return None if len(self._buffer) < _MARKER_SIZE else 0
        end = _HEADER.size + size
        if len(self._buffer) <= end:
            return None
        return size if self._buffer[end] == _MARK else 0

    def _search(self) -> bytes | None:
        """Looks for a marker of the peer's; drops what is before it. Returns what to send once it is found."""
        while True:
            at = self._buffer.find(self._their_marker)
            if at < 0:
                # The beginning of a marker may stand at the end.
                del self._buffer[: max(0, len(self._buffer) - len(self._their_marker) + 1)]
                return None
            del self._buffer[:at]
            if len(self._buffer) < _MARKER_SIZE:
                return None
            nonce = bytes(self._buffer[len(self._their_marker) : _MARKER_SIZE])
            if (nonce == self._nonce) if self._leader else _DIGITS.fullmatch(nonce):
                del self._buffer[:_MARKER_SIZE]
                self._nonce = b""
                self.in_step = True
                return b"" if self._leader else self._our_marker + nonce
            # Another sync's, or one cut short: the right one may begin inside of it.
            del self._buffer[: len(self._their_marker)]
