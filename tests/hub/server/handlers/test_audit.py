"""The audit as clients read it: the newest events, those that come, and the proof that nothing was changed."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import cloche.aio
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import AuditBroken, BadRequest, Cancelled, Forbidden
from cloche_hub.services.records import noting
from cloche_hub.store.offline import verify_file
from cloche_wire.aio import Channel
from tests.support.hub import RunningHub, running_hub, within


async def note(hub: RunningHub, number: int) -> None:
    await hub.store.write(noting(AuditName.CACHE_PRUNED, actor="hub", detail={"number": number}))


async def told(channel: Channel, count: int) -> list[int]:
    """The numbers of the next events on a channel."""
    messages = channel.messages()
    return [(await within(anext(messages)))["seq"] for _ in range(count)]


async def test_the_newest_events_come_oldest_first(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        for number in range(5):
            await note(hub, number)
        channel = client.open("audit.tail", limit=3)
        events = [message async for message in channel.messages()]
        assert [event["detail"]["number"] for event in events] == [2, 3, 4]
        assert [event["seq"] for event in events] == [6, 7, 8]
        assert await within(channel.result()) == {}


async def test_a_follower_is_told_everything_once_across_the_boundary(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        async with asyncio.TaskGroup() as tasks:

            async def keep_noting() -> None:
                for number in range(60):
                    await note(hub, number)

            tasks.create_task(keep_noting())
            # Begun at many moments while events keep coming.
            channels = []
            for _ in range(6):
                channels.append(client.open("audit.tail", limit=4, follow=True))
                await note(hub, -1)
        last = hub.store.audit.head.seq
        for channel in channels:
            first = (await told(channel, 1))[0]
            assert await told(channel, last - first) == list(range(first + 1, last + 1))
            channel.reset(Cancelled("enough"))


async def test_a_follower_of_one_sandbox_hears_of_no_other(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a")
        channel = client.open("audit.tail", sandbox="a", follow=True)
        messages = channel.messages()
        names = [(await within(anext(messages)))["event"] for _ in range(2)]
        await client.create(name="b")
        await client.call("sandbox.remove", sandbox="a")
        removed = await within(anext(messages))
        assert [*names, removed["event"]] == ["sandbox.created", "sandbox.started", "sandbox.removed"]
        assert removed["sandbox"] == made["id"]


async def test_a_follower_that_gives_up_is_not_kept_until_the_next_event(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        before = len(asyncio.all_tasks())
        for _ in range(20):
            channel = client.open("audit.tail", limit=1, follow=True)
            await told(channel, 1)
            channel.reset(Cancelled("enough"))
        await client.call("hub.status")
        await asyncio.sleep(0.01)  # the tasks' last turns
        assert len(asyncio.all_tasks()) <= before + 1


async def test_a_follower_that_does_not_read_costs_a_window_and_loses_nothing(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        channel = client.open("audit.tail", limit=1, follow=True)
        (first,) = await told(channel, 1)
        for number in range(1000):
            await note(hub, number)
        await client.call("hub.status")
        assert await told(channel, 1000) == list(range(first + 1, first + 1001))


async def test_an_owner_names_the_sandbox_and_sees_the_events_of_removed_ones_too(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client(await hub.mint("alice")) as alice:
        with pytest.raises(BadRequest, match="name one"):
            await alice.call("audit.tail")
        made = await alice.create()
        await alice.call("sandbox.remove", sandbox=made["id"])
        channel = alice.open("audit.tail", sandbox=made["id"])
        assert [message["event"] async for message in channel.messages()][-1] == "sandbox.removed"


@pytest.mark.parametrize("params", [{"limit": 0}, {"limit": 501}, {"limit": "5"}, {"follow": "yes"}])
async def test_a_senseless_request_is_refused_before_it_is_taken(
    tmp_path: Path, params: dict[str, object]
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        channel = client.open("audit.tail", **params)
        with pytest.raises(BadRequest):
            await within(channel.wait_accepted())


async def test_the_whole_chain_verifies_and_names_its_head(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create()
        head = hub.store.audit.head
        assert await client.call("audit.verify") == {"events": head.seq, "head": head.hash}


@contextlib.contextmanager
def tampering(hub: RunningHub) -> Iterator[sqlite3.Connection]:
    """The hub's database, for somebody who may write the file."""
    with contextlib.closing(sqlite3.connect(hub.home / "hub.db", isolation_level=None)) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {name}")
        yield database


async def test_a_chain_that_was_changed_names_its_first_bad_event(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        for number in range(3):
            await note(hub, number)
        with tampering(hub) as database:
            database.execute("UPDATE audit SET actor = 'somebody' WHERE seq = 4")
        with pytest.raises(AuditBroken) as raised:
            await client.call("audit.verify")
        assert raised.value.details["seq"] == 4


async def test_an_export_has_every_event_up_to_its_beginning_and_the_head(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        for number in range(1100):
            await note(hub, number)
        head = hub.store.audit.head
        channel = client.open("audit.export")
        await within(channel.wait_accepted())
        for number in range(10):
            await note(hub, number)
        assert [message["seq"] async for message in channel.messages()] == list(range(1, head.seq + 1))
        assert await within(channel.result()) == {"events": head.seq, "head": head.hash}


async def test_what_a_client_exports_verifies_without_a_hub(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a", labels={"sort": "é"})
        async with cloche.aio.Hub.connect(hub.address, hub.admin) as sdk:
            lines = [line async for line in sdk.export_audit()]
        file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        assert verify_file(file) == await hub.store.audit.verify()


async def test_an_export_ends_before_the_first_bad_event(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        for number in range(3):
            await note(hub, number)
        with tampering(hub) as database:
            database.execute("UPDATE audit SET actor = 'somebody' WHERE seq = 4")
        channel = client.open("audit.export")
        assert await told(channel, 3) == [1, 2, 3]
        with pytest.raises(AuditBroken, match="event 4"):
            await within(channel.result())


async def test_an_export_of_a_chain_that_was_cut_off_says_so_and_ends(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        for number in range(3):
            await note(hub, number)
        with tampering(hub) as database:
            database.execute("DELETE FROM audit WHERE seq = 6")
        with pytest.raises(AuditBroken, match="event 6: it is missing"):
            await within(client.open("audit.export").result())


async def test_an_owner_cannot_export_what_others_did(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client(await hub.mint("alice")) as alice:
        with pytest.raises(Forbidden):
            await alice.call("audit.export")


async def test_events_are_read_by_their_numbers_with_the_names_of_whom_they_speak_of(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="box")
        for number in range(300):
            await note(hub, number)
        wanted = [*range(2, 150), 9999]
        channel = client.open("audit.read", numbers=wanted)
        assert [message["seq"] async for message in channel.messages()] == wanted[:-1]
        assert (await within(channel.result()))["names"][made["id"]] == "box"


@pytest.mark.parametrize("numbers", ["all", [0], [1.5], list(range(1, 502))])
async def test_numbers_that_are_none_or_too_many_are_not_read(tmp_path: Path, numbers: object) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        with pytest.raises(BadRequest, match="numbers"):
            await within(client.open("audit.read", numbers=numbers).wait_accepted())
