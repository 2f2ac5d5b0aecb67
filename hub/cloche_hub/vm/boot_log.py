"""The serial console of one machine, bounded: the newest bytes, whatever a guest writes.

QEMU keeps the newest bytes in a ring of its own, so that a guest that writes without end costs neither the hub's time
nor disk space, and can not be held up by a hub that is away. What is read from the ring is gone from it and kept here.
Not here: when it is read (`qemu`, and `machine` for those who follow).
Rule: the bytes come from the guest, escape sequences included; whoever shows them on a terminal must clean them.
"""

from __future__ import annotations

from cloche_hub.ports import BootOutput


class BootLog:
    """The newest bytes of a console.

    Args:
        before: what the machine's template had printed, shown first.
        capacity: how many bytes to keep in all.
    """

    def __init__(self, before: bytes = b"", *, capacity: int = 128 << 10) -> None:
        self._capacity = capacity
        self._kept = before[-capacity:]
        self.end = len(self._kept)
        """How many bytes there have been, those that nobody has read aside."""
        self._newest_gap = -1

    def append(self, data: bytes, *, is_cut: bool = False) -> None:
        """Adds bytes, forgetting the oldest.

        Args:
            data: what has been read.
            is_cut: whether bytes before these were lost unread.
        """
        if is_cut:
            self._newest_gap = self.end
        self._kept = (self._kept + data)[-self._capacity :]
        self.end += len(data)

    def tail(self, max_bytes: int) -> bytes:
        """The newest bytes."""
        return self._kept[-max_bytes:] if max_bytes > 0 else b""

    def since(self, seen: int) -> BootOutput:
        """What has come after the first `seen` bytes, as far as it is kept."""
        is_cut = seen < self.end - len(self._kept) or seen <= self._newest_gap < self.end
        return BootOutput(self.tail(self.end - seen), is_cut)


def last_lines(log: bytes, *, lines: int) -> str:
    """The last lines of a console as text that is safe to print."""
    text = "".join(
        character if character.isprintable() or character == "\n" else " "
        for character in log.decode(errors="replace").replace("\r", "")
    )
    return "\n".join(line.strip()[:300] for line in text.strip().splitlines()[-lines:])
