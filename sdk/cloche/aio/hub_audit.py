"""A hub's audit: read, followed, verified, exported. A part of `Hub`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from cloche.errors import Cancelled
from cloche.messages import AuditEvent, Verified, export_line

if TYPE_CHECKING:
    from cloche.link import Link


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
