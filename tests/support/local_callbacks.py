"""Callbacks and approvals for a hub without machines: a test plays the guest, and sees what clients did.

hub.callbacks.call("pay.send", {"amount": 3})       a guest calls; some client has registered for it
hub.approvals.ask("pay.send", {"amount": 3})        a call that waits for a decision
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from fnmatch import fnmatchcase
from typing import Any

from cloche_wire.aio import Channel
from cloche_wire.errors import BadRequest, Conflict, NoHandler, NotFound
from cloche_wire.frames import Fields
from tests.support.scripted_hub import Handler

THEN = "2026-01-02T03:04:05.678901Z"
LATER = "2999-01-02T03:04:05.678901Z"


class LocalCallbacks:
    """`callback.serve`, and the calls a test makes."""

    def __init__(self) -> None:
        self.registered: list[Channel] = []
        """The channels of the registrations there are, in order."""
        self.refuses: Exception | None = None
        """What a registration is refused with."""
        self._changed = asyncio.Condition()
        self.handlers: dict[str, Handler] = {"callback.serve": self._serve}

    async def wait_registered(self, count: int) -> None:
        """Waits until there are so many registrations."""
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: len(self.registered) == count)

    def open(self, method: str, params: Any = None, **changes: Any) -> Channel:
        """Makes a call to whoever registered last for its method.

        Args:
            method: what is called.
            params: any JSON value.
            changes: of what the hub says.
        """
        for serving in reversed(self.registered):
            if any(fnmatchcase(method, pattern) for pattern in serving.params["methods"]):
                said = {
                    "registration": serving.params["registration"],
                    "callback": "cb_1",
                    "sandbox": "sb_0001",
                    "sandbox_name": "box",
                    "owner": "admin",
                    "labels": {},
                    "method": method,
                    "params": json.dumps(params).encode(),
                    "approval": None,
                }
                return serving.open_beside("callback", {**said, **changes}, window=0)
        raise NoHandler(f"nobody answers {method!r}")

    async def call(self, method: str, params: Any = None, **changes: Any) -> Any:
        """What a call comes to."""
        async with asyncio.timeout(10):
            return json.loads((await self.open(method, params, **changes).result())["result"])

    async def _serve(self, channel: Channel) -> None:
        if self.refuses is not None:
            raise self.refuses
        await self._tell(lambda: self.registered.append(channel))
        try:
            channel.accept({}, window=0)
            await channel.wait_confirmed()
        finally:
            await self._tell(lambda: self.registered.remove(channel))

    async def _tell(self, change: Any) -> None:
        change()
        async with self._changed:
            self._changed.notify_all()


class LocalApprovals:
    """The requests about approvals; `asked` are those there are, the newest first."""

    def __init__(self) -> None:
        self.asked: list[Fields] = []
        self.omitted = 0
        """How many a list says it leaves out."""
        self._changed = asyncio.Condition()
        self.handlers: dict[str, Handler] = {
            "approval.list": self._list,
            "approval.show": self._show,
            "approval.approve": self._approve,
            "approval.deny": self._deny,
            "events": self._events,
        }

    def ask(self, method: str = "pay.send", params: Any = None, **changes: Any) -> Fields:
        """A call that waits."""
        text = json.dumps(params, ensure_ascii=False)
        approval = {
            "id": f"apr_{len(self.asked) + 1:04}",
            "sandbox": "sb_0001",
            "sandbox_name": "box",
            "owner": "alice",
            "labels": {"team": "ml"},
            "callback": f"cb_{len(self.asked) + 1}",
            "method": method,
            "params": text,
            "params_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "params_bytes": len(text.encode()),
            "caller": {"pid": 7, "uid": 1000, "program": "python3"},
            "rule": "by hand",
            "state": "pending",
            "created_at": THEN,
            "deadline_at": LATER,
            "on_deadline": "deny",
            "decided_at": None,
            "decided_by": None,
            "reason": None,
        }
        self.asked.insert(0, {**approval, **changes})
        return self.asked[0]

    async def change(self, approval: Fields, **fields: Any) -> None:
        """Something happens to an approval."""
        async with self._changed:
            approval.update(fields)
            self._changed.notify_all()

    def _find(self, reference: str) -> Fields:
        found = [one for one in self.asked if one["id"].startswith(reference)]
        if not found:
            raise NotFound(f"no approval {reference!r}")
        return found[0]

    async def _list(self, channel: Channel) -> None:
        states = channel.params["states"]
        if "nonsense" in states:
            raise BadRequest("states must be of: pending, …")
        found = [one for one in self.asked if one["state"] in states][: channel.params["limit"]]
        channel.close({"approvals": found, "omitted": self.omitted})

    async def _show(self, channel: Channel) -> None:
        channel.close(self._find(channel.params["approval"]))

    async def _approve(self, channel: Channel) -> None:
        approval = self._find(channel.params["approval"])
        params = channel.params.get("params")
        if params is None or json.loads(params) == json.loads(approval["params"]):
            return await self._decide(channel, state="approved")
        diff = ["--- asked", "+++ approved", f"-{approval['params']}", f"+{params}"]
        return await self._decide(channel, state="edited", approved_params=params, diff=diff)

    async def _deny(self, channel: Channel) -> None:
        await self._decide(channel, state="denied", reason=channel.params["reason"])

    async def _decide(self, channel: Channel, **fields: Any) -> None:
        approval = self._find(channel.params["approval"])
        if approval["state"] != "pending":
            raise Conflict(f"approval {approval['id']} is {approval['state']} already by tok_other")
        await self.change(approval, **fields, decided_at=THEN, decided_by="tok_me")
        channel.close(approval)

    async def _events(self, channel: Channel) -> None:
        assert channel.params["topics"] == ["approval"]
        channel.accept()
        told: dict[str, Fields] = {}
        change = "current"
        while True:
            for approval in reversed(self.asked):
                is_news = told.get(approval["id"]) != approval
                told[approval["id"]] = dict(approval)
                if is_news and (change == "changed" or approval["state"] == "pending"):
                    await channel.send_message({"topic": "approval", "change": change, "value": approval})
            if change == "current":
                await channel.send_message({"topic": "current_end"})
                change = "changed"
            async with self._changed:
                await self._changed.wait_for(lambda: any(told.get(one["id"]) != one for one in self.asked))
