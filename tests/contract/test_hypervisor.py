"""What every implementation of ports.Hypervisor owes its callers: one suite, run over each of them.

To add an implementation: write a function like `_fake` below (it yields a `Subject`) and add it to `SUBJECTS`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.flavors import DEFAULT_FLAVOR, FLAVORS, Flavor
from cloche_hub.errors import MachineFailed
from cloche_hub.guestlink.link import await_agent
from cloche_hub.images.images import ImageCache
from cloche_hub.ports import AwaitAgent, Hypervisor, Machine, MachineSpec, Progress
from cloche_hub.vm.hypervisor import QemuHypervisor
from cloche_wire.rendezvous import locations
from tests.hub.vm.world import FLAVOR, IMAGE, World
from tests.support.fake_hypervisor import FakeHypervisor, FakeMachine
from tests.support.fake_qemu import greet
from tests.support.machines import open_hypervisor, power_off

BOUND_S = 150.0
"""A template is booted in it, in software emulation on a busy host."""
IDS = ("sb_contract1", "sb_contract2")


@dataclass(frozen=True, slots=True)
class Subject:
    """One implementation, ready to be used."""

    hypervisor: Hypervisor
    image: str
    flavor: Flavor
    greet: AwaitAgent
    """Returns when the agent at the other end of a link has answered."""
    power_off: Callable[[Machine], Awaitable[None]]
    """Makes the guest power itself off."""

    def spec(self, number: int = 0) -> MachineSpec:
        return MachineSpec(IDS[number], self.image, self.flavor)


Opened = AbstractAsyncContextManager[Subject]


@contextlib.asynccontextmanager
async def _fake(_request: pytest.FixtureRequest, _folder: Path) -> AsyncIterator[Subject]:
    """The fake that tests of the services use."""

    async def end(machine: Machine) -> None:
        assert isinstance(machine, FakeMachine)
        machine.agent._on_power_off()

    async with FakeHypervisor().running() as hypervisor:
        yield Subject(hypervisor, "1" * 32, FLAVORS[DEFAULT_FLAVOR], await_agent, end)


@contextlib.asynccontextmanager
async def _qemu_without_guest(_request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Subject]:
    """The real implementation over a small program that behaves like QEMU."""

    async def end(machine: Machine) -> None:
        _, writer = await machine.open_link()
        writer.write(b"poweroff\n")
        await writer.drain()

    async with World(folder).hypervisor() as hypervisor:
        yield Subject(hypervisor, IMAGE, FLAVOR, greet, end)


@contextlib.asynccontextmanager
async def _qemu(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Subject]:
    """The real implementation over the real QEMU, with a real guest."""
    image = request.getfixturevalue("minimal_image")
    async with ImageCache(locations().cache) as images, open_hypervisor(folder, images) as hypervisor:
        assert isinstance(hypervisor, QemuHypervisor)
        yield Subject(hypervisor, image.digest, FLAVORS[DEFAULT_FLAVOR], await_agent, power_off)


SUBJECTS = [
    pytest.param(_fake, id="fake"),
    pytest.param(_qemu_without_guest, id="qemu without a guest"),
    pytest.param(_qemu, id="qemu", marks=pytest.mark.machine),
]


@pytest.fixture(params=SUBJECTS)
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Opened]:
    """Opens the implementation under test; leaving it ends its machines."""

    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[Subject]:
        async with asyncio.timeout(BOUND_S), request.param(request, tmp_path) as it:
            try:
                yield it
            finally:
                for stray in await it.hypervisor.find_strays():
                    await it.hypervisor.end_stray(stray.machine_id)

    return opened


Open = Callable[[], Opened]


@contextlib.asynccontextmanager
async def started(it: Subject, number: int = 0) -> AsyncIterator[Machine]:
    """A machine for the time of a context."""
    machine = await it.hypervisor.start(it.spec(number))
    try:
        yield machine
    finally:
        await machine.stop(grace_s=0)


async def talk(it: Subject, machine: Machine) -> None:
    """Opens a link and hears the agent."""
    reader, writer = await machine.open_link()
    await it.greet(reader, writer)
    writer.close()


async def test_a_machine_has_the_id_it_was_asked_for_and_says_what_it_runs_on(subject: Open) -> None:
    async with subject() as it, started(it) as machine:
        assert machine.machine_id == IDS[0]
        assert machine.accelerator in ("kvm", "tcg")


async def test_the_agent_answers_over_a_link_and_again_over_the_next(subject: Open) -> None:
    async with subject() as it, started(it) as machine:
        await talk(it, machine)
        await talk(it, machine)


async def test_opening_a_second_link_ends_the_first(subject: Open) -> None:
    async with subject() as it, started(it) as machine:
        first, writer = await machine.open_link()
        await it.greet(first, writer)
        await talk(it, machine)
        assert first.at_eof() or await _ends(first)
        writer.close()


async def _ends(reader: asyncio.StreamReader) -> bool:
    # What was on its way may still come before the end.
    try:
        while await reader.read(65536):
            pass
    except ConnectionError:
        pass
    return True


async def test_machines_are_apart(subject: Open) -> None:
    async with subject() as it, started(it, 0) as one, started(it, 1) as other:
        await one.stop(grace_s=0)
        await talk(it, other)


async def test_a_guest_that_powers_itself_off_ends_its_machine_and_everybody_learns_how(
    subject: Open,
) -> None:
    async with subject() as it, started(it) as machine, asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(machine.wait_exit()) for _ in range(3)]
        await talk(it, machine)
        await it.power_off(machine)
        hows = [await one for one in waiting]
        assert {how.reason for how in hows} == {"guest_shutdown"}, hows
        assert await machine.wait_exit() == hows[0]


async def test_waiting_for_the_end_can_be_given_up_and_taken_up_again(subject: Open) -> None:
    async with subject() as it, started(it) as machine:
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(machine.wait_exit())
            await asyncio.sleep(0)
            waiting.cancel()
        how = await machine.stop(grace_s=0)
        assert await machine.wait_exit() == how


async def test_a_machine_can_be_stopped_many_times_and_says_the_same_each_time(subject: Open) -> None:
    async with subject() as it, started(it) as machine:
        hows = await asyncio.gather(*(machine.stop(grace_s=0) for _ in range(3)))
        hows.append(await machine.stop(grace_s=5))
        assert {how.reason for how in hows} == {"stopped"}


async def test_a_machine_that_has_ended_has_no_link_and_costs_nothing(subject: Open) -> None:
    async with subject() as it, started(it) as machine:
        await machine.stop(grace_s=0)
        with pytest.raises(MachineFailed):
            await machine.open_link()
        with pytest.raises(MachineFailed):
            await machine.use()


async def test_what_a_machine_costs_is_positive(subject: Open) -> None:
    async with subject() as it, started(it) as machine:
        await talk(it, machine)
        use = await machine.use()
        assert use.cpu_s >= 0
        assert use.memory_pss_bytes > 0
        assert use.disk_bytes > 0


async def test_the_boot_log_is_no_longer_than_asked_for_and_outlasts_the_machine(subject: Open) -> None:
    async with subject() as it, started(it) as machine:
        log = await machine.boot_log(max_bytes=1 << 20)
        assert log
        assert await machine.boot_log(max_bytes=10) == log[-10:]
        await machine.stop(grace_s=0)
        assert (await machine.boot_log(max_bytes=1 << 20)).startswith(log[:10])


async def test_who_follows_the_boot_log_gets_what_is_kept_at_once_and_its_end_with_the_machine(
    subject: Open,
) -> None:
    async with subject() as it, started(it) as machine:
        log = await machine.boot_log(max_bytes=1 << 20)
        async with contextlib.aclosing(machine.follow_boot_log()) as follower:
            first = await anext(follower)
            assert (first.data[: len(log)], first.is_cut) == (log, False)
            await machine.stop(grace_s=0)
            rest = b"".join([output.data async for output in follower])
        kept = await machine.boot_log(max_bytes=1 << 20)
        assert (first.data + rest)[-len(kept) :] == kept
        # What has ended can be followed, too.
        assert b"".join([output.data async for output in machine.follow_boot_log()]) == kept


async def test_a_boot_log_can_be_followed_by_many_and_left_at_any_time(subject: Open) -> None:
    async with subject() as it, started(it) as machine:
        for _ in range(3):
            async with (
                contextlib.aclosing(machine.follow_boot_log()) as one,
                contextlib.aclosing(machine.follow_boot_log()) as other,
            ):
                assert (await anext(one)).data[:10] == (await anext(other)).data[:10]
        assert await machine.boot_log(max_bytes=1 << 20)


async def test_preparing_twice_makes_one_template(subject: Open) -> None:
    steps: list[Progress] = []
    async with subject() as it:
        await it.hypervisor.prepare(it.image, it.flavor, progress=steps.append)
        first = len(steps)
        await it.hypervisor.prepare(it.image, it.flavor, progress=steps.append)
    assert len(steps) == first


async def test_a_machine_of_this_hub_is_no_stray(subject: Open) -> None:
    async with subject() as it, started(it) as machine:
        assert list(await it.hypervisor.find_strays()) == []
        await it.hypervisor.end_stray(IDS[0])
        await talk(it, machine)


async def test_the_status_tells_what_machines_would_run_on(subject: Open) -> None:
    async with subject() as it:
        status: Any = await it.hypervisor.status()
        assert status.accelerator in ("kvm", "tcg", "unproven")
        assert status.reason
        assert status.arch
