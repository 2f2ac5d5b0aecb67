"""What is typed and asked for, on its way to a console."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cloche.errors import LinkLost
from cloche_tui.feed.console_outgoing import MOST_TYPED, Outgoing
from tests.support.hub import until


class _Console:
    """What a console is for this: it writes down what comes."""

    def __init__(self) -> None:
        self.came: list[Any] = []
        self.is_lost = False

    async def write(self, data: bytes) -> None:
        if self.is_lost:
            raise LinkLost("gone")
        self.came.append(data)

    async def ask(self) -> None:
        self.came.append("asked")


@pytest.fixture
def console() -> _Console:
    return _Console()


@contextlib.asynccontextmanager
async def _sending(outgoing: Outgoing, console: Any, may_type: Any = lambda: True) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(outgoing.run(console, may_type))
        yield
        running.cancel()


async def test_what_is_asked_for_goes_before_what_is_typed_and_that_in_small_pieces(
    console: _Console,
) -> None:
    outgoing = Outgoing()
    assert outgoing.type(b"x" * 5000)
    outgoing.request(lambda console: console.ask())
    async with _sending(outgoing, console):
        await until(lambda: len(console.came) == 3)
    assert console.came == ["asked", b"x" * 4096, b"x" * 904]


async def test_what_is_typed_waits_until_it_has_somewhere_to_go(console: _Console) -> None:
    outgoing, allowed = Outgoing(), asyncio.Event()
    async with _sending(outgoing, console, allowed.is_set):
        outgoing.type(b"early")
        outgoing.request(lambda console: console.ask())
        await until(lambda: console.came == ["asked"])
        allowed.set()
        outgoing.look_again()
        await until(lambda: console.came == ["asked", b"early"])


async def test_there_is_a_bound_to_what_a_program_leaves_unread() -> None:
    outgoing = Outgoing()
    assert outgoing.type(b"x" * MOST_TYPED)
    assert not outgoing.type(b"x")
    outgoing.forget_typed()
    assert outgoing.type(b"x")


async def test_what_is_forgotten_is_not_sent(console: _Console) -> None:
    outgoing = Outgoing()
    outgoing.request(lambda console: console.ask())
    outgoing.type(b"old")
    outgoing.forget()
    async with _sending(outgoing, console):
        outgoing.type(b"new")
        await until(lambda: console.came == [b"new"])


async def test_an_error_on_the_way_is_left_to_who_reads_the_console(console: _Console) -> None:
    outgoing = Outgoing()
    console.is_lost = True
    async with _sending(outgoing, console):
        outgoing.type(b"lost")
        outgoing.request(lambda console: console.ask())
        await until(lambda: console.came == ["asked"])
