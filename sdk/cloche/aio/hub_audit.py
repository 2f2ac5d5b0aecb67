"""A hub's audit: read, followed, verified, exported. A part of `Hub`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cloche.answers import Answer
from cloche.audit_search import AuditPage, AuditPart, Question
from cloche.errors import Cancelled
from cloche.messages import AuditEvent, Verified, export_line

if TYPE_CHECKING:
    from cloche.filters import Filter
    from cloche.link import Link

MAX_READ = 500
"""Events that `read_audit` reads at once."""
_AT_A_TIME_S = 0.005
"""How long expressions are put to events before others have their turn."""


class HubAudit:
    """What happened on a hub."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def audit(
        self, *, sandbox: str | None = None, limit: int = 100, follow: bool = False
    ) -> AsyncIterator[AuditEvent]:
        """The newest audit events, oldest first.

        Args:
            sandbox: only those of this one.
            limit: how many of the past, 500 at most.
            follow: whether to go on with what happens from now on, without end.
        """
        params: dict[str, Any] = {"limit": limit, "follow": follow}
        if sandbox is not None:
            params["sandbox"] = sandbox
        channel = self._link.open("audit.tail", params)
        try:
            async for message in channel.messages():
                yield AuditEvent.parse(message)
            await channel.result()
        finally:
            channel.reset(Cancelled("the caller has seen enough"))

    async def read_audit(self, numbers: Sequence[int]) -> AuditPage:
        """Events by their numbers. Those that are not there, or not ours to see, are left out.

        Args:
            numbers: 500 at most; a `range` will do.
        """
        channel = self._link.open("audit.read", {"numbers": list(numbers)})
        try:
            events = [AuditEvent.parse(message) async for message in channel.messages()]
            names = Answer("page of the audit", await channel.result()).mapping("names", str)
        finally:
            channel.reset(Cancelled("the caller has seen enough"))
        return AuditPage(events, names)

    async def search_audit(
        self, wanted: Filter | None = None, *, follow: bool = False
    ) -> AsyncIterator[AuditPart]:
        """Which events are wanted, part by part of the chain: the newest part first, and what is new before what is old.

        Every event is in one part, also one without any that are wanted. The hub decides, but for expressions: these
        are put here to what it has found.

        Args:
            wanted: as `cloche.filters.parse_filter` has it; None: everything. An owner finds what is about its sandboxes.
            follow: whether to go on with what happens from now on, without end.
        """
        question = Question.of(wanted)
        channel = self._link.open("audit.search", {"filter": list(question.message), "follow": follow})
        newest: int | None = None
        try:
            async for message in channel.messages():
                part = AuditPart.parse(message)
                if not question.expressions:
                    yield part
                    continue
                is_old = newest is None or part.last <= newest
                for piece in part.pieces(MAX_READ, newest_first=is_old):
                    yield await self._put(question, piece)
                newest = part.last if newest is None else max(newest, part.last)
            await channel.result()
        finally:
            channel.reset(Cancelled("the caller has seen enough"))

    async def _put(self, question: Question, part: AuditPart) -> AuditPart:
        """What is left of a part when expressions are put to its events."""
        page = await self.read_audit(part.numbers)
        clock = asyncio.get_running_loop().time
        kept, began = [], clock()
        for event in page.events:
            if question.holds(event, page.names):
                kept.append(event.seq)
            if clock() - began > _AT_A_TIME_S:
                await asyncio.sleep(0)
                began = clock()
        return replace(part, numbers=tuple(kept))

    async def verify_audit(self) -> Verified:
        """Walks the whole audit chain.

        Raises:
            AuditBroken: it does not hold; details name the first bad event.
        """
        return Verified.parse(await self._link.call("audit.verify"))

    async def export_audit(self) -> AsyncIterator[str]:
        """The whole audit chain as it is now, verified on the way: one event a line of JSON, then the head.

        Write each line with a line feed behind it, in UTF-8: `cloche audit verify FILE` reads such a file.

        Raises:
            AuditBroken: it does not hold; the lines end before the first bad event, without a head.
        """
        channel = self._link.open("audit.export", {})
        try:
            async for message in channel.messages():
                yield export_line(AuditEvent.parse(message))
            verified = Verified.parse(await channel.result())
            yield export_line({"head": {"hash": verified.head, "seq": verified.events}})
        finally:
            channel.reset(Cancelled("the caller has seen enough"))
