"""Lines of spans in rows of a width: what does not fit goes on below, indented. Knows no widget."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len, chop_cells

from cloche_tui.model.roles import Line, Role, Span

_NEAR = 16
"""A blank at most so many places before the end of a row is where it is broken."""


def wrap(line: Line, width: int, *, indent: int = 0) -> Iterator[Line]:
    """The rows of a line; one at least.

    Args:
        line: of printable text.
        width: places in a row, at least 2.
        indent: places that rows after the first leave free, as far as there is room for text.
    """
    margin = min(indent, width // 2)
    row: list[Span] = []
    used = 0
    for span in line:
        text = span.text
        while text:
            room = width - used
            # Of a long text only as much is measured as a row could hold.
            if len(text) <= 2 * room and _width(text) <= room:
                row.append(Span(text, span.role))
                used += _width(text)
                break
            head = _head(text, room)
            if head or used > margin:
                yield (*row, *((Span(head, span.role),) if head else ()))
                text = text[len(head) :]
                row, used = [Span(" " * margin)] if margin else [], margin
            else:
                # Not even one character fits: no row is as narrow as that but by mistake.
                return
    yield tuple(row)


def pad(line: Line, width: int) -> Line:
    """The line, filled up with blanks."""
    missing = width - sum(_width(span.text) for span in line)
    return (*line, Span(" " * missing, Role.PLAIN)) if missing > 0 else line


def _head(text: str, room: int) -> str:
    """As much of a text as a row has room for; up to a blank if one is near."""
    if room <= 0:
        return ""
    first = text[:room] if text.isascii() else chop_cells(text[: 2 * room], room)[0]
    if cell_len(first) > room:
        return ""
    blank = first.rfind(" ", max(len(first) - _NEAR, 1))
    return first if blank < 0 or text[len(first) : len(first) + 1] == " " else first[: blank + 1]


def _width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)
