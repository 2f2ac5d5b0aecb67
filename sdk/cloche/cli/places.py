"""What `cloche cp` is asked: which side is a sandbox, and what a copy is called. Pure.

The rules are those of `cp -r`: into a folder that is there, under its own name; else exactly what is asked. A slash at
the end asks for a folder. `DIR/.` is what is in DIR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import typer

STDIO = "-"


@dataclass(frozen=True, slots=True)
class Place:
    """One side of a copy."""

    sandbox: str | None
    """None: this host."""
    path: str

    @property
    def is_stdio(self) -> bool:
        """Whether it is standard input or output."""
        return self.sandbox is None and self.path == STDIO

    @property
    def name(self) -> str:
        """What it is called in the folder it is copied into; empty where only what is in it is copied."""
        name = self.path.rstrip("/").rpartition("/")[2]
        return "" if name in (".", "..") else name

    @property
    def wants_folder(self) -> bool:
        """Whether only a folder will do."""
        return self.path.endswith("/")

    def __str__(self) -> str:
        return self.path if self.sandbox is None else f"{self.sandbox}:{self.path}"


@dataclass(frozen=True, slots=True)
class Request:
    """What is copied where: one side is a sandbox's, the other is here."""

    sources: Sequence[Place]
    target: Place

    @property
    def is_upload(self) -> bool:
        """Whether it goes into a sandbox."""
        return self.target.sandbox is not None


def parse_place(text: str) -> Place:
    """`SANDBOX:PATH`, a path of this host, or `-`. What has a slash before its colon is a path of this host.

    Raises:
        BadParameter: it is empty.
    """
    sandbox, colon, path = text.partition(":")
    if not text or (colon and not sandbox):
        raise typer.BadParameter(f"{text!r} names nothing; give SANDBOX:PATH, a path of this host, or -")
    if not colon or "/" in sandbox:
        return Place(None, text)
    return Place(sandbox, path or ".")


def parse_request(texts: Sequence[str]) -> Request:
    """What is to be copied where.

    Raises:
        BadParameter: it is not from one side to the other.
    """
    if len(texts) < 2:
        raise typer.BadParameter("give what to copy, and where: one of them as SANDBOX:PATH")
    *sources, target = map(parse_place, texts)
    if any(source.sandbox is None for source in sources) is (target.sandbox is None):
        raise typer.BadParameter(_same_side(sources, target))
    if len({source.sandbox is None for source in sources}) > 1:
        raise typer.BadParameter("what is copied must be all here or all in sandboxes")
    if len(sources) > 1 and (target.is_stdio or any(source.is_stdio for source in sources)):
        raise typer.BadParameter("standard input or output takes one file")
    # What comes through a pipe has no name of its own.
    if sources[0].is_stdio and (not target.name or target.wants_folder):
        raise typer.BadParameter(f"give a file name behind {texts[-1]}")
    return Request(sources, target)


def _same_side(sources: Sequence[Place], target: Place) -> str:
    if target.sandbox is None:
        return f"one side must be in a sandbox: SANDBOX:PATH; both {sources[0]} and {target} are here"
    to = str(target)
    if (not target.name or target.wants_folder) and sources[0].name:
        to = f"{to.removesuffix('/')}/{sources[0].name}"
    return f"copy through this host: cloche cp {sources[0]} - | cloche cp - {to}"


def destination(source: Place, target: Place, *, is_folder: bool) -> str:
    """The path a source is copied to.

    Args:
        source: what is copied.
        target: where to.
        is_folder: whether the target is a folder that is there.
    """
    if is_folder and source.name:
        return f"{target.path.rstrip('/')}/{source.name}"
    return target.path.rstrip("/") or "/"
