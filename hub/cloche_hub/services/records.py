"""What is written down although the disk may be full: at once where that goes, otherwise as soon as it does.

A beginning that cannot be recorded is refused (`Store.write` raises). An ending cannot be refused: it happens, its
record waits here, and the reaper tries again every second.

Rule: what waits is written in the order in which it happened, for later changes of a row overwrite earlier ones.
Rule: only endings come here, of what was recorded before or was begun while nothing waited (`are_waiting`); so what
waits is bounded by what was under way.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping

import structlog

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.errors import NoSpace, StoreFailed
from cloche_hub.ports import Store, Transaction

_log = structlog.get_logger(__name__)

Change = Callable[[Transaction], object]


class Records:
    """Writes endings.

    Args:
        store: where they go.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: deque[Change] = deque()
        self._turn = asyncio.Lock()
        self._why = ""

    @property
    def are_waiting(self) -> bool:
        """Whether something that has happened is not durable yet, because it could not be written at once."""
        return bool(self._waiting)

    async def keep(self, change: Change) -> bool:
        """Writes a change, or keeps it for later; returns whether it is durable already. Raises nothing.

        Cancelling it leaves the change made.
        """
        if not self._waiting and not self._turn.locked() and await self._is_done_with(change):
            return True
        self._waiting.append(change)
        await self.catch_up()
        if self._waiting:
            _log.error("not_recorded_yet", reason=self._why, waiting=len(self._waiting))
        return not self._waiting

    async def catch_up(self) -> None:
        """Writes what waits, up to the first change that still cannot be written. Raises nothing."""
        async with self._turn:
            while self._waiting:
                # Taken out before it is tried: whoever cancels this must not have it written twice.
                change = self._waiting.popleft()
                if not await self._is_done_with(change):
                    self._waiting.appendleft(change)
                    return

    async def _is_done_with(self, change: Change) -> bool:
        try:
            await self._store.write(change)
        except (NoSpace, StoreFailed) as error:
            self._why = str(error)
            return False
        except Exception:
            # A defect in the change itself: it will never go through, and must not keep those behind it.
            _log.exception("never_recorded")
        return True


def updating(sandbox: Sandbox, event: AuditName, *, actor: str, detail: Mapping[str, Json]) -> Change:
    """A sandbox's row as it is now, and the event that made it so."""

    def change(transaction: Transaction) -> None:
        transaction.update_sandbox(sandbox)
        transaction.append_audit(event, actor=actor, sandbox=sandbox.id, detail=detail)

    return change


def noting(
    event: AuditName, *, actor: str, sandbox: str | None = None, detail: Mapping[str, Json] | None = None
) -> Change:
    """An event and nothing else."""
    return lambda transaction: transaction.append_audit(event, actor=actor, sandbox=sandbox, detail=detail)
