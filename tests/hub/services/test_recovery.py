"""A hub that is started after one that was killed, through whole hubs on fakes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from cloche_hub.domain.audit import AuditEvent
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import AuditBroken, CodedError, Conflict, WrongState
from cloche_hub.ports import StrayMachine
from cloche_hub.store.audit import Audit
from tests.support.fake_hypervisor import FakeHypervisor
from tests.support.hub import RunningHub, Time, running_hub, until


def as_killed(hub: RunningHub, folder: Path) -> Path:
    """A home as the hub's would be if it were killed now."""
    home = folder / "killed"
    home.mkdir(mode=0o700)
    for file in [*hub.home.glob("hub.db*"), hub.home / "admin.token"]:
        shutil.copy(file, home)
    return home


def with_strays(*ids: str) -> FakeHypervisor:
    """A host on which the machines of a killed hub still run."""
    hypervisor = FakeHypervisor()
    hypervisor.strays = {name: StrayMachine(name, 4321, "tcg") for name in ids}
    return hypervisor


async def test_rows_are_kept_strays_are_ended_and_both_are_recorded(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        running = await client.create(name="a")
        gone = await client.create(name="b")
        home = as_killed(hub, tmp_path)
    hypervisor = with_strays(running["id"], "sb_unknown")
    async with running_hub(home, hypervisor=hypervisor) as hub, hub.client() as client:
        assert hypervisor.strays == {}
        listed = (await client.call("sandbox.list"))["sandboxes"]
        assert {(one["id"], one["state"], one["end_reason"]) for one in listed} == {
            (running["id"], "failed", "the hub was killed; its machine was ended"),
            (gone["id"], "failed", "the hub was killed; its machine is gone"),
        }
        strays = await hub.events(AuditName.MACHINE_STRAY_ENDED)
        assert {(event.sandbox, event.detail["pid"]) for event in strays} == {
            (running["id"], 4321),
            ("sb_unknown", 4321),
        }
        assert len(await hub.events(AuditName.SANDBOX_FAILED)) == 2
        assert (await client.call("audit.verify"))["events"] == len(await hub.events())


async def test_what_was_under_way_has_its_end_recorded_and_nothing_else_has(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        sandbox = await client.create(name="a")
        await client.run("a", "echo", "x")
        await client.exec("a", "wait")
        (_, begun) = await hub.events(AuditName.EXEC_STARTED)
        home = as_killed(hub, tmp_path)
    async with running_hub(home) as hub:
        (failed,) = await hub.events(AuditName.EXEC_FAILED)
        assert (failed.sandbox, failed.actor) == (sandbox["id"], "hub")
        assert failed.detail == {
            "exec": begun.detail["exec"],
            "code": "machine_failed",
            "reason": "the hub was killed",
        }
        assert (await hub.names())[-2:] == ["exec.failed", "sandbox.failed"]
        (tmp_path / "again").mkdir()
        home = as_killed(hub, tmp_path / "again")
    async with running_hub(home) as hub:
        assert len(await hub.events(AuditName.EXEC_FAILED)) == 1


async def test_an_audit_that_cannot_be_read_does_not_keep_the_hub_from_serving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unended(_audit: Audit, _sandbox: str) -> Sequence[AuditEvent]:
        raise AuditBroken("event 7 is broken")

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        home = as_killed(hub, tmp_path)
    monkeypatch.setattr(Audit, "unended", unended)
    async with running_hub(home) as hub:
        assert len(await hub.events(AuditName.SANDBOX_FAILED)) == 1
        assert [line["reason"] for line in hub.logs if line["event"] == "work_not_ended"] == [
            "event 7 is broken"
        ]


async def test_the_admin_token_still_works_and_no_other_is_made(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        admin = hub.admin
        home = as_killed(hub, tmp_path)
    async with running_hub(home) as hub, hub.client(admin):
        assert len(await hub.events(AuditName.TOKEN_CREATED)) == 1


async def test_a_name_lost_with_the_hub_is_free_again_once_its_sandbox_is_removed(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        home = as_killed(hub, tmp_path)
    async with running_hub(home) as hub, hub.client() as client:
        with pytest.raises(Conflict, match="which is failed"):
            await client.create(name="a")
        with pytest.raises(WrongState, match="the hub was killed"):
            await client.run("a", "true")
        assert (await client.call("sandbox.remove", sandbox="a"))["state"] == "removed"
        assert (await client.create(name="a"))["state"] == "running"


async def test_creations_and_removals_that_were_under_way_are_brought_to_an_end(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        hub.hypervisor.start_gate.clear()
        client.open("sandbox.create", name="half")
        await until(lambda: hub.hypervisor.starting)
        home = as_killed(hub, tmp_path)
    async with running_hub(home) as hub, hub.client() as client:
        (half,) = (await client.call("sandbox.list"))["sandboxes"]
        assert (half["name"], half["state"]) == ("half", "failed")


async def test_a_sandbox_that_had_failed_before_stays_as_it_was(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.crash()
        await hub.happened(AuditName.SANDBOX_FAILED)
        before = await client.call("sandbox.show", sandbox="a")
        home = as_killed(hub, tmp_path)
    async with running_hub(home) as hub, hub.client() as client:
        assert await client.call("sandbox.show", sandbox="a") == before
        assert len(await hub.events(AuditName.SANDBOX_FAILED)) == 1


async def test_a_lease_that_ran_out_meanwhile_removes_what_is_left(tmp_path: Path) -> None:
    time = Time()
    async with running_hub(tmp_path / "home", clock=time.clock) as hub, hub.client() as client:
        await client.create(name="a", lease_s=60)
        home = as_killed(hub, tmp_path)
    time.passes(61)
    async with running_hub(home, clock=time.clock) as hub:
        await hub.happened(AuditName.SANDBOX_EXPIRED)


async def test_a_stray_that_cannot_be_ended_does_not_keep_the_hub_from_serving(tmp_path: Path) -> None:
    hypervisor = with_strays("sb_one", "sb_two")
    hypervisor.unendable = {"sb_one"}
    async with running_hub(tmp_path / "home", hypervisor=hypervisor) as hub, hub.client() as client:
        assert set(hypervisor.strays) == {"sb_one"}
        (ended,) = await hub.events(AuditName.MACHINE_STRAY_ENDED)
        assert ended.sandbox == "sb_two"
        assert [line["sandbox"] for line in hub.logs if line["event"] == "stray_not_ended"] == ["sb_one"]
        assert (await client.create())["state"] == "running"


async def test_a_full_disk_neither_keeps_strays_alive_nor_the_hub_from_serving(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        home = as_killed(hub, tmp_path)
    hypervisor = with_strays("sb_one")
    async with running_hub(home, hypervisor=hypervisor, full_disk=True) as hub, hub.client() as client:
        assert hypervisor.strays == {}
        with pytest.raises(CodedError, match="full"):
            await client.create(name="b")
        assert (await client.call("sandbox.remove", sandbox="a"))["state"] == "removed"
        hub.store.refuses = None
        await hub.happened(AuditName.SANDBOX_REMOVED)
        assert await hub.names() == [
            *("token.created", "hub.started", "policy.loaded", "sandbox.created", "sandbox.started"),
            *("hub.started", "policy.loaded", "machine.stray_ended", "sandbox.failed", "sandbox.removed"),
        ]
