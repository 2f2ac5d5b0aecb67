"""`cloche df | prune`: what the hub keeps on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cloche.cli import options
from cloche.cli.output import age, show, show_json, size, table

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.cli.session import Interrupts
    from cloche.messages import DiskUsage


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("df")(df)
    app.command("prune")(prune)


def df(json: options.JsonOption = False) -> int:
    """Show what takes space on disk.

    Images, templates and machines.

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
            show(_account(usage))

    return with_hub(work)


def prune(json: options.JsonOption = False) -> int:
    """Delete what nothing uses.

    Templates no machine runs from, and left-over files.

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


def _account(usage: DiskUsage) -> str:
    rows = [
        (entry.kind, entry.name, size(entry.size_bytes), age(entry.used_at), "yes" if entry.in_use else "no")
        for entry in usage.entries
    ]
    lines = [table(("KIND", "NAME", "SIZE", "USED", "IN USE"), rows)]
    total = size(sum(entry.size_bytes for entry in usage.entries))
    free = "" if usage.free_bytes is None else f", {size(usage.free_bytes)} free"
    lines.append(f"{total} in all{free}" + (f" in {usage.cache}" if usage.cache else ""))
    return "\n".join(lines)
