"""What is written of files: in the columns of a list, above it, and where there are none. Pure.

SAFETY: guests choose names and targets of links, and so does whoever has filled a disk here; all of it is made printable.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from cloche.printable import printable
from cloche_tui.model import figures
from cloche_tui.model.cells import width_of
from cloche_tui.model.file_panes import FileRow, Pane, Side
from cloche_tui.model.filtered import none_matches
from cloche_tui.model.roles import Line, Role, Span, line
from cloche_tui.model.transfers import Amount

MOST_NAMED = 10
"""Files that are named one by one in a question."""
_MOST_TARGET = 200
_TYPES = {"dir": stat.S_IFDIR, "link": stat.S_IFLNK, "file": stat.S_IFREG}
_SYMBOLS: Mapping[str, tuple[str, Role]] = {
    "dir": ("▸", Role.ACCENT),
    "link": ("→", Role.PLAIN),
    "file": (" ", Role.PLAIN),
}
_YEAR = timedelta(days=180)


def cells(row: FileRow, now: datetime, *, is_marked: bool) -> Mapping[str, Line]:
    """What stands in the columns, by their keys."""
    return {
        "mark": line("✓" if is_marked else ""),
        "name": name(row),
        "size": _size(row),
        "changed": line(Span(changed(row.modified_at, now), Role.MUTED)),
        "mode": line(Span(stat.filemode(_TYPES.get(row.kind, 0) | (row.mode & 0o7777)), Role.MUTED)),
    }


def name(row: FileRow) -> Line:
    """What it is called, what it is, and why nothing can be done with it."""
    symbol, role = _SYMBOLS.get(row.kind, ("?", Role.MUTED))
    if row.refusal:
        return line(
            Span("✗ ", Role.WARNING), Span(row.name, Role.MUTED), Span(f"  {row.refusal}", Role.WARNING)
        )
    found: list[str | Span] = [
        Span(f"{symbol} ", role),
        Span(row.name + ("/" if row.kind == "dir" else ""), Role.ACCENT if row.is_folder else role),
    ]
    if row.target is not None:
        found.append(Span(f" → {figures.cut(row.target, _MOST_TARGET)}", Role.MUTED))
    elif row.kind == "other":
        found.append(Span("  a device, a socket or a pipe", Role.MUTED))
    return line(*found)


def changed(moment: datetime, now: datetime) -> str:
    """When it was changed, as `ls` says it: the time of day, or the year where that is long ago."""
    try:
        here = moment.astimezone()
    except (OverflowError, ValueError):
        return figures.NOTHING  # a guest may say any time
    return here.strftime("%d %b %H:%M" if abs(now - moment) < _YEAR else "%d %b  %Y")


def _size(row: FileRow) -> Line:
    return line(figures.size(row.size_bytes) if row.kind == "file" else Span(figures.NOTHING, Role.MUTED))


def heading(pane: Pane, whose: str, *, width: int, is_active: bool, beside: str = "") -> Line:
    """What stands above a list: whose it is, which folder, how much of it is shown and marked.

    Args:
        pane: the folder.
        whose: this host, or the sandbox's name.
        width: places there are.
        is_active: whether the person is there.
        beside: what the other folder is, where that is not on the screen.
    """
    other = _end_of(line(beside)[0].text, width // 3)
    count = _count(pane) + (f"  → {other}" if other else "")
    begin = f"{'▶' if is_active else ' '} {whose}  "
    told = line(Span(begin, Role.ACCENT if is_active else Role.MUTED))
    room = width - len(told[0].text) - len(count) - 2
    path = _end_of(line(pane.folder)[0].text, room)
    return (*told, *line(Span(path, Role.PLAIN if is_active else Role.MUTED), Span(f"  {count}", Role.MUTED)))


def _end_of(path: str, cells: int) -> str:
    """A path in at most so many cells: its end says where one is."""
    if width_of(path) <= cells:
        return path
    path = path[-max(cells, 1) :]
    while path and width_of(path) >= cells:
        path = path[1:]
    return f"…{path}" if cells > 0 else ""


def _count(pane: Pane) -> str:
    if not pane.folder:
        return ""
    told = [f"{len(pane)}/{pane.known}" if pane.is_filtered else figures.count(pane.known, "file")]
    if pane.is_cut:
        told.append("and more")
    if pane.marks:
        size = sum(pane.row(key).size_bytes for key in pane.marks)
        told.append(f"✓ {len(pane.marks)} marked, {figures.size(size)}")
    return ", ".join(told)


def empty(pane: Pane, trouble: str) -> Sequence[Line]:
    """What is said where there are no rows.

    Args:
        pane: the folder.
        trouble: why nothing can be shown; empty: it can.
    """
    if trouble:
        return [line(Span(trouble, Role.WARNING))]
    if not pane.folder:
        return [line(Span("looking …", Role.MUTED))]
    if pane.is_filtered and pane.known:
        return none_matches("file", pane.filtered_by)
    where = "this folder" if pane.side is Side.HERE else "this folder of the sandbox"
    return [
        line(f"Nothing is in {where}."),
        (),
        line(Span("What is copied into it comes up here.", Role.MUTED)),
    ]


def named(rows: Sequence[FileRow]) -> list[Line]:
    """Files that a question is about, a line each; more than `MOST_NAMED` are counted."""
    found = [name(row) for row in rows[:MOST_NAMED]]
    if (more := len(rows) - MOST_NAMED) > 0:
        found.append(line(Span(f"and {more} more", Role.MUTED)))
    if any(row.kind == "dir" for row in rows):
        found.append(line(Span("Folders with all that is in them.", Role.WARNING)))
    return found


def named_plainly(names: Sequence[str]) -> list[Line]:
    """Names that a question is about, a line each; more than `MOST_NAMED` are counted."""
    found = [line(Span("  "), one) for one in names[:MOST_NAMED]]
    more = len(names) - MOST_NAMED
    return [*found, line(Span(f"  and {more} more", Role.MUTED))] if more > 0 else found


def amount(found: Amount) -> Line:
    """How much is copied with folders, as far as it is known."""
    told = f"{figures.count(found.files, 'file')}, {figures.size(found.size_bytes)}"
    if found.is_all:
        return line(told, Span(" in all", Role.MUTED))
    return line(Span("more than ", Role.WARNING), told)


def shown(text: str) -> str:
    """A text with names in it, as it may stand in a line for the person."""
    return printable(text)
