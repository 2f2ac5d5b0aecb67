"""The policy in force: at the start, after a reload, and when something is wrong with it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.policy import Call, Policy, Verdict, decide
from cloche_hub.domain.policy_text import BUILT_IN
from cloche_hub.errors import BadRequest, NoSpace
from cloche_hub.services.policy import BUILT_IN_SOURCE, Policies, PolicySource
from cloche_hub.services.records import Records
from cloche_hub.store.store import open_store
from tests.support.hub import FlakyStore, Time, until, within

ASK = 'default = "ask"\n'
DENY = 'default = "deny"\n'
CALL = Call("pay", None, "alice", {})


class Kept:
    """What is at the policy's place."""

    def __init__(self, held: str | bytes | BadRequest | None) -> None:
        self.held = held
        self.reads = 0

    def read(self, _path: Path) -> bytes | None:
        self.reads += 1
        if isinstance(self.held, BadRequest):
            raise self.held
        return self.held.encode() if isinstance(self.held, str) else self.held


class World:
    """Policies with a store and a place of their own."""

    def __init__(self, store: FlakyStore, kept: Kept, *, is_required: bool = False) -> None:
        self.store, self.kept, self.time = store, kept, Time()
        source = PolicySource(Path("/etc/policy.toml"), kept.read, is_required=is_required)
        self.policies = Policies(source, store, Records(store), self.time.clock)

    async def events(self) -> list[tuple[str, str, object]]:
        events = await self.store.audit.tail(limit=50)
        return [(event.event, event.actor, dict(event.detail)) for event in events]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Policies]:
        """Loaded, and ready to reload."""
        await self.policies.load()
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self.policies.run())
            yield self.policies
            running.cancel()

    async def change(self, held: str | bytes | BadRequest | None) -> None:
        self.kept.held = held
        await within(self.policies.reload(actor="tok_ops"))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[FlakyStore]:
    async with open_store(tmp_path / "home") as real:
        yield FlakyStore(real)


def loaded_event(text: str, source: str, actor: str = "hub") -> tuple[str, str, object]:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return ("policy.loaded", actor, {"source": source, "digest": digest, "rules": 0})


def refused_event(error: str, actor: str = "hub") -> tuple[str, str, object]:
    return ("policy.refused", actor, {"source": "/etc/policy.toml", "error": error})


# At the start.


async def test_before_it_is_read_everything_is_denied(store: FlakyStore) -> None:
    assert decide(World(store, Kept(None)).policies.current, CALL).verdict is Verdict.DENY


async def test_without_a_file_an_operator_is_asked_for_everything(store: FlakyStore) -> None:
    world = World(store, Kept(None))
    await world.policies.load()
    assert world.policies.current == Policy(default=Verdict.ASK, deadline_s=300)
    assert world.policies.loaded.source == BUILT_IN_SOURCE
    assert await world.events() == [loaded_event(BUILT_IN, BUILT_IN_SOURCE)]


async def test_a_good_file_is_in_force_and_in_the_audit_with_its_digest(store: FlakyStore) -> None:
    world = World(store, Kept(ASK))
    await world.policies.load()
    loaded = world.policies.loaded
    assert (loaded.source, loaded.text, loaded.loaded_at, loaded.error) == (
        *("/etc/policy.toml", ASK, world.time.now, None),
    )
    assert await world.events() == [loaded_event(ASK, "/etc/policy.toml")]


@pytest.mark.parametrize(
    ("held", "error"),
    [
        ("defualt = 'ask'", "/etc/policy.toml: unknown key 'defualt'; did you mean 'default'?"),
        (b"a = '\xff'", "/etc/policy.toml: is no text in UTF-8 (byte 5)"),
        (BadRequest("/etc/policy.toml: is no file"), "/etc/policy.toml: is no file"),
    ],
)
async def test_a_wrong_file_denies_everything_and_says_why_without_the_hosts_folders(
    store: FlakyStore, held: str | bytes | BadRequest, error: str
) -> None:
    world = World(store, Kept(held))
    with capture_logs() as logs:
        await world.policies.load()
    decision = decide(world.policies.current, CALL)
    assert decision.verdict is Verdict.DENY
    told = error.replace("/etc/", "")
    assert decision.refusal == f"denied by the policy: the hub's policy cannot be used: {told}"
    assert world.policies.loaded.error == error
    assert await world.events() == [refused_event(error)]
    assert [(log["event"], log["reason"]) for log in logs] == [("policy_refused", error)]


async def test_a_file_that_was_named_must_be_there(store: FlakyStore) -> None:
    world = World(store, Kept(None), is_required=True)
    await world.policies.load()
    assert decide(world.policies.current, CALL).verdict is Verdict.DENY
    assert world.policies.loaded.error == "/etc/policy.toml: there is no such file"


async def test_a_file_whose_name_is_no_text_is_still_named(store: FlakyStore) -> None:
    kept = Kept("x")
    source = PolicySource(Path("/etc/\udcff.toml"), kept.read, is_required=False)
    policies = Policies(source, store, Records(store), Time().clock)
    await policies.load()
    assert (policies.loaded.source, (policies.loaded.error or "")[:14]) == ("/etc/?.toml", "/etc/?.toml: E")


async def test_a_start_on_a_full_disk_has_a_policy_and_records_it_later(store: FlakyStore) -> None:
    world = World(store, Kept(ASK))
    store.refuses = NoSpace("the disk is full")
    await world.policies.load()
    assert world.policies.current.default is Verdict.ASK
    store.refuses = None
    await world.policies._records.catch_up()
    assert await world.events() == [loaded_event(ASK, "/etc/policy.toml")]


# Reloading.


async def test_a_reload_puts_the_new_file_in_force_and_in_the_audit(store: FlakyStore) -> None:
    world = World(store, Kept(ASK))
    async with world.running() as policies:
        world.kept.held = DENY
        world.time.passes(60)
        loaded = await within(policies.reload(actor="tok_ops"))
        assert loaded is policies.loaded
        assert (loaded.text, loaded.loaded_at) == (DENY, world.time.now)
        assert policies.current.default is Verdict.DENY
    assert (await world.events())[1:] == [loaded_event(DENY, "/etc/policy.toml", "tok_ops")]


async def test_a_wrong_file_keeps_the_old_policy_until_it_is_mended(store: FlakyStore) -> None:
    world = World(store, Kept(ASK))
    error = "/etc/policy.toml: default: expected 'deny' or 'ask'; it is 3"
    async with world.running() as policies:
        with pytest.raises(BadRequest, match="it is 3"):
            await world.change("default = 3")
        assert (policies.loaded.text, policies.loaded.error) == (ASK, error)
        assert policies.current.default is Verdict.ASK
        await world.change(ASK)
        assert policies.loaded.error is None
    assert [event[0] for event in await world.events()] == [
        "policy.loaded",
        "policy.refused",
        "policy.loaded",
    ]
    assert (await world.events())[1] == refused_event(error, "tok_ops")


async def test_a_broken_start_is_mended_by_a_reload(store: FlakyStore) -> None:
    world = World(store, Kept("x"))
    async with world.running() as policies:
        await world.change(ASK)
        assert (policies.current.default, policies.loaded.error) == (Verdict.ASK, None)


async def test_a_file_that_is_gone_leaves_the_built_in_policy(store: FlakyStore) -> None:
    world = World(store, Kept(DENY))
    async with world.running() as policies:
        await world.change(None)
        assert policies.loaded.source == BUILT_IN_SOURCE


async def test_what_cannot_be_recorded_does_not_come_into_force(store: FlakyStore) -> None:
    world = World(store, Kept(ASK))
    async with world.running() as policies:
        store.refuses = NoSpace("the disk is full")
        with pytest.raises(NoSpace):
            await world.change(DENY)
        assert policies.loaded.text == ASK


async def test_the_old_policy_is_in_force_until_the_new_one_is_durable(store: FlakyStore) -> None:
    world = World(store, Kept(ASK))
    async with world.running() as policies:
        store.gate.clear()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(world.change(DENY))
            await until(lambda: store.waiting)
            assert policies.loaded.text == ASK
            store.gate.set()
        assert policies.loaded.text == DENY


@pytest.mark.parametrize("held", [DENY, "wrong"])
async def test_who_asks_and_goes_away_leaves_force_and_record_as_one(store: FlakyStore, held: str) -> None:
    world = World(store, Kept(ASK))
    async with world.running() as policies:
        store.gate.clear()
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(world.change(held))
            await until(lambda: store.waiting)
            asking.cancel()
        store.gate.set()
        await world.change(ASK)
        assert policies.loaded.text == ASK
    recorded = [event[0] for event in await world.events()]
    kind = "policy.loaded" if held == DENY else "policy.refused"
    assert recorded == ["policy.loaded", kind, "policy.loaded"]


# By a signal.


async def test_a_hangup_reloads_in_the_hubs_name_and_survives_what_goes_wrong(store: FlakyStore) -> None:
    world, hangup = World(store, Kept(ASK)), asyncio.Event()
    async with world.running() as policies, asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(policies.reload_on(hangup))
        world.kept.held = "wrong"
        hangup.set()
        await until(lambda: policies.loaded.error)
        world.kept.held, store.refuses = DENY, NoSpace("the disk is full")
        with capture_logs() as logs:
            hangup.set()
            await until(lambda: logs)
        assert [(log["event"], log["reason"]) for log in logs] == [
            ("policy_not_reloaded", "the disk is full")
        ]
        store.refuses = None
        hangup.set()
        await until(lambda: policies.loaded.text == DENY)
        watching.cancel()
    (last,) = [event for event in await store.audit.tail(limit=1) if event.event == AuditName.POLICY_LOADED]
    assert last.actor == "hub"
