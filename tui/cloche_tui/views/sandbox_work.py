"""Making and ending sandboxes: what is asked, what the hub is asked then, and what is said of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cloche.errors import CodedError
from cloche_tui.dialogs.confirm import Confirm
from cloche_tui.dialogs.create import CreateDialog
from cloche_tui.dialogs.outcomes import Outcomes
from cloche_tui.model.figures import count
from cloche_tui.model.roles import Role, Span, line
from cloche_tui.model.sandbox_rows import Row
from cloche_tui.model.sandbox_text import losses

if TYPE_CHECKING:
    from cloche import ImageInfo, Progress, SandboxInfo
    from cloche_tui.model.creation import CreateRequest
    from cloche_tui.views.view import Dashboard

_AT_ONCE = 8
"""Sandboxes that are destroyed at the same time."""


async def create_sandbox(dashboard: Dashboard, recipe: str) -> SandboxInfo | None:
    """Asks what a sandbox is to be and has it made; None: nobody wanted one after all.

    Args:
        dashboard: where it is asked.
        recipe: what stands in the form at first; empty: the usual one.
    """

    async def make(request: CreateRequest, on_progress: Callable[[Progress], None]) -> SandboxInfo:
        made = await dashboard.session.hub.create(
            request.recipe,
            request.flavor,
            name=request.name,
            env=request.env,
            labels=request.labels,
            lease_s=request.lease_s,
            secrets=request.secrets or None,
            on_progress=on_progress,
        )
        return made.info

    async def images() -> Sequence[ImageInfo]:
        return await dashboard.session.hub.images()

    info = await dashboard.ask(CreateDialog(make, images, recipe=recipe))
    if info is not None:
        took_s = sum(info.timings.values())
        dashboard.say(f"{info.name} runs" + (f", made in {took_s:.1f} s" if took_s else ""), Role.GOOD)
    return info


async def destroy_sandboxes(dashboard: Dashboard, doomed: Sequence[Row]) -> None:
    """Asks whether these are really to go, has the hub end them, and says what became of each.

    Args:
        dashboard: where it is asked.
        doomed: as they are now; they are named by their ids from here on, whatever changes meanwhile.
    """
    if not doomed or not await dashboard.ask(_question(doomed)):
        return
    heading = f"Destroying {count(len(doomed), 'sandbox', 'sandboxes')}"
    outcomes = Outcomes(heading, {row.info.id: row.info.name for row in doomed})
    gate = asyncio.Semaphore(_AT_ONCE)
    async with asyncio.TaskGroup() as tasks:
        if len(doomed) > 1:
            tasks.create_task(dashboard.ask(outcomes))
        for row in doomed:
            tasks.create_task(_destroy_one(dashboard, row, gate, outcomes, is_alone=len(doomed) == 1))


async def _destroy_one(
    dashboard: Dashboard, row: Row, gate: asyncio.Semaphore, outcomes: Outcomes, *, is_alone: bool
) -> None:
    try:
        async with gate:
            sandbox = await dashboard.session.hub.sandbox(row.info.id)
            await sandbox.remove()
    except CodedError as error:
        is_done, text = False, error.message
    else:
        is_done, text = True, "destroyed"
    outcomes.tell(row.info.id, is_done=is_done, text=text)
    if is_alone:
        told = f"{row.info.name} destroyed" if is_done else f"{row.info.name}: {text}"
        dashboard.say(told, Role.GOOD if is_done else Role.BAD)


def _question(doomed: Sequence[Row]) -> Confirm:
    several = len(doomed) > 1
    end = "Their machines end, and their disks are" if several else "Its machine ends, and its disk is"
    heading = f"Destroy {len(doomed)} sandboxes?" if several else f"Destroy {doomed[0].info.name}?"
    return Confirm(
        heading,
        [*losses(doomed), line(Span(f"{end} deleted.", Role.MUTED))],
        verb="destroy",
        number=len(doomed) if several else None,
    )
