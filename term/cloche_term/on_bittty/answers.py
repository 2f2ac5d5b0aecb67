"""What the fallback emulator answers to a program, kept until it is taken, and bounded."""

from __future__ import annotations

from typing import Final

from cloche_term.terminal import MOST_ANSWER_BYTES

BEL: Final = "\x07"
ST: Final = "\x1b\\"


class Answers:
    """What the board sends to the program, as one end of a cable; nothing is ever read from it."""

    closed = False

    def __init__(self) -> None:
        self.string_end = BEL
        """What ends the answer to a string: what has ended the question."""
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: str) -> int:
        """Takes one answer, or drops it where too much is waiting."""
        if data.startswith("\x1b]"):
            data = data.removesuffix(BEL) + self.string_end
        return self.write_bytes(data.encode())

    def write_bytes(self, data: bytes) -> int:
        """As `write`."""
        if self._size + len(data) <= MOST_ANSWER_BYTES:
            self._parts.append(data)
            self._size += len(data)
        return len(data)

    def take(self) -> bytes:
        """Returns what has been answered since the last call."""
        taken = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return taken

    def flush(self) -> None:
        """There is nothing to hurry."""

    def resize(self, rows: int, cols: int) -> None:
        """The program's end is told by whoever resizes the console."""

    def configure_line(self, line: object) -> None:
        """There is no serial line."""

    async def read_bytes_async(self, size: int) -> bytes:
        """There is nothing to read."""
        return b""

    def close(self) -> None:
        """There is nothing to close."""
