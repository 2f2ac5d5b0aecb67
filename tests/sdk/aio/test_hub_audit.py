"""A hub's audit from Python."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

import pytest

from cloche.aio import Hub
from cloche.audit_search import AuditPart
from cloche.errors import BadRequest
from cloche.filters import parse_filter
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


async def test_events_are_read_by_their_numbers(client: Hub, hub: LocalHub) -> None:
    for number in range(5):
        await hub.note("test.happened", None, {"number": number})
    page = await client.read_audit(range(2, 9))
    assert [event.detail["number"] for event in page.events] == [1, 2, 3, 4]
    assert page.names == {"tok_admin": "admin"}


async def test_a_search_tells_what_is_wanted_and_goes_on(client: Hub, hub: LocalHub) -> None:
    for number in range(20):
        await hub.note("test.happened", None, {"number": f"n{number}."})
    wanted = parse_filter("n1")
    assert [part.numbers async for part in client.search_audit(wanted)] == [(2, *range(11, 21))]
    async with asyncio.timeout(10), aclosing(client.search_audit(wanted, follow=True)) as parts:  # type: ignore[type-var]
        assert (await anext(parts)).last == 20
        await hub.note("test.happened", None, {"number": "n1"})
        assert await anext(parts) == AuditPart(21, 21, (21,), 21)


async def test_without_a_filter_everything_is_wanted(client: Hub, hub: LocalHub) -> None:
    await hub.note("test.happened", None, {})
    (part,) = [part async for part in client.search_audit()]
    assert (part.has_all, part.numbers) == (True, range(1, 2))


async def test_expressions_are_put_to_what_the_hub_has_found(client: Hub, hub: LocalHub) -> None:
    for number in range(1200):
        await hub.note("test.happened", None, {"number": f"n{number}."})
    parts = [part async for part in client.search_audit(parse_filter(r"/n\d*99\b/"))]
    assert [part.numbers for part in parts] == [
        (1100, 1200),
        (600, 700, 800, 900, 1000),
        (100, 200, 300, 400, 500),
    ]
    assert [(part.first, part.last) for part in parts] == [(1001, 1200), (501, 1000), (1, 500)]


async def test_expressions_are_put_to_what_comes_too(client: Hub, hub: LocalHub) -> None:
    await hub.note("test.happened", None, {})
    async with (
        asyncio.timeout(10),
        aclosing(client.search_audit(parse_filter("/admin/"), follow=True)) as parts,  # type: ignore[type-var]
    ):
        assert (await anext(parts)).numbers == (1,)
        await hub.note("test.happened", None, {})
        assert (await anext(parts)).numbers == (2,)
