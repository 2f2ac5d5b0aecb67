"""Copies between this host and a sandbox: one after another, given up on demand, and never outside of the chosen folder."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from cloche.aio import Hub
from cloche_tui.feed.session import NotConnected
from cloche_tui.feed.transfers import Carrier
from cloche_tui.model.transfers import Direction, State, Transfer, Transfers, Wanted
from cloche_wire.aio import Channel
from tests.support.fake_files import FakeFiles, Node
from tests.support.hub import RunningHub, within
from tests.tui.support import hub_on_fakes

HOME = "/home/user"


class Stage:
    """A hub with a sandbox, a folder of this host, and who copies between them."""

    def __init__(self, hub: RunningHub, client: Hub, folder: Path, sandbox: str) -> None:
        self.hub, self.folder, self.sandbox = hub, folder, sandbox
        self.files: FakeFiles = hub.machine.agent.files
        self.transfers = Transfers()
        self.changes: list[tuple[int, State]] = []
        self.connection: Callable[[], Hub] = lambda: client
        self.now = 0.0
        self.carrier = Carrier(
            lambda: self.connection(), self.transfers, self._changed, clock=lambda: self.now
        )

    def _changed(self, transfer: Transfer) -> None:
        known = self.transfers.get(transfer.id)
        assert known is not None
        self.changes.append((transfer.id, known.state))

    def down(self, name: str, *, may_replace: bool = False) -> Wanted:
        return Wanted(Direction.DOWN, name, f"{HOME}/{name}", str(self.folder), may_replace)

    def up(self, name: str, *, may_replace: bool = False) -> Wanted:
        return Wanted(Direction.UP, name, str(self.folder / name), HOME, may_replace)

    async def copy(self, *wanted: Wanted) -> list[tuple[State, str]]:
        """Copies all of it; how each ended, and why it failed."""
        first = len(self.transfers) + 1
        self.transfers.add(self.sandbox, "box", wanted)
        await within(self.carrier.carry_out(self.sandbox))
        ended = [self.transfers.get(first + number) for number in range(len(wanted))]
        return [(one.state, one.message) for one in ended if one is not None]

    @contextlib.asynccontextmanager
    async def stuck(self, monkeypatch: pytest.MonkeyPatch, kind: str) -> AsyncIterator[asyncio.Event]:
        """Has the guest not answer these requests; the event is set when one has come."""
        came = asyncio.Event()

        async def hang(channel: Channel) -> None:
            channel.accept({**_ENTRY, "size_bytes": 5}) if kind == "file.read" else channel.accept()
            came.set()
            await asyncio.Event().wait()

        handlers = {**self.files.handlers(), kind: hang}
        with monkeypatch.context() as patch:
            patch.setattr(self.files, "handlers", lambda: handlers)
            yield came


_ENTRY = {
    "name": "a", "path": f"{HOME}/a", "kind": "file", "size_bytes": 5, "mode": 0o644, "uid": 1000, "gid": 1000,
    "mtime_ns": 0,
}  # fmt: skip


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    folder = tmp_path / "here"
    folder.mkdir()
    async with hub_on_fakes(tmp_path) as (hub, client):
        sandbox = await client.create(name="box")
        yield Stage(hub, client, folder, sandbox.id)


# Copies.


async def test_files_and_folders_go_both_ways(stage: Stage) -> None:
    stage.files.tree |= {
        f"{HOME}/d": Node("dir"),
        f"{HOME}/d/x": Node("file", b"deep"),
        f"{HOME}/a": Node("file", b"1"),
    }
    (stage.folder / "u").mkdir()
    (stage.folder / "u/y").write_text("up")
    outcome = await stage.copy(stage.down("d"), stage.down("a"), stage.up("u"))
    assert outcome == [(State.DONE, "")] * 3
    assert (stage.folder / "d/x").read_text() == "deep"
    assert (stage.folder / "a").read_text() == "1"
    assert stage.files.tree[f"{HOME}/u/y"].data == b"up"


async def test_one_follows_the_other_and_each_is_told(stage: Stage) -> None:
    stage.files.tree |= {f"{HOME}/{name}": Node("file", b"x") for name in "ab"}
    await stage.copy(stage.down("a"), stage.down("b"))
    assert stage.changes == [(1, State.RUNNING), (1, State.DONE), (2, State.RUNNING), (2, State.DONE)]


async def test_how_far_it_is_is_told_by_the_clock(stage: Stage) -> None:
    stage.files.tree[f"{HOME}/a"] = Node("file", bytes(100_000))
    seen: list[tuple[int, int, str, float]] = []

    def note(transfer_id: int, done_bytes: int, total_bytes: int, path: str, *, now: float) -> None:
        seen.append((done_bytes, total_bytes, path, now))

    stage.now = 7.0
    stage.transfers.progress = note  # type: ignore[method-assign]
    await stage.copy(stage.down("a"))
    assert seen[-1] == (100_000, 100_000, "a", 7.0)


async def test_only_one_carries_out_what_waits_in_a_sandbox(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.files.tree[f"{HOME}/a"] = Node("file", b"hello")
    stage.transfers.add(stage.sandbox, "box", [stage.down("a"), stage.down("b")])
    async with stage.stuck(monkeypatch, "file.read") as came, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(stage.carrier.carry_out(stage.sandbox))
        await within(came.wait())
        await within(stage.carrier.carry_out(stage.sandbox))
        assert not first.done()
        assert stage.changes == [(1, State.RUNNING)]
        stage.carrier.cancel(2)
        stage.carrier.cancel(1)


# Giving up.


@pytest.mark.parametrize("kind", ["file.read", "file.stat", "file.write"])
async def test_what_runs_is_given_up_and_the_next_begins(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    stage.files.tree |= {f"{HOME}/a": Node("file", b"hello"), f"{HOME}/b": Node("file", b"next")}
    (stage.folder / "u").write_text("up")
    stage.transfers.add(stage.sandbox, "box", [stage.up("u") if kind == "file.write" else stage.down("a")])
    async with asyncio.TaskGroup() as tasks:
        async with stage.stuck(monkeypatch, kind) as came:
            tasks.create_task(stage.carrier.carry_out(stage.sandbox))
            await within(came.wait())
        stage.transfers.add(stage.sandbox, "box", [stage.down("b")])
        stage.carrier.cancel(1)
    assert [state for _, state in stage.changes] == [
        State.RUNNING,
        State.CANCELLED,
        State.RUNNING,
        State.DONE,
    ]
    assert sorted(path.name for path in stage.folder.iterdir()) == ["b", "u"]
    assert f"{HOME}/u" not in stage.files.tree


async def test_what_waits_is_given_up_before_it_begins(stage: Stage) -> None:
    stage.transfers.add(stage.sandbox, "box", [stage.down("a")])
    stage.carrier.cancel(1)
    await within(stage.carrier.carry_out(stage.sandbox))
    assert stage.changes == [(1, State.CANCELLED)]
    stage.carrier.cancel(1)
    stage.carrier.cancel(9)


async def test_what_is_given_up_before_its_first_turn_is_given_up(stage: Stage) -> None:
    def cancel_at_once(transfer: Transfer) -> None:
        asyncio.get_running_loop().call_soon(stage.carrier.cancel, transfer.id)

    stage.carrier._on_change = cancel_at_once
    stage.files.tree[f"{HOME}/a"] = Node("file", b"1")
    assert await stage.copy(stage.down("a")) == [(State.CANCELLED, "")]


async def test_a_dashboard_that_ends_gives_up_what_runs_and_leaves_nothing_half_written(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.files.tree[f"{HOME}/a"] = Node("file", b"hello")
    stage.transfers.add(stage.sandbox, "box", [stage.down("a"), stage.down("b")])
    async with stage.stuck(monkeypatch, "file.read") as came, asyncio.TaskGroup() as tasks:
        carrying = tasks.create_task(stage.carrier.carry_out(stage.sandbox))
        await within(came.wait())
        carrying.cancel()
    assert stage.changes == [(1, State.RUNNING), (1, State.CANCELLED)]
    assert list(stage.folder.iterdir()) == []


# What goes wrong.


async def test_what_fails_does_not_keep_the_others_from_being_copied(stage: Stage) -> None:
    stage.files.tree[f"{HOME}/b"] = Node("file", b"1")
    outcome = await stage.copy(stage.down("a"), stage.up("u"), stage.down("b"))
    assert outcome == [
        (State.FAILED, f"{HOME}/a: No such file or directory"),
        (State.FAILED, f"{stage.folder}/u: No such file or directory"),
        (State.DONE, ""),
    ]


async def test_without_a_connection_nothing_is_done_late(stage: Stage) -> None:
    def away() -> Hub:
        raise NotConnected("the connection to the hub was lost")

    stage.connection = away
    assert await stage.copy(stage.down("a")) == [(State.FAILED, "the connection to the hub was lost")]


async def test_what_has_come_to_be_in_the_way_is_not_replaced(stage: Stage) -> None:
    stage.files.tree |= {f"{HOME}/a": Node("file", b"theirs"), f"{HOME}/u": Node("file", b"theirs")}
    (stage.folder / "a").write_text("mine")
    (stage.folder / "u").write_text("mine")
    for (state, why), name in zip(await stage.copy(stage.down("a"), stage.up("u")), "au", strict=True):
        assert (state, "something of that name" in why) == (State.FAILED, True), name
    assert (stage.folder / "a").read_text() == "mine"
    assert stage.files.tree[f"{HOME}/u"].data == b"theirs"
    agreed = [stage.down("a", may_replace=True), stage.up("u", may_replace=True)]
    assert await stage.copy(*agreed) == [(State.DONE, "")] * 2
    assert (stage.folder / "a").read_text() == "theirs"
    assert stage.files.tree[f"{HOME}/u"].data == b"mine"


# What a guest chooses.


@pytest.mark.parametrize("kind", ["file", "dir"])
async def test_a_link_of_this_host_is_not_followed_because_a_guest_names_it(stage: Stage, kind: str) -> None:
    outside = stage.folder.parent / "outside"
    outside.mkdir()
    (stage.folder / "a").symlink_to(outside if kind == "dir" else outside / "a")
    stage.files.tree[f"{HOME}/a"] = Node(kind, b"")
    stage.files.tree[f"{HOME}/a/x"] = Node("file", b"")
    ((state, why),) = await stage.copy(stage.down("a", may_replace=True))
    assert (state, "a link is there" in why) == (State.FAILED, True)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", ["..", ".", "", "../outside", "a/b", "/etc/x"])
async def test_a_name_that_leads_elsewhere_is_copied_nowhere(stage: Stage, name: str) -> None:
    before = sorted(stage.folder.parent.iterdir())
    ((state, why),) = await stage.copy(stage.down(name, may_replace=True))
    assert (state, "no file's name" in why) == (State.FAILED, True)
    assert sorted(stage.folder.parent.iterdir()) == before
    assert list(stage.folder.iterdir()) == []


async def test_links_that_lead_out_are_left_out_and_told(stage: Stage) -> None:
    stage.files.tree |= {f"{HOME}/d": Node("dir"), f"{HOME}/d/l": Node("link", target="../../etc")}
    await stage.copy(stage.down("d"))
    done = stage.transfers.get(1)
    assert done is not None
    assert done.copied is not None
    assert [one.path for one in done.copied.skipped] == ["l"]
    assert list((stage.folder / "d").iterdir()) == []
