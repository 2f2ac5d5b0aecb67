"""What a terminal case is, and how it is looked at.

A case is data: what goes in, and what a terminal that follows its source then shows. It says only what it is about; what
it leaves out may be anything. The cases are in `cases_of_screens`, `cases_of_text` and `cases_of_talk`; `test_cases`
runs each of them on both emulators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from cloche_term.terminal import CursorShape, Style, Terminal


class Size(NamedTuple):
    """A resize, between bytes."""

    rows: int
    cols: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a terminal shows; None: this case is not about it."""

    text: tuple[str, ...] | None = None
    """The screen's rows; empty ones at its end may be left out."""
    styles: Mapping[tuple[int, int], Style] | None = None
    """How single cells look, by (row, col)."""
    links: Mapping[tuple[int, int], str] | None = None
    cursor: tuple[int, int] | None = None
    """Its (row, col)."""
    cursor_is_visible: bool | None = None
    cursor_shape: CursorShape | None = None
    cursor_blinks: bool | None = None
    modes: Mapping[str, Any] | None = None
    """Fields of `Modes`."""
    answers: bytes | None = None
    """All that was answered, together."""
    title: str | None = None
    scrollback: tuple[str, ...] | None = None
    first_line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing a terminal does."""

    name: str
    source: str
    """Where it is written that a terminal does this."""
    given: tuple[bytes | Size, ...]
    shows: Shown
    size: Size = field(default=Size(4, 10))


def show(terminal: Terminal, case: Case) -> Shown:
    """Gives a terminal what the case says; returns what it shows, of what the case is about."""
    answers = b""
    for step in case.given:
        if isinstance(step, Size):
            terminal.resize(step.rows, step.cols)
        else:
            answers += terminal.feed(step)
    about = {one.name: getattr(case.shows, one.name) for one in fields(Shown)}
    seen: dict[str, Any] = {
        name: _LOOKS[name](terminal, expected) if name in _LOOKS else answers
        for name, expected in about.items()
        if expected is not None
    }
    return Shown(**seen)


def _rows_without_empty_end(terminal: Terminal, _: object) -> tuple[str, ...]:
    rows = list(terminal.text())
    while rows and not rows[-1]:
        rows.pop()
    return tuple(rows)


def _styles(terminal: Terminal, expected: Mapping[tuple[int, int], Style]) -> Mapping[tuple[int, int], Style]:
    terminal.update()
    return {place: style_at(terminal, *place) for place in expected}


def style_at(terminal: Terminal, row: int, col: int) -> Style:
    """How a cell of the view looked at the last update."""
    for run in terminal.row(row):
        col -= run.cells
        if col < 0:
            return run.style
    raise AssertionError(f"row {row} does not reach so far")


_LOOKS: Mapping[str, Any] = {
    "text": _rows_without_empty_end,
    "styles": _styles,
    "links": lambda terminal, expected: {place: terminal.link(*place) for place in expected},
    "cursor": lambda terminal, _: (terminal.cursor.row, terminal.cursor.col),
    "cursor_is_visible": lambda terminal, _: terminal.cursor.is_visible,
    "cursor_shape": lambda terminal, _: terminal.cursor.shape,
    "cursor_blinks": lambda terminal, _: terminal.cursor.blinks,
    "modes": lambda terminal, expected: {name: getattr(terminal.modes, name) for name in expected},
    "title": lambda terminal, _: terminal.title,
    "scrollback": lambda terminal, _: terminal.lines(0, terminal.first_line),
    "first_line": lambda terminal, _: terminal.first_line,
}
