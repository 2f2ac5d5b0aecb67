"""What happens to a sandbox when its machine, its guest or the disk fails, through a whole hub on fakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import (
    BadRequest,
    BuildFailed,
    Cancelled,
    CodedError,
    InternalError,
    LinkSilent,
    MachineFailed,
    NoSpace,
    StoreFailed,
    WrongState,
)
from cloche_hub.services.life import _reason_of
from cloche_wire.aio import Channel
from cloche_wire.errors import RemoteProtocolError
from cloche_wire.frames import Data, encode
from cloche_wire.limits import Limits
from tests.support.fake_hypervisor import FakeHypervisor, FakeMachine
from tests.support.hub import RunningHub, finish, running_hub, until, within

CRASHED = "its machine ended by itself (crashed): qemu died of signal 9"


async def never_answer(channel: Channel) -> None:
    """Serves a request by doing nothing about it."""
    await channel.wait_confirmed()


async def refuse(_channel: Channel) -> None:
    raise BadRequest("the clock is from the future")


def hypervisor_where(prepare: Callable[[FakeMachine], None]) -> FakeHypervisor:
    """A hypervisor whose machines are each changed before anybody reaches them."""
    hypervisor = FakeHypervisor()
    hypervisor.on_start = prepare
    return hypervisor


async def failed_creation(hub: RunningHub, error: type[CodedError]) -> tuple[CodedError, dict[str, Any]]:
    """A creation's error, and the sandbox it has left."""
    async with hub.client() as client:
        with pytest.raises(error) as raised:
            await client.create(name="a")
        return raised.value, await client.call("sandbox.show", sandbox=raised.value.details["sandbox"])


# Creations that fail.


async def test_a_machine_that_does_not_start_fails_its_sandbox(tmp_path: Path) -> None:
    hypervisor = FakeHypervisor()
    hypervisor.refuse_start = MachineFailed("qemu: cannot allocate memory")
    async with running_hub(tmp_path / "home", hypervisor=hypervisor) as hub:
        error, sandbox = await failed_creation(hub, MachineFailed)
        assert (sandbox["state"], sandbox["end_reason"]) == ("failed", error.message)
        (event,) = await hub.events(AuditName.SANDBOX_FAILED)
        assert (event.sandbox, event.detail) == (sandbox["id"], {"reason": "qemu: cannot allocate memory"})


async def test_a_template_that_cannot_be_made_fails_its_sandbox(tmp_path: Path) -> None:
    hypervisor = FakeHypervisor()
    hypervisor.refuse_prepare = BuildFailed("the guest did not come up")
    async with running_hub(tmp_path / "home", hypervisor=hypervisor) as hub:
        _, sandbox = await failed_creation(hub, BuildFailed)
        assert (sandbox["state"], sandbox["end_reason"]) == ("failed", "the guest did not come up")


async def test_a_defect_of_the_hypervisor_fails_the_sandbox_and_no_other(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="sound")
        hub.hypervisor.refuse_start = OSError(24, "Too many open files")
        error, sandbox = await failed_creation(hub, InternalError)
        assert (sandbox["state"], sandbox["end_reason"]) == (
            "failed",
            "the hub failed; its log has the cause",
        )
        assert "open files" not in error.message
        assert (await client.run("sound", "echo", "hi")).stdout == b"hi\n"


async def test_another_agent_than_the_images_is_not_let_in(tmp_path: Path) -> None:
    hypervisor = FakeHypervisor()
    hypervisor.agent_hash = "b" * 64
    async with running_hub(tmp_path / "home", hypervisor=hypervisor) as hub:
        error, sandbox = await failed_creation(hub, BuildFailed)
        assert "cloche image build python --rebuild" in error.message
        assert sandbox["state"] == "failed"
        assert (hub.hypervisor.alive, hub.machine.agent.identity) == ([], None)


async def test_a_guest_that_is_silent_from_the_start_fails_within_its_bound(tmp_path: Path) -> None:
    hypervisor = hypervisor_where(lambda machine: machine.agent.silence())
    async with running_hub(
        tmp_path / "home", hypervisor=hypervisor, heartbeat_interval_s=0.05, silent_after_s=0.2
    ) as hub:
        _, sandbox = await failed_creation(hub, LinkSilent)
        assert (sandbox["state"], hub.hypervisor.alive) == ("failed", [])


async def test_a_guest_that_does_not_answer_become_fails_within_its_bound(tmp_path: Path) -> None:
    hypervisor = hypervisor_where(lambda machine: machine.agent.overrides.update(become=never_answer))
    async with running_hub(
        tmp_path / "home", hypervisor=hypervisor, heartbeat_interval_s=0.05, silent_after_s=0.2
    ) as hub:
        _, sandbox = await failed_creation(hub, LinkSilent)
        assert (sandbox["state"], hub.hypervisor.alive) == ("failed", [])


async def test_a_guest_that_refuses_to_become_itself_fails_with_its_words(tmp_path: Path) -> None:
    hypervisor = hypervisor_where(lambda machine: machine.agent.overrides.update(become=refuse))
    async with running_hub(tmp_path / "home", hypervisor=hypervisor) as hub:
        _, sandbox = await failed_creation(hub, BadRequest)
        assert (sandbox["end_reason"], hub.hypervisor.alive) == ("the clock is from the future", [])


async def test_a_machine_that_crashes_while_it_becomes_itself_is_the_reason_told(tmp_path: Path) -> None:
    hypervisor = FakeHypervisor()

    async def crash(_channel: Channel) -> None:
        hypervisor.machine.crash()

    hypervisor.on_start = lambda machine: machine.agent.overrides.update(become=crash)
    async with running_hub(tmp_path / "home", hypervisor=hypervisor) as hub:
        error, sandbox = await failed_creation(hub, MachineFailed)
        assert (error.message, sandbox["end_reason"]) == (CRASHED, CRASHED)


def test_of_all_that_went_wrong_the_machines_end_is_the_reason_told() -> None:
    silent, crashed = LinkSilent("it does not answer"), MachineFailed(CRASHED)
    inner = ExceptionGroup("inner", [silent, crashed])
    assert _reason_of(ExceptionGroup("all", [silent, inner])) is crashed
    assert _reason_of(ExceptionGroup("all", [silent])) is silent
    told = _reason_of(RemoteProtocolError("DATA before hello"))
    assert (type(told), told.message) == (
        MachineFailed,
        "its guest broke the protocol and was cut off: DATA before hello",
    )


# Machines that fail later.


async def test_a_crash_ends_its_commands_with_its_reason_and_disturbs_no_other_sandbox(
    tmp_path: Path,
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        crashing = hub.machine
        other = await client.create(name="b")
        lost = await client.exec("a", "wait")
        kept = await client.exec("b", "cat")
        crashing.crash()
        with pytest.raises(MachineFailed, match=r"sandbox a .* has failed: .*signal 9"):
            await within(lost.result())
        await hub.happened(AuditName.SANDBOX_FAILED)
        shown = await client.call("sandbox.show", sandbox="a")
        assert (shown["state"], shown["end_reason"], shown["ended_at"] is None) == ("failed", CRASHED, False)
        with pytest.raises(WrongState, match="signal 9"):
            await client.run("a", "true")
        await kept.write(1, b"still here")
        kept.end(1)
        assert (await within(finish(kept))).stdout == b"still here"
        assert hub.hypervisor.alive == [other["id"]]
        failed = await hub.happened(AuditName.EXEC_FAILED)
        assert failed.detail["code"] == "machine_failed"


async def test_a_command_that_arrives_as_the_machine_dies_gets_the_machines_reason(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        # Between the record of the start and the guest.
        hub.store.on_write = hub.machine.crash
        with pytest.raises(MachineFailed, match="signal 9"):
            await client.run("a", "true")
        assert hub.machine.agent.execs == []


async def test_a_guest_that_powers_itself_off_fails_its_sandbox(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent._on_power_off()
        event = await hub.happened(AuditName.SANDBOX_FAILED)
        assert event.detail["reason"] == "its machine ended by itself (guest_shutdown): powered off"


async def test_a_guest_that_breaks_the_protocol_is_cut_off_and_its_machine_ended(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        machine = hub.machine
        await client.create(name="b")
        command = await client.exec("a", "wait")
        await machine.agent.babble(encode(Data(77, 1, 0, b"on a channel that nobody has opened"), Limits()))
        with pytest.raises(MachineFailed, match="broke the protocol"):
            await within(command.result())
        event = await hub.happened(AuditName.SANDBOX_FAILED)
        assert "broke the protocol and was cut off" in str(event.detail["reason"])
        assert not machine.is_running
        assert machine.stops == [0.0]
        assert (await client.run("b", "true")).result["exit_code"] == 0


async def test_an_agent_that_was_replaced_costs_the_sandbox_when_its_link_is_taken_up_again(
    tmp_path: Path,
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        machine = hub.machine
        command = await client.exec("a", "wait")
        machine.agent.drop_link()
        assert (await client.run("a", "true")).result["exit_code"] == 0
        machine.agent.replace("b" * 64)
        machine.agent.drop_link()
        with pytest.raises(MachineFailed, match="another agent greets"):
            await within(command.result())
        event = await hub.happened(AuditName.SANDBOX_FAILED)
        assert "another agent greets than the one the machine began with" in str(event.detail["reason"])
        await until(lambda: not machine.is_running)
        shown = await client.call("sandbox.show", sandbox="a")
        assert (shown["state"], shown["end_reason"]) == ("failed", event.detail["reason"])


async def test_a_silent_guests_callers_are_told_in_time_and_it_can_be_used_again(tmp_path: Path) -> None:
    async with (
        running_hub(tmp_path / "home", heartbeat_interval_s=0.05, silent_after_s=0.2) as hub,
        hub.client() as client,
    ):
        await client.create(name="a")
        command = await client.exec("a", "wait")
        hub.machine.agent.silence()
        with pytest.raises(LinkSilent, match="does not answer"):
            await within(command.result())
        with pytest.raises(LinkSilent, match="does not answer"):
            await client.run("a", "true")
        assert (await client.call("sandbox.show", sandbox="a"))["state"] == "running"
        hub.machine.agent.speak()
        assert (await client.run("a", "echo", "back")).stdout == b"back\n"
        await hub.happened(AuditName.EXEC_FAILED, times=2)


async def test_a_silent_guest_can_be_removed_and_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloche_hub.services.life._STOP_GRACE_S", 0.05)
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.silence()
        assert (await client.call("sandbox.remove", sandbox="a"))["state"] == "removed"
        assert hub.machine.stops == [0.0]


# Removal while something runs.


async def test_removal_ends_what_runs_and_says_why(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        command = await client.exec("a", "wait")
        await client.call("sandbox.remove", sandbox="a")
        with pytest.raises(Cancelled, match=r"sandbox a .* ends: removed by tok_"):
            await within(command.result())
        assert set((await hub.names())[-2:]) == {"exec.failed", "sandbox.removed"}


# Ports that fail.


@pytest.mark.parametrize("where", ["fail_stop", "fail_boot_log"])
async def test_a_defect_in_ending_a_machine_does_not_keep_the_sandbox(tmp_path: Path, where: str) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await client.create(name="b")
        setattr(hub.machine, where, OSError("no such process"))
        assert (await client.call("sandbox.remove", sandbox="b"))["state"] == "removed"
        assert hub.machine.stops
        assert (await client.run("a", "true")).result["exit_code"] == 0


async def test_a_defect_in_ending_a_crashed_machine_does_not_end_the_hub(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.fail_stop = hub.machine.fail_boot_log = RuntimeError("a defect")
        hub.machine.crash()
        await hub.happened(AuditName.SANDBOX_FAILED)
        assert (await client.call("sandbox.show", sandbox="a"))["state"] == "failed"


async def test_a_defect_in_a_life_ends_that_sandbox_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        monkeypatch.setattr("cloche_hub.services.life.begin_removal", lambda *_: 1 / 0)
        await client.call("sandbox.remove", sandbox="a")
        monkeypatch.undo()
        assert hub.hypervisor.alive == []
        await client.create(name="b")
        assert (await client.run("b", "true")).result["exit_code"] == 0
        assert [one["name"] for one in (await client.call("sandbox.list"))["sandboxes"]] == ["b"]
        assert [one.name for one in await hub.store.sandboxes()] == ["b"]


# A full disk.


@pytest.mark.parametrize("refusal", [NoSpace("the disk is full"), StoreFailed("the database is locked")])
async def test_a_sandbox_whose_creation_cannot_be_recorded_is_not_made(
    tmp_path: Path, refusal: NoSpace | StoreFailed
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        hub.store.refuses = refusal
        with pytest.raises(NoSpace if isinstance(refusal, NoSpace) else InternalError):
            await client.create(name="a")
        assert hub.hypervisor.machines == {}
        assert (await client.call("sandbox.list"))["sandboxes"] == []
        hub.store.refuses = None
        assert (await client.create(name="a"))["state"] == "running"


async def test_a_sandbox_whose_start_cannot_be_recorded_is_ended(tmp_path: Path) -> None:
    def full(_machine: FakeMachine) -> None:
        hub.store.refuses = NoSpace("the disk is full")

    async with running_hub(tmp_path / "home", hypervisor=hypervisor_where(full)) as hub:
        _, sandbox = await failed_creation(hub, NoSpace)
        assert (sandbox["state"], hub.hypervisor.alive) == ("failed", [])


async def test_a_full_disk_keeps_no_machine_alive_and_endings_are_recorded_when_there_is_room(
    tmp_path: Path,
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        crashing = await client.create(name="a")
        machine = hub.machine
        removed = await client.create(name="b")
        hub.store.refuses = NoSpace("the disk is full")
        machine.crash()
        await until(lambda: machine.stops)
        assert (await client.call("sandbox.remove", sandbox="b"))["state"] == "removed"
        assert (await client.call("sandbox.remove", sandbox="a"))["state"] == "removed"
        assert hub.hypervisor.alive == []
        assert len(await hub.store.sandboxes()) == 2  # as far as the disk knows
        hub.store.refuses = None
        await hub.happened(AuditName.SANDBOX_REMOVED, times=2)
        assert await hub.store.sandboxes() == []
        endings = await hub.events(AuditName.SANDBOX_FAILED, AuditName.SANDBOX_REMOVED)
        assert [(event.event, event.sandbox) for event in endings] == [
            ("sandbox.failed", crashing["id"]),
            ("sandbox.removed", removed["id"]),
            ("sandbox.removed", crashing["id"]),
        ]
        await client.create(name="a")


async def test_a_hub_whose_disk_is_full_still_stops_and_ends_its_machines(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.store.refuses = NoSpace("the disk is full")
        await hub.end()
        assert hub.serving.exception() is None
        assert (hub.hypervisor.alive, hub.machine.is_running) == ([], False)
