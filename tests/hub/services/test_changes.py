"""What has changed, told to subscribers: the newest state of each thing, whoever reads however slowly."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from cloche_hub.errors import TooLarge
from cloche_hub.services.changes import MOST_OF_ONE, Change, Changes
from tests.support.hub import within


async def test_a_subscriber_gets_what_is_published_from_then_on() -> None:
    changes = Changes()
    changes.publish("approval", "apr_0", "before")
    with changes.subscribed() as news:
        changes.publish("approval", "apr_1", "pending")
        assert await within(news.next()) == Change("approval", "apr_1", "pending")


async def test_who_waits_is_woken_by_the_next_change() -> None:
    changes = Changes()
    with changes.subscribed() as news:
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(within(news.next()))
            await asyncio.sleep(0)
            changes.publish("sandbox", "sb_1", 1)
        assert waiting.result().key == "sb_1"


async def test_one_that_is_behind_gets_the_latest_of_each_thing_once() -> None:
    changes = Changes()
    with changes.subscribed() as news:
        for number in range(1000):
            changes.publish("a", "one", number)
            changes.publish("b", "one", -number)
        assert [await within(news.next()) for _ in range(2)] == [
            Change("a", "one", 999),
            Change("b", "one", -999),
        ]
        changes.publish("a", "two", None)
        assert (await within(news.next())).value is None


async def test_one_that_is_behind_in_too_much_is_ended_and_nobody_else_is() -> None:
    changes = Changes()
    with changes.subscribed(most=3) as slow, changes.subscribed() as quick:
        for number in range(5):
            changes.publish("a", str(number), number)
        with pytest.raises(TooLarge, match="more than 3 things have changed"):
            await within(slow.next())
        assert [(await within(quick.next())).value for _ in range(5)] == list(range(5))


async def test_changes_of_things_it_waits_for_already_take_no_more_room() -> None:
    changes = Changes()
    with changes.subscribed(most=1) as news:
        changes.publish("a", "one", 1)
        changes.publish("a", "one", 2)
        assert (await within(news.next())).value == 2


async def test_what_does_not_concern_a_subscriber_is_not_kept_for_it() -> None:
    changes = Changes()
    with changes.subscribed(concerns=lambda value: value == "hers", most=1) as news:
        for number in range(5):
            changes.publish("a", str(number), "his")
        changes.publish("a", "one", "hers")
        assert await within(news.next()) == Change("a", "one", "hers")


async def test_one_has_so_many_subscriptions_and_others_have_their_own() -> None:
    changes = Changes()
    with contextlib.ExitStack() as stack:
        for _ in range(MOST_OF_ONE):
            stack.enter_context(changes.subscribed(of="tok_a"))
        with pytest.raises(TooLarge, match="follows events 32 times already"):
            stack.enter_context(changes.subscribed(of="tok_a"))
        stack.enter_context(changes.subscribed(of="tok_b"))
    with changes.subscribed(of="tok_a"):
        pass


async def test_cancelling_loses_nothing() -> None:
    changes = Changes()
    with changes.subscribed() as news:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await news.next()
        changes.publish("a", "one", 1)
        assert (await within(news.next())).value == 1


async def test_one_that_has_left_is_told_nothing() -> None:
    changes = Changes()
    with changes.subscribed() as news:
        pass
    changes.publish("a", "one", 1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await news.next()
