"""The columns of sandboxes, and the fleet as a table asks for it.

Rule: where there is no room, what is the same for most sandboxes leaves first and what asks for a person last. Which
state a sandbox is in, its name and what waits are always there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloche_tui.model.roles import Role
from cloche_tui.model.sandbox_text import BARS, cells
from cloche_tui.widgets.strip_table import Column, TableRow

if TYPE_CHECKING:
    from cloche_tui.model.world import World

COLUMNS = (
    Column("mark", "", 1),
    Column("state", "State", 10),
    Column("name", "Name", 15, most=28),
    Column("waits", "Waits", 5, most=18),
    Column("cpu", "CPU", 5, rank=1, is_right=True),
    Column("cpu_bars", "", BARS, rank=9),
    Column("memory", "Memory", 8, rank=2, is_right=True),
    Column("memory_bars", "", BARS, rank=11),
    Column("age", "Age", 6, rank=4, is_right=True),
    Column("lease", "Lease", 7, rank=3, is_right=True),
    Column("accelerator", "Accel", 5, rank=10),
    Column("viewers", "Viewers", 7, most=16, rank=5),
    Column("recipe", "Recipe", 12, most=24, rank=6),
    Column("owner", "Owner", 6, most=14, rank=8),
    Column("labels", "Labels", 10, most=48, rank=7),
)
SORTED_BY = {"cpu_bars": "cpu", "memory_bars": "memory"}
"""Columns that have the order of another one."""


class FleetRows:
    """The fleet, as the table asks for it."""

    def __init__(self) -> None:
        self.world: World | None = None

    def __len__(self) -> int:
        return len(self.world.fleet.order) if self.world is not None else 0

    def row(self, index: int) -> TableRow:
        """A sandbox that is shown."""
        assert self.world is not None
        fleet = self.world.fleet
        row = fleet.row(fleet.order[index])
        role = Role.MUTED if row.is_gone else Role.PLAIN
        return TableRow(row.info.id, cells(row, self.world.now), is_marked=row.is_marked, role=role)

    def index_of(self, key: str) -> int | None:
        """Where a sandbox is shown."""
        return self.world.fleet.index_of(key) if self.world is not None else None
