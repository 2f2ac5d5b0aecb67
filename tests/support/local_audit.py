"""The audit of a hub without machines: a list of events. See `tests.support.local_hub`."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from cloche_wire.aio import Channel

THEN = "2026-01-02T03:04:05.678901Z"
HEAD = "11" * 32


class LocalAudit:
    """Events, and what clients ask about them."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._happened = asyncio.Condition()
        self.handlers = {
            "audit.tail": self._tail,
            "audit.read": self._read,
            "audit.search": self._search,
            "audit.verify": self._verify,
            "audit.export": self._export,
        }

    async def note(self, event: str, sandbox: str | None, detail: dict[str, Any]) -> None:
        """Adds an event."""
        async with self._happened:
            self.events.append(
                {
                    "seq": len(self.events) + 1,
                    "at": THEN,
                    "event": event,
                    "actor": "tok_admin",
                    "sandbox": sandbox,
                    "detail": detail,
                    "prev_hash": "00" * 32,
                    "hash": HEAD,
                }
            )
            self._happened.notify_all()

    async def _wait_beyond(self, told: int) -> None:
        async with self._happened:
            await self._happened.wait_for(lambda: len(self.events) > told)

    async def _tail(self, channel: Channel) -> None:
        channel.accept()
        told = max(0, len(self.events) - channel.params["limit"])
        while True:
            for event in self.events[told:]:
                if channel.params.get("sandbox") in (None, event["sandbox"]):
                    await channel.send_message(event)
            told = len(self.events)
            if not channel.params["follow"]:
                return channel.close({})
            await self._wait_beyond(told)

    async def _read(self, channel: Channel) -> None:
        channel.accept()
        for number in channel.params["numbers"]:
            if number <= len(self.events):
                await channel.send_message(self.events[number - 1])
        channel.close({"names": {"tok_admin": "admin"}})

    async def _search(self, channel: Channel) -> None:
        """Finds by texts only, and all at once."""
        channel.accept()
        texts = [term["values"][0] for term in channel.params["filter"]]
        told = 0
        while True:
            head = len(self.events)
            new = [(event["seq"], json.dumps(event)) for event in self.events[told:]]
            found = [number for number, written in new if all(text in written for text in texts)]
            numbers = found if texts else None
            await channel.send_message({"first": told + 1, "last": head, "numbers": numbers, "head": head})
            told = head
            if not channel.params["follow"]:
                return channel.close({})
            await self._wait_beyond(told)

    async def _verify(self, channel: Channel) -> None:
        channel.close({"events": len(self.events), "head": HEAD})

    async def _export(self, channel: Channel) -> None:
        channel.accept()
        for event in self.events:
            await channel.send_message(event)
        await self._verify(channel)
