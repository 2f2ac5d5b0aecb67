"""The audit as it comes from the hub: what is wanted, the rows that are looked at, one event in full, an export.

    feed = TrailFeed(session, trail, changed)
    await feed.run()            # in a worker: it ends by being cancelled
    feed.want(filter)           # from now on
    feed.look_at(first, count)  # these places are on the screen

Rules:
- Rows are asked for where somebody looks, a request at a time; places that were left meanwhile are never asked for.
- After a lost connection the search begins anew: the hub behind it may be another.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from cloche.audit_search import AuditPage
from cloche.errors import BadRequest, CodedError, NotFound
from cloche_tui.model.trail import Trail, row_of
from cloche_wire.errors import ungrouped

if TYPE_CHECKING:
    from cloche.filters import Filter
    from cloche_tui.feed.session import Session

TYPING_S = 0.15
"""How long a filter has to stay before it is searched for: people type."""
_AGAIN_S = 1.0
"""How long is waited after an error."""


class TrailFeed:
    """See the module.

    Args:
        session: the connection.
        trail: is changed here, on the loop.
        changed: called after each change; must not wait.
        pause: how to wait for some seconds.
    """

    def __init__(
        self,
        session: Session,
        trail: Trail,
        changed: Callable[[], None],
        *,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._session, self._trail, self._changed, self._pause = session, trail, changed, pause
        self._wanted: Filter | None = None
        self._is_other, self._looked = asyncio.Event(), asyncio.Event()
        self._place = (0, 0)
        self.trouble: str | None = None
        """Why nothing comes; None: it does."""

    def want(self, wanted: Filter | None) -> None:
        """Searches for something else."""
        if wanted != self._wanted:
            self._wanted = wanted
            self._is_other.set()

    def look_at(self, first: int, count: int) -> None:
        """Has the rows in these places fetched, as long as they are looked at."""
        self._place = first, count
        self._looked.set()

    async def run(self) -> None:
        """Searches, follows and fetches for ever."""
        with ungrouped():
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._search_for_ever())
                tasks.create_task(self._fetch_for_ever())

    async def event(self, number: int) -> AuditPage:
        """One event in full.

        Raises:
            CodedError: it is not there, or the hub is away.
        """
        page = await self._session.hub.read_audit([number])
        if not page.events:
            raise NotFound(f"there is no event {number} that this token may see")
        return page

    # Searching.

    async def _search_for_ever(self) -> None:
        while True:
            self._is_other.clear()
            # Whoever is cancelled here has only found what is found again.
            async with asyncio.TaskGroup() as tasks:
                search = tasks.create_task(self._search())
                await self._is_other.wait()
                search.cancel()
            await self._pause(TYPING_S)

    async def _search(self) -> None:
        """Searches for what is wanted and follows it, for ever."""
        while True:
            hub = await self._session.wait_hub()
            is_begun = False
            try:
                async with contextlib.aclosing(hub.search_audit(self._wanted, follow=True)) as parts:  # type: ignore[type-var]
                    async for part in parts:
                        # What was found before is shown until there is something else.
                        if not is_begun:
                            is_begun, self.trouble = True, None
                            self._trail.begin()
                            self._trail.forget_rows()
                        self._trail.add(part)
                        self._tell()
            except CodedError as error:
                self.trouble = error.message
                self._changed()
                if isinstance(error, BadRequest):
                    return
            await self._pause(_AGAIN_S)

    # Fetching.

    async def _fetch_for_ever(self) -> None:
        while True:
            await self._looked.wait()
            self._looked.clear()
            numbers = self._trail.missing(*self._place)
            if numbers:
                await self._fetch(numbers)

    async def _fetch(self, numbers: list[int]) -> None:
        hub = await self._session.wait_hub()
        try:
            page = await hub.read_audit(numbers)
        except CodedError as error:
            self.trouble = error.message
            self._changed()
            await self._pause(_AGAIN_S)
        else:
            self._trail.put([row_of(event, page.names) for event in page.events], asked=numbers)
            self.trouble = None
            self._changed()
        # Somebody may look elsewhere by now, or there is room for what is around.
        self._looked.set()

    def _tell(self) -> None:
        self._looked.set()
        self._changed()
