"""A sandbox's file as the hub tells of it: parsed here, at the border. Pure; see `cloche.messages`.

Rule: all of it is the guest's word. Nothing here says that a name is one to be used on this host (`cloche.transfer`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from cloche.answers import Answer

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file, folder or link in a sandbox."""

    name: str
    path: str
    """Absolute."""
    kind: str
    """file, dir, link or other (a device, a socket, a FIFO)."""
    size_bytes: int
    mode: int
    """Permission bits, such as 0o644."""
    uid: int
    gid: int
    mtime_ns: int
    """When it was last changed, in nanoseconds since 1970."""
    target: str | None
    """What a link says; None of anything else."""
    unusable: bool
    """Whether its name is no text: it is shown with escapes and cannot be asked for."""

    @property
    def modified_at(self) -> datetime:
        """When it was last changed, as far as a date can say."""
        try:
            return _EPOCH + timedelta(microseconds=self.mtime_ns // 1000)
        except OverflowError:
            return _EPOCH

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("file", value)
        return cls(
            name=read.text("name"),
            path=read.text("path"),
            kind=read.text("kind"),
            size_bytes=read.whole("size_bytes"),
            mode=read.whole("mode"),
            uid=read.whole("uid"),
            gid=read.whole("gid"),
            mtime_ns=read.whole("mtime_ns"),
            target=read.optional("target", read.text),
            unusable=read.optional("unusable", read.flag) or False,
        )


@dataclass(frozen=True, slots=True)
class Passed:
    """What the hub saw pass of a file's content."""

    size_bytes: int
    sha256: str

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From the result of a read or a write."""
        read = Answer("result", value)
        return cls(read.whole("size_bytes"), read.text("sha256"))
