"""What every store owes consoles about their screens: one suite, over the one in memory and over files."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from cloche_hub.ports import Screens, Size, StoredScreen
from cloche_hub.store.screens import open_screens
from tests.support.fake_screens import FakeScreens

ID, OTHER = "con_7k2m9qx4tn0c", "con_8"


@contextlib.asynccontextmanager
async def _in_memory(_home: Path) -> AsyncIterator[Screens]:
    yield FakeScreens()


@pytest.fixture(params=[_in_memory, open_screens], ids=["memory", "files"])
async def screens(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Screens]:
    opened: Callable[[Path], AbstractAsyncContextManager[Screens]] = request.param
    async with opened(tmp_path) as screens:
        yield screens


async def test_of_a_console_nobody_has_begun_nothing_is_stored(screens: Screens) -> None:
    assert await screens.load(ID) is None
    assert list(await screens.stored()) == []
    await screens.remove(ID)


async def test_output_and_sizes_are_stored_in_order(screens: Screens) -> None:
    log = await screens.begin(ID)
    await log.append(0, [Size(24, 80), b"one"])
    await log.append(3, [b"two", Size(30, 100), b"\x00\xff"])
    assert (log.end, log.log_bytes > 0) == (8, True)
    stored = await screens.load(ID)
    assert stored == StoredScreen(0, None, (Size(24, 80), b"one", b"two", Size(30, 100), b"\x00\xff"))
    assert stored.end == 8
    await log.close(keep=True)


async def test_a_checkpoint_replaces_what_came_before_it(screens: Screens) -> None:
    log = await screens.begin(ID)
    await log.append(0, [b"seen"])
    await log.checkpoint(4, b"snapshot")
    assert (log.end, log.log_bytes) == (4, 0)
    await log.append(4, [b"since"])
    assert await screens.load(ID) == StoredScreen(4, b"snapshot", (b"since",))
    await log.close(keep=True)


async def test_a_checkpoint_steps_over_what_was_missed(screens: Screens) -> None:
    log = await screens.begin(ID)
    await log.append(0, [b"seen"])
    await log.checkpoint(1 << 40, b"later")
    await log.append(1 << 40, [b"!"])
    assert await screens.load(ID) == StoredScreen(1 << 40, b"later", (b"!",))
    await log.close(keep=True)


async def test_there_are_no_holes_and_nothing_twice(screens: Screens) -> None:
    log = await screens.begin(ID)
    await log.append(0, [b"abc"])
    for offset in (2, 4):
        with pytest.raises(ValueError, match="stored up to 3"):
            await log.append(offset, [b"x"])
    with pytest.raises(ValueError, match="stored up to 3"):
        await log.checkpoint(2, b"old")
    assert await screens.load(ID) == StoredScreen(0, None, (b"abc",))
    await log.close(keep=True)


async def test_what_was_kept_goes_on(screens: Screens) -> None:
    log = await screens.begin(ID)
    await log.append(0, [b"abc"])
    await log.close(keep=True)
    await log.close(keep=True)
    again = await screens.begin(ID)
    assert again.end == 3
    await again.append(3, [b"def"])
    await again.close(keep=True)
    assert await screens.load(ID) == StoredScreen(0, None, (b"abc", b"def"))


async def test_what_is_not_kept_is_gone(screens: Screens) -> None:
    for console_id in (ID, OTHER):
        await (await screens.begin(console_id)).close(keep=True)
    log = await screens.begin(ID)
    await log.append(0, [b"abc"])
    await log.close(keep=False)
    await log.close(keep=False)
    assert await screens.load(ID) is None
    assert list(await screens.stored()) == [OTHER]
    await screens.remove(OTHER)
    assert list(await screens.stored()) == []


@pytest.mark.parametrize("console_id", ["../../etc", "con_a/b", "con_", "", "con_A", "sb_7k2m9qx4tn0c"])
async def test_what_is_no_console_has_no_screen(screens: Screens, console_id: str) -> None:
    assert await screens.load(console_id) is None
    await screens.remove(console_id)
