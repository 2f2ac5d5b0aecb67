"""How much is in folders, here and in sandboxes: counted as far as that is soon known, and no further."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche.aio import Files
from cloche_tui.feed.files import files_of
from cloche_tui.feed.folder_sizes import amount_here, amount_there
from cloche_tui.model.transfers import Amount
from cloche_wire.aio import Channel
from tests.support.fake_files import FakeFiles, Node
from tests.tui.support import hub_on_fakes

TREE = {"d": None, "d/a": b"123", "d/in": None, "d/in/b": b"4567", "d/in/c": b"8"}


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[tuple[Files, FakeFiles]]:
    """The files of a sandbox, and what is behind them."""
    async with hub_on_fakes(tmp_path) as (hub, client):
        sandbox = await client.create(name="box")
        fake = hub.machine.agent.files
        for path, data in TREE.items():
            fake.tree[f"/home/user/{path}"] = Node("dir") if data is None else Node("file", data)
        yield await files_of(client, sandbox.id), fake


def _lay_out(folder: Path) -> None:
    for path, data in TREE.items():
        if data is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(data)


async def test_folders_here_are_counted_with_those_in_them(tmp_path: Path) -> None:
    _lay_out(tmp_path)
    (tmp_path / "link").symlink_to("d/in")
    named = [str(tmp_path / name) for name in ("d", "link", "d/a")]
    assert await amount_here(named[:1], patience_s=60) == Amount(1, 3, 8, is_all=True)
    assert await amount_here(named, patience_s=60) == Amount(2, 6, 13, is_all=True)


async def test_counting_here_ends_at_a_number_or_after_a_moment(tmp_path: Path) -> None:
    _lay_out(tmp_path)
    named = [str(tmp_path / "d")]
    assert await amount_here(named, most=1, patience_s=60) == Amount(1, 1, 3, is_all=False)
    assert await amount_here(named, patience_s=-1) == Amount(1, 1, 3, is_all=False)


async def test_folders_of_a_sandbox_are_counted_with_those_in_them(box: tuple[Files, FakeFiles]) -> None:
    files, _ = box
    named = ["/home/user/d", "/home/user/d/a"]
    assert await amount_there(files, named, patience_s=60) == Amount(1, 4, 8, is_all=True)


async def test_counting_there_ends_at_a_number_and_what_cannot_be_looked_into_is_not_all(
    box: tuple[Files, FakeFiles],
) -> None:
    files, _ = box
    assert not (await amount_there(files, ["/home/user/d"], most=1)).is_all
    assert await amount_there(files, ["/home/user/nowhere"], patience_s=60) == Amount(0, 0, 0, is_all=False)


async def test_a_sandbox_that_takes_too_long_is_waited_for_a_moment(
    box: tuple[Files, FakeFiles], monkeypatch: pytest.MonkeyPatch
) -> None:
    files, fake = box

    bound = asyncio.timeout(None)

    async def hang(channel: Channel) -> None:
        channel.accept()
        bound.reschedule(0)
        await asyncio.Event().wait()

    handlers = {**FakeFiles.handlers(fake), "file.list": hang}
    monkeypatch.setattr(fake, "handlers", lambda: handlers)
    monkeypatch.setattr("cloche_tui.feed.folder_sizes.within", lambda _seconds: bound)
    amount = await amount_there(files, ["/home/user/d"])
    assert amount == Amount(1, 0, 0, is_all=False)
