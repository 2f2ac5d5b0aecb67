"""Stored screens in a home: what lies where, what outlives the process, and that waiting for a disk blocks nobody."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from pathlib import Path

import pytest

from cloche_hub.errors import StoreFailed
from cloche_hub.ports import StoredScreen
from cloche_hub.store.screens import open_screens

ID = "con_7k2m9qx4tn0c"


async def test_what_is_stored_outlives_whoever_stored_it(tmp_path: Path) -> None:
    async with open_screens(tmp_path) as screens:
        log = await screens.begin(ID)
        await log.append(0, [b"abc"])
    async with open_screens(tmp_path) as screens:
        assert await screens.load(ID) == StoredScreen(0, None, (b"abc",))


async def test_only_the_hubs_user_can_read_them(tmp_path: Path) -> None:
    async with open_screens(tmp_path) as screens:
        await (await screens.begin(ID)).close(keep=True)
    places = [tmp_path / "consoles", tmp_path / "consoles" / ID, tmp_path / "consoles" / ID / "screen"]
    assert [oct(stat.S_IMODE(place.stat().st_mode)) for place in places] == ["0o700", "0o700", "0o600"]


async def test_only_folders_of_consoles_are_listed(tmp_path: Path) -> None:
    async with open_screens(tmp_path) as screens:
        await screens.begin(ID)
        (tmp_path / "consoles" / "lost+found").mkdir()
        assert await screens.stored() == [ID]


async def test_a_log_is_begun_for_a_console_only(tmp_path: Path) -> None:
    async with open_screens(tmp_path) as screens:
        with pytest.raises(ValueError, match=r"'\.\./\.\.' is no console's id"):
            await screens.begin("../..")
    assert list((tmp_path / "consoles").iterdir()) == []


async def test_a_disk_that_takes_its_time_holds_nobody_else_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(_descriptor: int) -> None:
        begun.set()
        assert go_on.wait(20)

    monkeypatch.setattr(os, "fdatasync", slow)
    async with open_screens(tmp_path) as screens, asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        log = await screens.begin(ID)
        writing = tasks.create_task(log.append(0, [b"x"]))
        try:
            assert await asyncio.to_thread(begun.wait, 20)
            assert await screens.load("con_other") is None
            assert not writing.done()
        finally:
            go_on.set()


async def test_a_log_that_is_closed_takes_nothing(tmp_path: Path) -> None:
    async with open_screens(tmp_path) as screens:
        log = await screens.begin(ID)
        await log.close(keep=True)
        with pytest.raises(StoreFailed, match="closed"):
            await log.append(0, [b"x"])
