"""What a console's program wants to put on the person's clipboard (OSC 52), as it is found in its output. Pure.

    hear(output) … ──► the newest request waits, unread ──► stands to be answered ──► done, or 30 s have passed

    ESC ] 52 ; selections ; base64 BEL        or, in place of BEL, ESC \\

Rules:
- SAFETY: nothing is copied from here. What a person is told is exactly what would be copied: control characters but tab
  and newline are taken out before either.
- Who asks what the clipboard holds (`?`) is never answered.
- Only the newest request counts. Of a flood one a second is read, and never more than one is kept besides that.
- What is more than 64 KiB, no base64 or no UTF-8 is told as refused.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

LONGEST_TEXT = 64 << 10
"""Bytes of UTF-8."""
WAITS_S = 30.0
"""How long a request waits for the person."""
STANDS_S = 1.0
"""How long one stands before another takes its place."""

_LONGEST_PAYLOAD = LONGEST_TEXT * 3 // 2
"""Bytes of base64, line breaks included."""
_ESC, _BEL, _ST = b"\x1b", b"\x07", b"\x1b\\"
_BEGIN = b"\x1b]52;"
_LONGEST_BEGIN = 24
# A request ends with BEL or ST; another escape sequence, CAN and SUB end it too, and then it was none.
_END = re.compile(rb"[\x07\x18\x1a\x1b]")
_HEAD = rb"\x1b\]52;[cpqs0-7]{0,16};"
_WHOLE = re.compile(_HEAD + rb"(?!\?)([^\x07\x18\x1a\x1b]*+)(?:\x07|\x1b\\)")
_BEGUN = re.compile(_HEAD + rb"([^\x07\x18\x1a\x1b]*+)(\x1b?)\Z")
_PERHAPS = re.compile(rb"\x1b(?:\](?:5(?:2(?:;[cpqs0-7]{0,16})?)?)?)?\Z")
_NO_BASE64 = bytes([*range(0x20), 0x7F])
_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}


@dataclass(frozen=True, slots=True)
class CopyRequest:
    """Something a program wants to have copied."""

    text: str
    """Exactly what would be copied."""
    refusal: str = ""
    """Why it is not; empty: the person decides."""


def read_request(payload: bytes) -> CopyRequest | None:
    """A request by its payload.

    Args:
        payload: base64, with or without its padding.

    Returns:
        None: there is nothing to be copied.
    """
    encoded = payload[: _LONGEST_PAYLOAD + 1].translate(None, _NO_BASE64).rstrip(b"=")
    if len(payload) > _LONGEST_PAYLOAD or len(encoded) * 3 // 4 > LONGEST_TEXT:
        return CopyRequest("", f"more than {LONGEST_TEXT >> 10} KiB")
    try:
        text = base64.b64decode(encoded + b"=" * (-len(encoded) % 4), validate=True).decode()
    except binascii.Error:
        return CopyRequest("", "no base64")
    except UnicodeDecodeError:
        return CopyRequest("", "no text in UTF-8")
    text = text.translate(_CONTROLS)
    return CopyRequest(text) if text else None


class RequestScanner:
    """Finds requests in output that comes in pieces, cut anywhere."""

    def __init__(self) -> None:
        self._held = b""
        """The last bytes, which may be the beginning of a request, or half of its end."""
        self._open: bytearray | None = None
        """The payload of a request that has begun, as far as it has come."""

    def newest(self, data: bytes) -> bytes | None:
        """The payload of the last request that ends in this piece; None: none does."""
        data, self._held = self._held + data, b""
        payload, at = None, 0
        if self._open is not None:
            payload, at = self._go_on(data)
        if self._open is None:
            last = None
            for whole in _WHOLE.finditer(data, at):
                last = whole
            if last is not None:
                payload, at = last[1], last.end()
            self._look_at_end(data, at)
        return payload

    def _go_on(self, data: bytes) -> tuple[bytes | None, int]:
        """More of a request that has begun; the payload if it ends here, and where what follows begins."""
        assert self._open is not None
        end = _END.search(data)
        stop = len(data) if end is None else end.start()
        # What is too long is refused: how long it is does not matter.
        self._open += data[: min(stop, _LONGEST_PAYLOAD + 1 - len(self._open))]
        if end is None:
            return None, stop
        if data[stop:] == _ESC:
            self._held = _ESC
            return None, stop
        payload, self._open = bytes(self._open), None
        is_whole = data.startswith((_BEL, _ST), stop) and not payload.startswith(b"?")
        return payload if is_whole else None, stop

    def _look_at_end(self, data: bytes, at: int) -> None:
        """Keeps what may become a request with the next piece."""
        if data.find(_BEGIN, at) >= 0 and (begun := _BEGUN.search(data, at)) is not None:
            self._open, self._held = bytearray(begun[1][: _LONGEST_PAYLOAD + 1]), begun[2]
        elif perhaps := _PERHAPS.search(data, max(at, len(data) - _LONGEST_BEGIN)):
            self._held = perhaps[0]


class CopyRequests:
    """What one console's program asks for. Who calls says what time it is, in seconds."""

    def __init__(self) -> None:
        self._scanner = RequestScanner()
        self._waiting: tuple[bytes, float] | None = None
        """The newest payload, unread, and when it came."""
        self._standing: CopyRequest | None = None
        self._read_at = self._stands_until = float("-inf")

    def hear(self, data: bytes, now: float) -> None:
        """The program writes this, now."""
        if (payload := self._scanner.newest(data)) is not None:
            self._waiting = payload, now

    def cut(self) -> None:
        """What follows does not go on where the output stopped."""
        self._scanner = RequestScanner()

    def newest(self, now: float) -> CopyRequest | None:
        """What the person is to be asked; stays the same for a second at least."""
        if self._waiting is not None and now - self._read_at >= STANDS_S:
            (payload, came), self._waiting, self._read_at = self._waiting, None, now
            # What has nothing to be copied takes no place from what has.
            if (request := read_request(payload)) is not None:
                self._standing, self._stands_until = request, came + WAITS_S
        if now >= self._stands_until:
            self._standing = None
        return self._standing

    def done(self) -> None:
        """The person has answered what stands."""
        self._standing = None
