"""A console's screen at one moment, as text. Pure.

Rule: all of it is the guest's word; what shows it on a terminal escapes it first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Self

from cloche.answers import Answer


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the cursor is; rows and columns count from 0, and a wide character has two columns."""

    row: int
    col: int
    is_visible: bool

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("cursor", value)
        return cls(read.whole("row"), read.whole("col"), read.flag("is_visible"))


@dataclass(frozen=True, slots=True)
class Screen:
    """What a console's screen shows, without colours, as the hub's own terminal has it."""

    rows: int
    cols: int
    lines: tuple[str, ...]
    """Each row's text, from the top, without the blanks at its end."""
    cursor: Cursor
    title: str
    """What the program calls the window."""
    is_alternate: bool
    """Whether it is the screen of a full-screen program, behind which the other one waits."""
    first_line: int
    """How many rows have been scrolled off the other screen so far: row `y` of it is line `first_line + y`."""
    offset: int
    """How many bytes the program had written."""
    state: str
    """The console's: open or ended."""
    driver: str | None = None
    """The id of the viewer who drives it."""
    match: re.Match[str] | None = field(default=None, compare=False, repr=False)
    """What `until` found; its groups are those of the pattern. None of a screen that was only looked at."""

    @property
    def text(self) -> str:
        """Its rows with line feeds between, without blank rows at the end."""
        return "\n".join(self.lines).rstrip("\n")

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("screen", value)
        return cls(
            rows=read.whole("rows"),
            cols=read.whole("cols"),
            lines=read.texts("lines"),
            cursor=Cursor.parse(read.of_type("cursor", dict)),
            title=read.text("title"),
            is_alternate=read.flag("is_alternate"),
            first_line=read.whole("first_line"),
            offset=read.whole("offset"),
            state=read.text("state"),
            driver=read.optional("driver", read.text),
        )
