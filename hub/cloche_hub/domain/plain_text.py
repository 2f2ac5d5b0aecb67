"""What a machine's serial console says, as plain text that any terminal can show. Pure.

It is a log and no terminal: nobody types, and no size was ever agreed on. The firmware even switches wrapping off, so
that a terminal would cut the kernel's long lines. So only text, tabs, line ends and carriage returns are taken; what
would move a cursor, colour something or ask something is dropped, and with it whatever a guest could do to those who
watch.

Rule: what waits for its other half is bounded, however long a sequence without an end is.
"""

from __future__ import annotations

import codecs
import re

GAP = "[something is missing here]"
"""A line of its own where the guest was faster than whoever read."""

_MOST_HELD = 256
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
)
_UNFINISHED = re.compile(
    r"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|\x1b[\]PX^_][^\x07\x1b]*\x1b?|\x1b[ -/]*)\Z",
)
# Controls, and what ends lines or turns the direction of writing in places where nobody expects it.
_DROPPED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class PlainText:
    """Makes the text of one serial console."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._is_in_line = False

    def feed(self, data: bytes) -> str:
        """Takes what was printed; returns what is to be shown of it, with a terminal's line ends."""
        text = self._held + self._decoder.decode(data)
        self._held = ""
        unfinished = _UNFINISHED.search(text)
        if unfinished is not None and len(unfinished[0]) <= _MOST_HELD:
            self._held, text = unfinished[0], text[: unfinished.start()]
        text = _DROPPED.sub("", _SEQUENCE.sub("", text))
        # However the guest ends its lines.
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        if text:
            self._is_in_line = not text.endswith("\n")
        return text

    def feed_gap(self) -> str:
        """Something is missing here; returns what is to be shown of that."""
        self._decoder.reset()
        self._held = ""
        text = ("\r\n" if self._is_in_line else "") + GAP + "\r\n"
        self._is_in_line = False
        return text
