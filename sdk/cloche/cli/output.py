"""What is written for people and for programs: JSON, tables, times, sizes, colours.

Rules:
- Text that came from a sandbox or from another user is cleaned before a terminal sees it: a guest must not be able to
  paint over what Cloche says. Where an answer has a line for each thing, line ends and tabs in it are escaped, too: a
  guest must not be able to add a line either.
- Colours only where standard output is a terminal and NO_COLOR is not set.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from cloche.cli.columns import GAP, cut, fit, padded, width_of
from cloche.cli.failures import PipeClosed, unwritable
from cloche.errors import BadRequest
from cloche.json_text import visible_json
from cloche.messages import as_json, export_line
from cloche.printable import printable

_COLOURS = {"running": "32", "creating": "33", "removing": "33", "failed": "31"}
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_MINUTE = 60
_SEPARATORS = re.compile("([\n\t])")
SHORT_DIGEST = 12
"""Digits of a digest that a person is shown; more than enough to tell images apart."""


_elsewhere: list[Callable[[str, bool], object]] = []


def say(line: str, *, lasts: bool = False) -> None:
    """Says something in passing, on stderr, or where `said_elsewhere` has it.

    Args:
        line: what.
        lasts: whether it holds until something else is said.
    """
    if _elsewhere:
        _elsewhere[-1](line, lasts)
    else:
        _write(sys.stderr, f"cloche: {clean_line(line)}\n")


@contextlib.contextmanager
def said_elsewhere(told: Callable[[str, bool], object]) -> Iterator[None]:
    """Within it, what is said goes to `told`: while a console has the terminal, a line on stderr would be in its way.

    Args:
        told: gets the line, and whether it lasts; see `say`.
    """
    _elsewhere.append(told)
    try:
        yield
    finally:
        _elsewhere.remove(told)


def is_at_terminal() -> bool:
    """Whether a person sees what is said on stderr."""
    return sys.stderr.isatty()


def end_line() -> None:
    """Ends the line that a terminal is in."""
    with contextlib.suppress(PipeClosed, OSError):
        _write(sys.stderr, "\n")


def prompt(question: str) -> None:
    """Says something on stderr that is answered on the same line."""
    _write(sys.stderr, f"cloche: {clean_line(question)}")


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

    At a terminal it is the same value with everything escaped that would not be seen there.
    """
    text = export_line(value) if one_line else json.dumps(as_json(value), ensure_ascii=False, indent=2)
    # SAFETY: JSON's own escapes leave a terminal much to obey, and a reader much that he cannot see.
    _write(sys.stdout, (visible_json(text) if sys.stdout.isatty() else text) + "\n")


@contextlib.contextmanager
def replacing(file: str) -> Iterator[Callable[[bytes], object]]:
    """A function that writes a piece of a file, or of standard output if that is `-`.

    What is at the file's place stays until all of the new one is written.

    Raises:
        BadRequest: something else than a file is there.
        OSError: it cannot be written.
    """
    if file == "-":
        yield lambda data: _write(sys.stdout.buffer, data, flush=False)
        _write(sys.stdout.buffer, b"")
        return
    target = Path(file).resolve()
    if target.exists() and not target.is_file():
        raise BadRequest(f"{file} is no file; leave it out to write to standard output")
    try:
        with _beside(target) as (beside, out):
            yield out.write
            out.flush()
            os.fsync(out.fileno())
            beside.replace(target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, file) from None


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    # SAFETY: a name nobody can have put there before, for this user's eyes only: what is written may hold secrets.
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:64]}.")
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield beside, out
    finally:
        beside.unlink(missing_ok=True)


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    free: Collection[str] = (),
    most: int | None = None,
) -> str:
    """Rows below headings, in columns as wide as they need.

    Args:
        headings: one a column.
        rows: a cell a column.
        free: headings of the columns that may be cut: free text, and what is found by its beginning.
        most: places in a line; None for no bound. What does not fit even then is cut at the end of its line.
    """
    cells = [list(headings), *[[clean_line(cell) for cell in row] for row in rows]]
    widths = [max(width_of(row[column]) for row in cells) for column in range(len(headings))]
    if most is not None:
        widths = fit(widths, most, [number for number, name in enumerate(headings) if name in free])
    lines = [
        GAP.join(padded(cut(cell, width), width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    if most is not None:
        lines = [cut(line, most) for line in lines]
    return "\n".join(_coloured_words(line) if number else bold(line) for number, line in enumerate(lines))


def properties(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values, one a line."""
    pairs = list(pairs)
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{bold(name.ljust(width))}  {clean_line(value)}" for name, value in pairs)


def show_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    free: Collection[str] = (),
    if_empty: str = "",
) -> None:
    """Writes a table; at a terminal no line of it is wider than that.

    Args:
        headings: one a column.
        rows: a cell a column.
        free: headings of the columns that are cut where the terminal is too narrow, the widest first.
        if_empty: what a person at a terminal who would see an empty table is told instead.
    """
    is_terminal = sys.stdout.isatty()
    if is_terminal and not rows and if_empty:
        say(if_empty)
    else:
        most = shutil.get_terminal_size().columns if is_terminal else None
        show(table(headings, rows, free=free, most=most))


def clean_line(text: str) -> str:
    """A text that stays on its line: everything but what shows is escaped."""
    return printable(text)


def clean(text: str) -> str:
    """A text that does nothing to a terminal but appear on it; line ends and tabs stay."""
    return "".join(piece if piece in ("\n", "\t") else printable(piece) for piece in _SEPARATORS.split(text))


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
    """A duration for a person, rounded down: `45 s`, `3 min`, `1 h 59 min`, `2 d`."""
    if seconds < _MINUTE:
        return f"{int(seconds)} s"
    minutes = int(seconds // _MINUTE)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min")]
    # Two neighbouring units say enough.
    first = next(number for number, (amount, _) in enumerate(parts) if amount)
    return " ".join(f"{amount} {unit}" for amount, unit in parts[first : first + 2] if amount)


def _coloured_words(line: str) -> str:
    if not _is_colourful():
        return line
    for word, colour in _COLOURS.items():
        line = line.replace(f" {word} ", f" \033[{colour}m{word}\033[0m ")
    return line


def _is_colourful() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _write(stream: Any, text: str | bytes, *, flush: bool = True) -> None:
    try:
        stream.write(text)
        if flush:
            stream.flush()
    except BrokenPipeError:
        raise PipeClosed from None
    except OSError as error:
        raise unwritable(error) from None
