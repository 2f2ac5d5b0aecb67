"""Messages on a channel's stream 0."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cloche_wire.aio import Channel
from cloche_wire.errors import BadRequest
from tests.support.links import SMALL, Links, joined, quiet
from tests.wire.aio.guests import WINDOW, Guests, collect, unread


class TestMessages:
    async def test_values_of_every_kind_pass_both_ways(self, links: Links) -> None:
        values: list[Any] = [
            None,
            True,
            -5,
            1 << 40,
            1.5,
            "text",
            b"bytes",
            [1, [2]],
            {"key": {"inner": []}},
            "x" * 500,
        ]

        async def serve(channel: Channel) -> None:
            channel.accept()
            async for message in channel.messages():
                await channel.send_message(message)
            channel.end(0)
            channel.close()

        async def send() -> None:
            for value in values:
                await channel.send_message(value)
            channel.end(0)

        async with joined(links, on_open=serve, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("audit.tail")
            tasks.create_task(send())
            assert [value async for value in channel.messages()] == values

    async def test_messages_of_several_senders_do_not_mix_however_large(self, links: Links) -> None:
        async def serve(channel: Channel) -> None:
            channel.accept()
            channel.close({"seen": [message["who"] async for message in channel.messages()]})

        async def send(who: int) -> None:
            for _ in range(5):
                await channel.send_message({"who": who, "what": "x" * (WINDOW * who // 2)})

        async with joined(links, on_open=serve, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("chat")
            async with asyncio.TaskGroup() as tasks:
                for who in range(6):
                    tasks.create_task(send(who))
            channel.end(0)
            result = await channel.result()
            assert sorted(result["seen"]) == sorted(list(range(6)) * 5)

    async def test_a_message_that_comes_as_another_waits_for_credit_goes_behind_it(
        self, links: Links
    ) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("chat")
            served = await guests.next()
            served.accept()
            tasks.create_task(channel.send_message("x" * 3 * WINDOW))
            await quiet()
            reading = tasks.create_task(collect(served))
            while not channel.credit(0):
                await asyncio.sleep(0)
            # There is credit now, and who waited for it has not run yet.
            await channel.send_message("next")
            channel.end(0)
            assert await reading == ["x" * 3 * WINDOW, "next"]
            served.close()

    async def test_a_cancelled_message_is_sent_whole_or_not_at_all(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("chat")
            served = await guests.next()
            served.accept()
            await channel.wait_accepted()
            # Room for a part of the next message, but not for all of it.
            await channel.write(0, b"\xc0" * (WINDOW - 10))
            sending = tasks.create_task(channel.send_message("x" * 20))
            await quiet()
            sending.cancel()
            await quiet()
            assert unread(served) == WINDOW - 10
            reading = tasks.create_task(collect(served))
            await channel.send_message("after")
            channel.end(0)
            assert await reading == [None] * (WINDOW - 10) + ["after"]
            served.close()

    async def test_a_later_loop_goes_on_with_the_next_message(self, links: Links) -> None:
        async def serve(channel: Channel) -> None:
            channel.accept()
            for number in range(6):
                await channel.send_message(number)
            channel.close()

        async with joined(links, on_open=serve, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("count")
            async for first in channel.messages():
                assert first == 0
                break
            assert [number async for number in channel.messages()] == [1, 2, 3, 4, 5]

    async def test_bytes_that_are_no_message_are_a_bad_request(self, links: Links) -> None:
        async def serve(channel: Channel) -> None:
            channel.accept()
            async for _message in channel.messages(max_bytes=20):
                pass

        async with joined(links, on_open=serve, limits=SMALL) as pair:
            await pair.link()
            for data in (b"\xc1", b"\xd9\x20" + b"x" * 32, b"\xdd\xff\xff\xff\xff"):
                channel = pair.leader.open("chat")
                await channel.write(0, data)
                with pytest.raises(BadRequest):
                    await channel.result()
