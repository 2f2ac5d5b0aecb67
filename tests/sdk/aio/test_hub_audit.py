"""A hub's audit from Python."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

import pytest

from cloche.aio import Hub
from cloche.errors import BadRequest
from cloche.messages import Verified
from tests.support.local_hub import LocalHub
from tests.support.scripted_hub import refuse


async def test_the_audit_is_read_from_its_newest_events(client: Hub, hub: LocalHub) -> None:
    for number in range(5):
        await hub.note("test.happened", f"sb_{number}", {"number": number})
    assert [event.seq async for event in client.audit(limit=2)] == [4, 5]
    assert [event.seq async for event in client.audit(sandbox="sb_1")] == [2]


async def test_the_audit_is_followed_until_the_caller_has_seen_enough(client: Hub, hub: LocalHub) -> None:
    await hub.note("test.happened", None, {})
    seen = []
    async with asyncio.timeout(10), aclosing(client.audit(follow=True)) as events:  # type: ignore[type-var]
        async for event in events:
            seen.append(event.seq)
            if len(seen) == 3:
                break
            await hub.note("test.happened", None, {})
    assert seen == [1, 2, 3]


async def test_a_failing_audit_raises(client: Hub, hub: LocalHub) -> None:
    hub.handlers["audit.tail"] = refuse(BadRequest("name a sandbox"))
    with pytest.raises(BadRequest, match="name a sandbox"):
        [event async for event in client.audit()]


async def test_the_audit_is_verified(client: Hub) -> None:
    assert await client.verify_audit() == Verified(0, "11" * 32)


async def test_the_audit_is_exported_with_its_head_last(client: Hub, hub: LocalHub) -> None:
    await hub.note("test.happened", None, {"b": [1], "a": {}})
    lines = [json.loads(line) async for line in client.export_audit()]
    assert lines == [hub.events[0], {"head": {"hash": "11" * 32, "seq": 1}}]
