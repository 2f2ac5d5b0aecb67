"""What a search in a console has found, and which of it the person is at. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from cloche_term.terminal import Match


class Matches:
    """The matches of one text.

    Args:
        text: what was searched for.
        found: as the terminal tells them: oldest first.
        cols: how many cells a line has; what was wrapped is on several.

    Attributes:
        text: what was searched for.
    """

    def __init__(self, text: str, found: Sequence[Match], cols: int) -> None:
        self.text = text
        self._found = tuple(found)
        self._at = len(found) - 1
        self._on_lines: dict[int, list[Match]] = {}
        for match in self._found:
            for line in range(match.line, match.line + 1 + (match.col + match.cells - 1) // cols):
                self._on_lines.setdefault(line, []).append(match)

    def __len__(self) -> int:
        return len(self._found)

    @property
    def current(self) -> Match | None:
        """The one the person is at: at first the newest."""
        return self._found[self._at] if self._found else None

    @property
    def number(self) -> int:
        """Which one that is, from the newest, which is 1; 0 where there is none."""
        return len(self._found) - self._at if self._found else 0

    def step(self, steps: int) -> Match | None:
        """Goes to an older (below 0) or newer match; behind the last one comes the first."""
        if self._found:
            self._at = (self._at + steps) % len(self._found)
        return self.current

    def on_line(self, line: int) -> Sequence[Match]:
        """The matches of which something is on this line."""
        return self._on_lines.get(line, ())
