"""The line of ours over the last one of a console: which, and for how long. Pure."""

from __future__ import annotations

LINE_S = 3.0
"""How long a line of ours stays."""


class LastLine:
    """Which line is to be shown. Times are of one clock, in seconds."""

    def __init__(self) -> None:
        self._next: str | None = None
        self._lasts = False
        self.until: float | None = None
        """When the one that is shown is to go; None: nothing is shown, or it lasts."""

    def announce(self, line: str) -> None:
        """Something to be told in passing; nothing, where a line lasts that says more: that the hub is lost."""
        if not self._lasts:
            self._next = line

    def say(self, line: str, *, lasts: bool) -> None:
        """Something to be told whatever is shown.

        Args:
            line: what.
            lasts: whether it stays until something else is said.
        """
        self._next, self._lasts = line, lasts

    def take(self, now: float) -> str | None:
        """The line that is to be shown from now on; None: what is shown stays."""
        line, self._next = self._next, None
        if line is not None:
            self.until = None if self._lasts else now + LINE_S
        return line

    def ends(self, now: float) -> bool:
        """Whether the one that is shown is to go now; said once."""
        if self.until is None or now < self.until:
            return False
        self.until = None
        return True
