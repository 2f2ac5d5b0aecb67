"""How sandboxes end by themselves or with their hub, and what is left of them, through a whole hub on fakes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import MachineFailed, NotFound
from tests.support.fake_hypervisor import BOOT_LOG, FakeHypervisor
from tests.support.hub import Time, running_hub, until, within

# Boot log.


async def test_the_boot_log_is_there_while_the_machine_runs_and_after_it_has_failed(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a")
        assert (await client.call("sandbox.boot_log", sandbox="a"))["log"] == BOOT_LOG
        assert (await client.call("sandbox.boot_log", sandbox="a", max_bytes=7))["log"] == BOOT_LOG[-7:]
        hub.machine.crash()
        await hub.happened(AuditName.SANDBOX_FAILED)
        assert (await client.call("sandbox.boot_log", sandbox="a"))["log"] == BOOT_LOG
        assert (await client.call("sandbox.boot_log", sandbox="a", max_bytes=7))["log"] == BOOT_LOG[-7:]
        await client.call("sandbox.remove", sandbox="a")
        with pytest.raises(NotFound):
            await client.call("sandbox.boot_log", sandbox=made["id"])


async def test_a_sandbox_that_never_had_a_machine_has_an_empty_boot_log(tmp_path: Path) -> None:
    hypervisor = FakeHypervisor()
    hypervisor.refuse_start = MachineFailed("no memory")
    async with running_hub(tmp_path / "home", hypervisor=hypervisor) as hub, hub.client() as client:
        with pytest.raises(MachineFailed):
            await client.create(name="a")
        assert (await client.call("sandbox.boot_log", sandbox="a"))["log"] == b""


# Leases.


async def test_a_sandbox_nobody_uses_expires_and_the_audit_says_so(tmp_path: Path) -> None:
    time = Time()
    async with running_hub(tmp_path / "home", clock=time.clock) as hub, hub.client() as client:
        made = await client.create(name="a", lease_s=60)
        time.passes(59)
        await asyncio.sleep(0.03)  # a few looks of the reaper
        assert hub.hypervisor.alive == [made["id"]]
        time.passes(1)
        event = await hub.happened(AuditName.SANDBOX_EXPIRED)
        assert (event.sandbox, event.actor, hub.hypervisor.alive) == (made["id"], "hub", [])
        shown = await client.call("sandbox.show", sandbox=made["id"])
        assert (shown["state"], shown["end_reason"]) == ("removed", "its lease ran out")


async def test_use_renews_the_lease(tmp_path: Path) -> None:
    time = Time()
    async with running_hub(tmp_path / "home", clock=time.clock) as hub, hub.client() as client:
        first = await client.create(name="a", lease_s=60)
        time.passes(30)
        await client.run("a", "true")
        await until(lambda: hub.machine.agent.running == 0)
        renewed = await client.call("sandbox.show", sandbox="a")
        assert renewed["expires_at"] > first["expires_at"]
        time.passes(59)
        await asyncio.sleep(0.03)  # a few looks of the reaper
        assert hub.hypervisor.alive


async def test_a_busy_sandbox_does_not_expire_and_has_its_whole_lease_afterwards(tmp_path: Path) -> None:
    time = Time()
    async with running_hub(tmp_path / "home", clock=time.clock) as hub, hub.client() as client:
        await client.create(name="a", lease_s=60)
        command = await client.exec("a", "wait")
        time.passes(600)
        await asyncio.sleep(0.03)  # a few looks of the reaper
        assert hub.hypervisor.alive
        await command.send_message({"signal": "TERM"})
        await within(command.result())
        await client.call("sandbox.list")  # by its answer the hub has heard that the result has arrived
        time.passes(59)
        await asyncio.sleep(0.03)  # a few looks of the reaper
        assert hub.hypervisor.alive
        time.passes(1)
        await until(lambda: not hub.hypervisor.alive)


async def test_a_failed_sandbox_expires_too(tmp_path: Path) -> None:
    time = Time()
    async with running_hub(tmp_path / "home", clock=time.clock) as hub, hub.client() as client:
        await client.create(name="a", lease_s=60)
        hub.machine.crash()
        await hub.happened(AuditName.SANDBOX_FAILED)
        await hub.happened(AuditName.SANDBOX_FAILED)
        time.passes(61)
        await hub.happened(AuditName.SANDBOX_EXPIRED)
        assert (await client.call("sandbox.list"))["sandboxes"] == []


# The end of the hub.


async def test_stopping_the_hub_ends_every_machine_and_records_each_ending(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        ids = {(await client.create())["id"] for _ in range(3)}
        await hub.end()
        assert hub.hypervisor.alive == []
        removed = await hub.events(AuditName.SANDBOX_REMOVED)
        assert {event.sandbox for event in removed} == ids
        assert {(event.actor, event.detail["reason"]) for event in removed} == {
            ("hub", "the hub was stopped")
        }
        assert (await hub.names())[-1] == "hub.stopped"
        assert await hub.store.sandboxes() == []


async def test_stopping_the_hub_during_a_creation_leaves_no_machine(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        hub.hypervisor.start_gate.clear()
        client.open("sandbox.create", name="a")
        await until(lambda: hub.hypervisor.starting)
        await hub.end()
        assert (hub.hypervisor.starting, hub.hypervisor.machines) == (0, {})
        assert await hub.store.sandboxes() == []


async def test_a_hub_that_is_cancelled_still_ends_its_machines(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create()
        hub.serving.cancel()
        await within(asyncio.wait({hub.serving}))
        assert hub.hypervisor.alive == []
        assert hub.machine.stops
        assert len(await hub.events(AuditName.SANDBOX_REMOVED)) == 1
