"""The bytes of a file as they pass through the hub: counted and hashed. Holds none of them. Pure.

Rule: the hash is made here and not in the guest, so it says what went through the hub's hands, whatever the guest says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from cloche_hub.errors import CodedError

BYTES = 1
"""The stream a file's bytes travel on, either way."""


class Content:
    """What one side sends of a file. Implements cloche_wire.aio.Tap.

    Args:
        refuse: makes the error for a sender that sends what it may not.
        most: bytes that may come; None: any number.
    """

    def __init__(self, refuse: Callable[[str], CodedError], *, most: int | None = None) -> None:
        self._refuse, self._most = refuse, most
        self._hash = hashlib.sha256()
        self.size_bytes = 0
        """Bytes that have passed."""
        self.is_complete = False
        """Whether their end has passed too."""

    @property
    def sha256(self) -> str:
        """Hex digest of what has passed."""
        return self._hash.hexdigest()

    def received(self, stream: int, data: bytes) -> None:
        """Bytes are about to pass."""
        if stream != BYTES or self._most == 0:
            raise self._refuse(f"bytes on stream {stream}, where there are none")
        if self._most is not None and self.size_bytes + len(data) > self._most:
            raise self._refuse(f"more than the {self._most} bytes that were asked for")
        self._hash.update(data)
        self.size_bytes += len(data)

    def ended(self, stream: int) -> None:
        """A stream's end is about to pass."""
        if stream == BYTES:
            self.is_complete = True
