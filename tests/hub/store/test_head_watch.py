"""Waiting for the end of the chain to move."""

from __future__ import annotations

import asyncio

import pytest

from cloche_hub.domain.audit import GENESIS, Head
from cloche_hub.errors import ShuttingDown
from cloche_hub.store.head_watch import HeadWatch

HEAD = Head(3, "a" * 64)


def test_a_chain_begins_at_its_genesis() -> None:
    assert HeadWatch().head == GENESIS


async def test_who_waits_beyond_an_event_wakes_once_the_chain_is_beyond_it() -> None:
    watch = HeadWatch()
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        early = tasks.create_task(watch.wait_beyond(0))
        late = tasks.create_task(watch.wait_beyond(3))
        await asyncio.sleep(0)
        watch.announce(HEAD)
        assert await early == HEAD
        assert not late.done()
        watch.announce(Head(4, "b" * 64))
        assert await late == Head(4, "b" * 64)


async def test_who_comes_late_does_not_wait() -> None:
    watch = HeadWatch()
    watch.announce(HEAD)
    async with asyncio.timeout(5):
        assert await watch.wait_beyond(2) == HEAD


async def test_closing_ends_every_wait_and_those_to_come() -> None:
    watch = HeadWatch()
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(_refused(watch))
        await asyncio.sleep(0)
        watch.close()
        await waiting
        await _refused(watch)


async def _refused(watch: HeadWatch) -> None:
    with pytest.raises(ShuttingDown):
        await watch.wait_beyond(0)
