"""Every wait on a channel can be cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.links import SMALL, Links, joined, quiet
from tests.wire.aio.guests import BULK, WINDOW, Guests, read_all, write_and_end


class TestCancelling:
    @pytest.mark.parametrize("turns", range(6))
    async def test_a_cancelled_read_loses_nothing_in_whichever_turn_the_bytes_come(
        self, links: Links, turns: int
    ) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            seen = b""
            for number in range(10):
                reading = tasks.create_task(channel.read(1))
                await quiet()
                await served.write(1, bytes([number]))
                for _ in range(turns):
                    await asyncio.sleep(0)
                reading.cancel()
                await asyncio.wait({reading})
                if not reading.cancelled():
                    seen += reading.result()
            served.end(1)
            assert seen + await read_all(channel) == bytes(range(10))
            served.close()

    async def test_a_cancelled_write_has_sent_a_beginning_and_nothing_of_it_later(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            writing = tasks.create_task(channel.write(1, BULK))
            await quiet()
            writing.cancel()
            await quiet()
            assert await served.read(1) == BULK[:WINDOW]
            await quiet()
            await write_and_end(channel, b"next")
            assert await read_all(served) == b"next"
            served.close()

    async def test_every_wait_can_be_cancelled_and_begun_again(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()

            async def cancelled(*waits: Any) -> None:
                waiting = [tasks.create_task(wait) for wait in waits]
                await quiet()
                for task in waiting:
                    task.cancel()
                await asyncio.wait(waiting)
                assert all(task.cancelled() for task in waiting)

            await cancelled(channel.wait_accepted(), channel.wait_accepted(), channel.result())
            await cancelled(channel.write(1, b"never"), channel.send_message("never"))
            served.accept({"pid": 1})
            assert await channel.wait_accepted() == {"pid": 1}
            await cancelled(channel.read(1), channel.read_any(1, 2), anext(channel.messages()))
            await served.write(1, b"bytes")
            await served.send_message("message")
            assert await channel.read_any(1, 2) == (1, b"bytes")
            assert await anext(channel.messages()) == "message"
            await pair.cut()
            served.close({"code": 0})
            await cancelled(served.wait_confirmed(), channel.result())
            await pair.link()
            await served.wait_confirmed()
            assert await channel.result() == {"code": 0}

    async def test_one_of_many_who_wait_for_the_same_can_be_cancelled_alone(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            waiting = [tasks.create_task(channel.result()) for _ in range(5)]
            await quiet()
            waiting[2].cancel()
            served.close({"code": 3})
            await asyncio.wait(waiting)
            assert [task.cancelled() or task.result() for task in waiting] == [
                {"code": 3},
                {"code": 3},
                True,
                {"code": 3},
                {"code": 3},
            ]
