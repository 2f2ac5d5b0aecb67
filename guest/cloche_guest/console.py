"""One line on the machine's console when something goes wrong that nobody can be told otherwise.

Rule: a flood of trouble is not a flood of lines, and a console that takes nothing holds nobody up.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

_LINES = 10
_PERIOD_S = 10.0
_LONGEST_LINE = 500


class Console:
    """Writes lines, at most 10 in 10 seconds; a later line says how many were left out.

    Args:
        fd: where to; it should not block.
        clock: seconds that only grow.
    """

    def __init__(self, fd: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._fd, self._clock = fd, clock
        self._period_began = -_PERIOD_S
        self._written = self._left_out = 0

    def line(self, text: str) -> None:
        """Writes one line, or counts it as left out."""
        now = self._clock()
        if now - self._period_began >= _PERIOD_S:
            if self._left_out:
                self._write(f"({self._left_out} lines left out)")
            self._period_began, self._written, self._left_out = now, 0, 0
        if self._written >= _LINES:
            self._left_out += 1
            return
        self._written += 1
        self._write(text)

    def error(self, error: BaseException, doing: str) -> None:
        """Says what went wrong, and where in the code."""
        places = []
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            places.append(f"{os.path.basename(code.co_filename)}:{trace.tb_lineno}")
            trace = trace.tb_next
        self.line(f"{doing}: {type(error).__name__}: {error} ({' > '.join(places[-4:])})")

    def _write(self, text: str) -> None:
        printable = "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST_LINE])
        try:
            os.write(self._fd, f"cloche agent: {printable}\r\n".encode())
        except OSError:
            # Nobody is left who could be told.
            self._left_out += 1
