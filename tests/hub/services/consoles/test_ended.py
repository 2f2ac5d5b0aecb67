"""Which ended consoles can still be looked at, and that what the others have shown is deleted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from cloche_hub.domain.console import MAX_ENDED, Console, ConsoleKind
from cloche_hub.ports import StoredScreen
from cloche_hub.services.consoles.ended import EndedConsoles
from tests.support.fake_screens import FakeScreens

CONSOLE = Console(
    id="con_0", sandbox="sbx_a", sandbox_name="a", owner="o", labels={}, name="1", kind=ConsoleKind.PTY,
    command=("sh",), user="root", rows=24, cols=80, created_at=datetime(2026, 1, 1, tzinfo=UTC),
    created_by="tok_a", created_by_name="ann",
)  # fmt: skip


class Screens(FakeScreens):
    """Stored screens of `count` consoles, on a disk that deletes when it is told to."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.kept = {f"con_{number}": StoredScreen(0, None, ()) for number in range(count)}
        self.may_delete = asyncio.Event()
        self.may_delete.set()

    async def remove(self, console_id: str) -> None:
        await self.may_delete.wait()
        await super().remove(console_id)


def consoles(count: int, sandbox: str = "sbx_a") -> list[Console]:
    return [replace(CONSOLE, id=f"con_{number}", sandbox=sandbox) for number in range(count)]


async def test_the_newest_are_kept_and_an_older_one_goes_for_each() -> None:
    screens = Screens(MAX_ENDED + 2)
    ended = EndedConsoles(screens, lambda _sandbox: True)
    all_of_them = consoles(MAX_ENDED + 2)
    for console in all_of_them:
        ended.keep(console)
        await ended.settle(console)
    assert list(ended) == all_of_them[2:]
    assert list(screens.kept) == [console.id for console in all_of_them[2:]]


async def test_of_a_removed_sandbox_nothing_is_kept() -> None:
    screens, there = Screens(3), {"sbx_a", "sbx_b"}
    ended = EndedConsoles(screens, there.__contains__)
    first, second, third = consoles(3)
    ended.keep(first)
    ended.keep(replace(second, sandbox="sbx_b"))
    there.discard("sbx_a")
    ended.keep(third)
    await ended.settle(third)
    assert list(screens.kept) == ["con_0", "con_1"]
    await ended.forget_removed()
    assert list(screens.kept) == ["con_1"]
    await ended.forget("sbx_b")
    assert (list(screens.kept), list(ended)) == ([], [])


async def test_whoever_asks_waits_until_they_are_deleted_and_who_gives_up_leaves_none_behind() -> None:
    screens = Screens(2)
    ended = EndedConsoles(screens, lambda _sandbox: True)
    for console in consoles(2):
        ended.keep(console)
    screens.may_delete.clear()
    async with asyncio.TaskGroup() as tasks:
        gives_up, stays = (tasks.create_task(ended.forget("sbx_a")) for _ in range(2))
        await asyncio.sleep(0)
        assert list(ended) == []
        gives_up.cancel()
        await asyncio.wait({gives_up})
        assert not stays.done()
        screens.may_delete.set()
    assert gives_up.cancelled()
    assert not screens.kept


async def test_what_cannot_be_deleted_is_left_to_the_next_hub() -> None:
    class Broken(Screens):
        async def remove(self, console_id: str) -> None:
            if console_id == "con_0":
                raise OSError("read-only")
            await super().remove(console_id)

    broken = Broken(2)
    ended = EndedConsoles(broken, lambda _sandbox: True)
    for console in consoles(2):
        ended.keep(console)
    await ended.forget("sbx_a")
    assert list(broken.kept) == ["con_0"]


async def test_what_an_earlier_hub_has_left_is_deleted() -> None:
    screens = Screens(2)
    await EndedConsoles(screens, lambda _sandbox: True).forget_left()
    assert not screens.kept
