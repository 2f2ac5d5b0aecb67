"""Textual's parser of keys, which waits less long for what may follow an Esc.

A terminal that knows nothing of kitty's protocol sends the same byte for the Esc key and for the beginning of others.
Textual waits a tenth of a second to tell them apart, which a person feels; a terminal sends the rest at once. Who is on
a line that needs longer says so as for other programs, in `ESCDELAY` (milliseconds).
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from textual import constants
from textual._time import get_time
from textual._xterm_parser import XTermParser
from textual.message import Message

ESCAPE_WAIT_S = 0.025


class PromptParser(XTermParser):
    """A parser that says itself when it is to be called again."""

    @property
    def deadline(self) -> float | None:
        """When `tick` is to be called, if nothing is fed before; in the time of `time.monotonic`."""
        return self._timeout_time

    def renewed(self) -> PromptParser:
        """A parser in the place of this one, which has come upon what it cannot read: it knows the terminal as well."""
        parser = PromptParser()
        parser.mouse_pixels, parser.last_x, parser.last_y = self.mouse_pixels, self.last_x, self.last_y
        parser.terminal_size, parser.terminal_pixel_size = self.terminal_size, self.terminal_pixel_size
        return parser

    def feed(self, data: str) -> Iterable[Message]:
        """Reads; yields what it comes to."""
        yield from super().feed(data)
        if self._timeout_time is not None:
            self._timeout_time = min(self._timeout_time, get_time() + _wait_s())


def _wait_s() -> float:
    return constants.ESCAPE_DELAY if "ESCDELAY" in os.environ else ESCAPE_WAIT_S
