"""The serial console of one machine, bounded: the newest bytes, whatever a guest writes.

QEMU keeps the newest bytes in a ring of its own, so that a guest that writes without end costs neither the hub's time
nor disk space, and can not be held up by a hub that is away. What is read from the ring is gone from it and kept here.
Not here: when it is read (`qemu`).
Rule: the bytes come from the guest, escape sequences included; whoever shows them on a terminal must clean them.
"""

from __future__ import annotations


class BootLog:
    """The newest bytes of a console.

    Args:
        before: what the machine's template had printed, shown first.
        capacity: how many bytes to keep in all.
    """

    def __init__(self, before: bytes = b"", *, capacity: int = 128 << 10) -> None:
        self._capacity = capacity
        self._kept = before[-capacity:]

    def append(self, data: bytes) -> None:
        """Adds bytes, forgetting the oldest."""
        self._kept = (self._kept + data)[-self._capacity :]

    def tail(self, max_bytes: int) -> bytes:
        """The newest bytes."""
        return self._kept[-max_bytes:] if max_bytes > 0 else b""


def last_lines(log: bytes, *, lines: int) -> str:
    """The last lines of a console as text that is safe to print."""
    text = "".join(
        character if character.isprintable() or character == "\n" else " "
        for character in log.decode(errors="replace").replace("\r", "")
    )
    return "\n".join(line.strip()[:300] for line in text.strip().splitlines()[-lines:])
