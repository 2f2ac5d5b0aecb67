"""Two folders beside each other, one of this host and one of a sandbox, as a person goes through them. Pure.

Rules:
- SAFETY: what is in a sandbox is called what its guest says. A name is used only if it is one component, so a path that
  is made here never leaves its folder; what cannot be used is shown, and nothing can be done with it.
- What is selected and what is marked are names and not rows. In another folder nothing is marked.
- Folders stand before all else, whatever the rows are sorted by.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from cloche.errors import SenselessAnswer
from cloche.file_messages import FileEntry
from cloche.filters import Fields, Filter
from cloche.printable import printable
from cloche.transfer import MAX_NAME, check_name
from cloche_tui.model.transfers import Direction, Wanted

MOST_LISTED = 20_000
"""Files of one folder that are shown."""
_MOST_IN_COMMAND = 20
"""Files that are named in the command line that does the same."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KIND_WORDS = MappingProxyType({"dir": "folder"})


class Side(StrEnum):
    """Whose disk it is."""

    HERE = "here"
    SANDBOX = "sandbox"

    @property
    def other(self) -> Side:
        """The other one."""
        return Side.SANDBOX if self is Side.HERE else Side.HERE


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file, folder or link in a folder. `row_of_entry` makes one of what a guest says."""

    name: str
    kind: str
    """file, dir, link or other."""
    size_bytes: int = 0
    mode: int = 0
    modified_at: datetime = _EPOCH
    target: str | None = None
    """What a link says."""
    leads_to_folder: bool = False
    """Whether it is known of a link that it does; where it is not, asking tells."""
    refusal: str = ""
    """Why nothing can be done with it; empty: it can be used."""

    @property
    def key(self) -> str:
        """Names it in its folder. No file that can be used has the name of one that cannot."""
        return f"\0{self.name}" if self.refusal else self.name

    @property
    def is_folder(self) -> bool:
        """Whether it stands among folders."""
        return self.kind == "dir" or self.leads_to_folder


def row_of_entry(entry: FileEntry) -> FileRow:
    """What a guest says of a file, as far as it can be used."""
    refusal = "its name is not UTF-8" if entry.unusable else ""
    try:
        # SAFETY: a name that is `..`, or has a slash in it, would lead out of the folder it is copied into.
        check_name(entry.name)
        entry.name.encode()
    except (SenselessAnswer, UnicodeEncodeError):
        refusal = refusal or "no file can be called that"
    return FileRow(
        name=entry.name[:MAX_NAME],
        kind=entry.kind,
        size_bytes=entry.size_bytes,
        mode=entry.mode,
        modified_at=entry.modified_at,
        target=entry.target,
        refusal=refusal,
    )


@dataclass(frozen=True, slots=True)
class Listing:
    """What a folder holds."""

    folder: str
    """Its path, absolute."""
    rows: Sequence[FileRow]
    is_cut: bool = False
    """Whether there is more in it than is shown."""


@dataclass(frozen=True, slots=True)
class _Order:
    key: Callable[[FileRow], float | str]
    is_descending: bool = False


ORDERS: Mapping[str, _Order] = MappingProxyType(
    {
        "name": _Order(lambda row: row.name.casefold()),
        "size": _Order(lambda row: row.size_bytes, is_descending=True),
        "changed": _Order(lambda row: row.modified_at.timestamp(), is_descending=True),
        "mode": _Order(lambda row: row.mode),
    }
)
"""By the columns' keys, in the order one asks for the next. What is alike stands in the order of the names."""


class Pane:
    """A folder that is shown.

    Args:
        side: whose it is.
    """

    def __init__(self, side: Side) -> None:
        self.side = side
        self.folder = ""
        """Its path; empty: nothing is shown yet."""
        self.is_cut = False
        """Whether it holds more than is shown."""
        self.sort, self.is_descending = "name", False
        self._known: dict[str, FileRow] = {}
        self._fields: dict[str, Fields] = {}
        self._filter: Filter | None = None
        self._marks: set[str] = set()
        self._order: tuple[str, ...] | None = None
        self._indexes: dict[str, int] = {}
        self._selected: str | None = None
        self._selected_at = 0

    # What comes to be shown.

    def show(self, listing: Listing) -> None:
        """Shows a folder. Of the same one, what is selected and marked stays so."""
        if listing.folder != self.folder:
            # Up: to where one has come from.
            came_from = self.folder if posixpath.dirname(self.folder) == listing.folder else ""
            self._selected, self._selected_at = posixpath.basename(came_from) or None, 0
            self._marks.clear()
        self.folder, self.is_cut = listing.folder, listing.is_cut
        self._known = {}
        for row in listing.rows:
            # A guest may name one twice; the table has one row a name.
            self._known.setdefault(row.key, row)
        self._fields = {}
        self._marks &= self._known.keys()
        self._order = None

    def clear(self) -> None:
        """Shows nothing: there is no folder any more."""
        self.show(Listing("", ()))

    # What is shown.

    def __len__(self) -> int:
        return len(self.order)

    @property
    def known(self) -> int:
        """How many there are, shown or not."""
        return len(self._known)

    @property
    def order(self) -> Sequence[str]:
        """The keys of those that are shown, in their order."""
        if self._order is None:
            wanted = [row for row in self._known.values() if self._is_wanted(row)]
            wanted.sort(key=lambda row: (row.name.casefold(), row.key))
            wanted.sort(key=ORDERS[self.sort].key, reverse=self.is_descending)
            wanted.sort(key=lambda row: not row.is_folder)
            self._order = tuple(row.key for row in wanted)
            self._indexes = {key: index for index, key in enumerate(self._order)}
            self._follow_selected()
        return self._order

    def row(self, key: str) -> FileRow:
        """One of them.

        Raises:
            KeyError: there is none.
        """
        return self._known[key]

    def index_of(self, key: str) -> int | None:
        """Where it is shown."""
        return self._indexes.get(key) if self.order else None

    def set_filter(self, wanted: Filter | None) -> tuple[int, int]:
        """Shows what matches only; returns how many that are, of how many."""
        self._filter, self._order = wanted, None
        return len(self.order), len(self._known)

    @property
    def is_filtered(self) -> bool:
        """Whether only what matches is shown."""
        return self._filter is not None

    @property
    def filtered_by(self) -> str:
        """What was typed for that; empty: nothing."""
        return "" if self._filter is None else self._filter.source

    def sort_by(self, key: str, *, is_descending: bool | None = None) -> None:
        """Sorts by one of `ORDERS`; the way round it usually is wanted, if that is not said."""
        order = ORDERS[key]
        self.sort = key
        self.is_descending = order.is_descending if is_descending is None else is_descending
        self._order = None

    @property
    def next_sort(self) -> str:
        """What one sorts by after what it is sorted by."""
        keys = list(ORDERS)
        return keys[(keys.index(self.sort) + 1) % len(keys)]

    # What a person points at.

    @property
    def selected(self) -> FileRow | None:
        """The row the person is at; None: none is shown."""
        return self._known[self._selected] if self.order and self._selected is not None else None

    def select(self, key: str) -> None:
        """The person goes to a row. One that is not shown changes nothing."""
        index = self.index_of(key)
        if index is not None:
            self._selected, self._selected_at = key, index

    @property
    def marks(self) -> frozenset[str]:
        """The keys of what is marked, shown or not."""
        return frozenset(self._marks)

    def mark_selected(self) -> None:
        """Marks the selected row, or takes its mark away, and goes on to the next."""
        row = self.selected
        if row is None or row.refusal:
            return
        self._marks ^= {row.key}
        self.select(self.order[min(self._selected_at + 1, len(self.order) - 1)])

    def mark_all(self) -> None:
        """Marks all that is shown and can be used."""
        self._marks |= {key for key in self.order if not self._known[key].refusal}

    def clear_marks(self) -> None:
        """Takes all marks away."""
        self._marks.clear()

    @property
    def chosen(self) -> list[FileRow]:
        """What actions are about: what is marked, by name, else what is selected; nothing that cannot be used."""
        if self._marks:
            return [self._known[key] for key in sorted(self._marks)]
        row = self.selected
        return [] if row is None or row.refusal else [row]

    def path_of(self, row: FileRow) -> str:
        """The path of something that can be used.

        Raises:
            ValueError: it cannot be.
        """
        if row.refusal:
            raise ValueError(f"{printable(row.name)}: {row.refusal}")
        return f"{self.folder.rstrip('/')}/{row.name}"

    def place(self, typed: str) -> str:
        """The path of what a person types: absolute, below this folder, or behind `~`, which is a home."""
        if typed.startswith("~"):
            # A relative path begins at the home of the sandbox's user.
            return typed if self.side is Side.HERE else typed.removeprefix("~").lstrip("/") or "."
        return posixpath.normpath(posixpath.join(self.folder, typed))

    @property
    def parent(self) -> str | None:
        """The path of the folder this one is in; None: it is in none."""
        return posixpath.dirname(self.folder) if self.folder not in ("", "/") else None

    def _is_wanted(self, row: FileRow) -> bool:
        if self._filter is None:
            return True
        if row.key not in self._fields:
            shown = printable(row.name)
            kind = _KIND_WORDS.get(row.kind, row.kind)
            self._fields[row.key] = Fields.of(
                row.target, name=shown, kind=kind, path=f"{self.folder}/{shown}"
            )
        return self._filter.matches(self._fields[row.key])

    def _follow_selected(self) -> None:
        """Has something selected that is shown: where it is gone, what stands in its place."""
        assert self._order is not None
        if self._selected not in self._indexes:
            at = min(self._selected_at, len(self._order) - 1)
            self._selected = self._order[at] if self._order else None
        self._selected_at = self._indexes.get(self._selected or "", 0)


@dataclass(slots=True)
class FilePanes:
    """Both of them."""

    here: Pane = field(default_factory=lambda: Pane(Side.HERE))
    sandbox: Pane = field(default_factory=lambda: Pane(Side.SANDBOX))
    active: Side = Side.HERE
    """Where the person is."""

    def of(self, side: Side) -> Pane:
        """One of them."""
        return self.here if side is Side.HERE else self.sandbox

    @property
    def source(self) -> Pane:
        """Where the person is, so what a copy is made of."""
        return self.of(self.active)

    @property
    def target(self) -> Pane:
        """The other one, so what is copied into."""
        return self.of(self.active.other)

    def sorts(self) -> dict[str, Any]:
        """How they are sorted, to be remembered."""
        return {side.value: [self.of(side).sort, self.of(side).is_descending] for side in Side}

    def take_sorts(self, remembered: Mapping[str, Any]) -> None:
        """Sorts as is remembered, as far as it makes sense."""
        for side in Side:
            match remembered.get(side.value):
                case [str(key), bool(is_descending)] if key in ORDERS:
                    self.of(side).sort_by(key, is_descending=is_descending)

    def wanted(self) -> list[Wanted]:
        """What a person would have copied now: what is chosen, into the folder of the other side."""
        source, target = self.source, self.target
        if not target.folder:
            return []
        direction = Direction.UP if source.side is Side.HERE else Direction.DOWN
        may_lead = {"dir", "link"} if source.side is Side.SANDBOX else {"dir"}
        return [
            Wanted(
                direction,
                row.name,
                source.path_of(row),
                target.folder,
                is_folder=row.is_folder or row.kind in may_lead,
            )
            for row in source.chosen
        ]

    def command(self, sandbox_name: str) -> tuple[str, ...]:
        """That copy as `cloche cp` takes it; empty: there is none, or of too many to be named."""
        wanted = self.wanted() if len(self.source.marks) <= _MOST_IN_COMMAND else []
        if not wanted:
            return ()
        if self.active is Side.HERE:
            return (*(one.source for one in wanted), f"{sandbox_name}:{wanted[0].folder}")
        return (*(f"{sandbox_name}:{one.source}" for one in wanted), wanted[0].folder)
