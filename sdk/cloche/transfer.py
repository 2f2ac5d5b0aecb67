"""What is copied between this host and a sandbox, decided before a byte is: a plan, its bounds, and what is left out.

Pure: `local_tree` touches this host's disk, `aio.copying` asks the hub.

Rules:
- SAFETY: whatever a sandbox or a hub says of a tree is hostile to this host. A name is one component. A link is made
  only if it cannot lead out of the tree, and after everything else. Set-uid, set-gid and sticky bits are dropped.
- A tree has so many entries and is so deep, and no more: what a plan takes in memory is bounded.
- What cannot be copied as what it is (a device, a link that leads out) is left out and told, never guessed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cloche.errors import SenselessAnswer, TooLarge

Kind: TypeAlias = Literal["file", "dir", "link"]
OnProgress: TypeAlias = Callable[[int, int, str], None]
"""Told bytes copied so far, of how many, and the path of the file that is being copied. Must not block."""

MAX_ENTRIES = 500_000
MAX_DEPTH = 100
MAX_NAME = 255
"""Bytes of one name, as Linux has it."""
UNSIZED_MOST = 16 << 20
"""Bytes of a file that says it has none, as the kernel's own do."""
_MAX_TARGET = 4095
_PERMISSIONS = 0o777


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One file, folder or link of a tree.

    Attributes:
        folder: what it is in; None for what was asked for itself.
        name: one component; empty for what was asked for itself, since the caller says what it is called.
        mode: permission bits, and nothing else.
    """

    folder: Item | None
    name: str
    kind: Kind
    size_bytes: int = 0
    mode: int = 0o644
    mtime_ns: int = 0
    target: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names that lead to it from the root."""
        names: list[str] = []
        here: Item | None = self
        while here is not None:
            if here.name:
                names.append(here.name)
            here = here.folder
        return tuple(reversed(names))

    @property
    def depth(self) -> int:
        """How many folders it is in, the root among them."""
        depth, here = 0, self.folder
        while here is not None:
            depth, here = depth + 1, here.folder
        return depth

    @property
    def path(self) -> str:
        """Where it is in the tree, for a person; `.` is the root."""
        return "/".join(self.parts) or "."


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was left out."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied."""

    files: int
    """Files, without folders and links."""
    bytes: int
    duration_s: float
    skipped: tuple[Skipped, ...]
    """What was left out because it cannot be copied as what it is."""


@dataclass(slots=True)
class Plan:
    """A tree to be copied.

    Args:
        max_entries: more than these are too many.
        max_depth: deeper is too deep.
    """

    max_entries: int = MAX_ENTRIES
    max_depth: int = MAX_DEPTH
    folders: list[Item] = field(default_factory=list)
    """Each behind the one it is in."""
    files: list[Item] = field(default_factory=list)
    links: list[Item] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def add(self, item: Item) -> None:
        """Takes an item up.

        Raises:
            TooLarge: there are too many, or it is too deep.
        """
        if item.depth > self.max_depth:
            raise TooLarge(f"{_end_of(item.path)}: folders are nested more than {self.max_depth} deep")
        {"dir": self.folders, "file": self.files, "link": self.links}[item.kind].append(item)
        self._check_count()

    def skip(self, path: str, reason: str) -> None:
        """Takes note of what is left out; raises as `add`."""
        self.skipped.append(Skipped(path, reason))
        self._check_count()

    def _check_count(self) -> None:
        count = len(self.folders) + len(self.files) + len(self.links) + len(self.skipped)
        if count > self.max_entries:
            raise TooLarge(
                f"there are more than {self.max_entries} files; copy them in parts, or as an archive"
            )

    @property
    def size_bytes(self) -> int:
        """All files together."""
        return sum(item.size_bytes for item in self.files)

    def levels(self) -> Iterator[list[Item]]:
        """The folders, those of one depth together, the outermost first."""
        by_depth: dict[int, list[Item]] = {}
        for item in self.folders:
            by_depth.setdefault(item.depth, []).append(item)
        for depth in sorted(by_depth):
            yield by_depth[depth]


class Tally:
    """What has been copied so far.

    Args:
        total: bytes that are to be.
        on_progress: is told.
    """

    def __init__(self, total: int, on_progress: OnProgress | None) -> None:
        self.files = self.bytes = 0
        self._total, self._on_progress = total, on_progress
        self._began = time.monotonic()

    @property
    def duration_s(self) -> float:
        """How long it has taken."""
        return time.monotonic() - self._began

    def moved(self, count: int, path: str) -> None:
        """More of a file."""
        self.bytes += count
        if self._on_progress is not None:
            # A file may turn out larger than its folder said.
            self._on_progress(self.bytes, max(self._total, self.bytes), path)

    def copied(self, path: str) -> None:
        """A file is complete."""
        self.files += 1
        self.moved(0, path)


def permissions(mode: int) -> int:
    """The bits of a mode that are copied."""
    # SAFETY: a set-uid program of a guest must not be one here.
    return mode & _PERMISSIONS


def check_name(name: str) -> str:
    """A name from a listing that is safe to be made in a folder of this host.

    Raises:
        SenselessAnswer: it is none; no folder has such an entry.
    """
    # SAFETY: the name is the guest's. With a slash, or as `..`, it would lead out of the folder it is made in.
    if name in ("", ".", "..") or "/" in name or "\0" in name or len(_encoded(name)) > MAX_NAME:
        raise SenselessAnswer(
            f"a folder in the sandbox is said to hold {_end_of(name)!r}, which is no file's name"
        )
    return name


def stays_inside(target: str, depth: int) -> bool:
    """Whether a link cannot lead out of the tree it is in, whatever other links of that tree say.

    Args:
        target: what it says.
        depth: how many folders of the tree it is in.
    """
    # SAFETY: the target is the guest's. `..` counts only at the beginning, where it is taken from the folder the link
    # really is in: behind another link (`a/link/..`) it could be anywhere.
    if not target or target.startswith("/") or "\0" in target or len(_encoded(target)) > _MAX_TARGET:
        return False
    parts = [part for part in target.split("/") if part not in ("", ".")]
    up = next((count for count, part in enumerate(parts) if part != ".."), len(parts))
    # The root itself is one of the folders.
    return ".." not in parts[up:] and up < depth


def most_bytes(announced: int) -> int:
    """The most that is taken of a file of that announced size."""
    return announced if announced > 0 else UNSIZED_MOST


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def _end_of(text: str) -> str:
    return text if len(text) <= 200 else f"…{text[-200:]}"
