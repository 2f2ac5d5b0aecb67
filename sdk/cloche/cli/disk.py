"""`cloche df | prune`: what the hub keeps on disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from cloche.cli import options
from cloche.cli.output import SHORT_DIGEST, age, clean_line, show, show_json, show_table, size

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.cli.session import Interrupts
    from cloche.messages import CacheEntry, DiskUsage


_KINDS = {
    "image": "images",
    "rootfs": "root file systems",
    "template": "templates",
    "machine": "machines",
    "other": "other",
}


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("df")(df)
    app.command("prune")(prune)


def df(json: options.JsonOption = False) -> int:
    """Show what takes space on disk.

    By kind, with a sum each. What is in use stays; what is to be pruned, `cloche prune` deletes.

    \b
    Examples:
      cloche df
      cloche df --json
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        usage = await hub.disk_usage()
        if json:
            show_json(usage)
        else:
            if rows := [row for kind, name in _KINDS.items() for row in _group(name, _of_kind(usage, kind))]:
                show_table(("WHAT", "ID", "SIZE", "USED", "STATE"), rows, free=("WHAT",))
            show(_sums(usage))

    return with_hub(work)


def prune(json: options.JsonOption = False) -> int:
    """Delete what nothing uses.

    Templates no machine runs from, images that are neither in use nor their recipe's current one, and left-over
    files. A template is made again when it is needed, which takes seconds.

    \b
    Examples:
      cloche prune
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        freed = await hub.prune()
        if json:
            show_json({"freed_bytes": freed})
        else:
            show(f"freed {size(freed)}")

    return with_hub(work)


def _sums(usage: DiskUsage) -> str:
    total = size(sum(entry.size_bytes for entry in usage.entries))
    free = "" if usage.free_bytes is None else f", {size(usage.free_bytes)} free"
    prunable = sum(entry.size_bytes for entry in usage.entries if entry.prunable)
    lines = [
        clean_line(f"{total} in all{free}" + (f" in {usage.cache}" if usage.cache else "")),
        f"cloche prune would free {size(prunable)}" if prunable else "nothing to prune",
    ]
    return "\n".join(lines)


def _of_kind(usage: DiskUsage, kind: str) -> list[CacheEntry]:
    """The entries of one kind; those of kinds this version does not know are `other`."""
    return [entry for entry in usage.entries if (entry.kind if entry.kind in _KINDS else "other") == kind]


def _group(name: str, entries: Sequence[CacheEntry]) -> list[tuple[str, ...]]:
    """A line for the group and one for each entry, by name; nothing if there is none."""
    if not entries:
        return []
    total = sum(entry.size_bytes for entry in entries)
    lines = [
        (f"  {entry.title}", _short(entry), size(entry.size_bytes), age(entry.used_at), _state(entry))
        for entry in sorted(entries, key=lambda entry: (entry.title, entry.used_at))
    ]
    return [(name, "", size(total), "", ""), *lines]


def _short(entry: CacheEntry) -> str:
    return entry.name[:SHORT_DIGEST] if entry.kind in ("image", "rootfs") else entry.name.split()[0]


def _state(entry: CacheEntry) -> str:
    if entry.in_use:
        return "in use"
    return "to be pruned" if entry.prunable else "kept"
