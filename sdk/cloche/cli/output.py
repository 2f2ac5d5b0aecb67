"""What is written for people and for programs: JSON, tables, times, sizes, colours.

Rules:
- Text that came from a sandbox or from another user is cleaned before a terminal sees it: a guest must not be able to
  paint over what Cloche says.
- Colours only where standard output is a terminal and NO_COLOR is not set.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from cloche.cli.failures import PipeClosed
from cloche.messages import as_json

_COLOURS = {"running": "32", "creating": "33", "removing": "33", "failed": "31"}
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_SPANS = ((60, "min"), (3600, "h"), (86400, "d"))


def say(line: str) -> None:
    """Says something in passing, on stderr."""
    _write(sys.stderr, f"cloche: {clean(line)}\n")


def show(text: str) -> None:
    """Writes an answer for a person."""
    _write(sys.stdout, text + "\n")


def show_bytes(data: bytes) -> None:
    """Writes an answer as it is."""
    _write(sys.stdout.buffer, data)


def show_json(value: Any, *, one_line: bool = False) -> None:
    """Writes an answer for a program.

    Args:
        value: anything of `cloche.messages`, or what JSON has.
        one_line: one object of many, in the form the audit's exports have.
    """
    layout: dict[str, Any] = {"sort_keys": True, "separators": (",", ":")} if one_line else {"indent": 2}
    _write(sys.stdout, json.dumps(as_json(value), ensure_ascii=False, **layout) + "\n")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows below headings, in columns as wide as they need."""
    cells = [list(headings), *[[clean(cell) for cell in row] for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return "\n".join(_coloured_words(line) if number else bold(line) for number, line in enumerate(lines))


def properties(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values, one a line."""
    pairs = list(pairs)
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{bold(name.ljust(width))}  {clean(value)}" for name, value in pairs)


def clean(text: str) -> str:
    """A text that does nothing to a terminal but appear on it; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character in "\n\t" or character.isprintable()
        else character.encode("unicode_escape").decode()
        for character in text
    )


def bold(text: str) -> str:
    """Emphasised, where that shows."""
    return f"\033[1m{text}\033[0m" if _is_colourful() else text


def size(count: int) -> str:
    """Bytes for a person: `1.4 GiB`."""
    amount = float(count)
    for unit in _UNITS:
        if amount < 1024 or unit == _UNITS[-1]:
            break
        amount /= 1024
    return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"


def age(moment: datetime | None, now: datetime | None = None) -> str:
    """How long ago, or in how long: `3 min ago`, `in 2 h`."""
    if moment is None:
        return "-"
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    amount = span(abs(seconds))
    return f"in {amount}" if seconds < 0 else f"{amount} ago"


def span(seconds: float) -> str:
    """A duration for a person: `45 s`, `3 min`, `2 h`."""
    divisor, unit = 1, "s"
    for least, larger in _SPANS:
        if seconds >= least:
            divisor, unit = least, larger
    return f"{int(seconds // divisor)} {unit}"


def _coloured_words(line: str) -> str:
    if not _is_colourful():
        return line
    for word, colour in _COLOURS.items():
        line = line.replace(f" {word} ", f" \033[{colour}m{word}\033[0m ")
    return line


def _is_colourful() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _write(stream: Any, text: str | bytes) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise PipeClosed from None
