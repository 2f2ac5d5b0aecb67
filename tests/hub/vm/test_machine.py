"""A running machine, on a QEMU that is played by a small program."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from cloche_hub.errors import MachineFailed
from cloche_hub.ports import BootOutput, MachineExit
from cloche_hub.vm.machine import QemuMachine
from cloche_hub.vm.qemu import Qemu
from tests.hub.vm.world import BOUND_S, World, spec
from tests.support.fake_qemu import greet


@contextlib.asynccontextmanager
async def running(world: World, *faults: str) -> AsyncIterator[QemuMachine]:
    async with asyncio.timeout(BOUND_S), world.hypervisor(*faults) as hypervisor:
        machine = await hypervisor.start(spec())
        try:
            yield machine
        finally:
            await machine.stop(grace_s=0)


async def tell(machine: QemuMachine, line: bytes) -> None:
    _, writer = await machine.open_link()
    writer.write(line + b"\n")
    await writer.drain()


@pytest.mark.parametrize(
    ("line", "how"),
    [
        (b"poweroff", MachineExit("guest_shutdown", "the guest powered itself off")),
        (b"reboot", MachineExit("guest_shutdown", "the guest rebooted, which ends a machine")),
        (b"panic", MachineExit("guest_panic", "Kernel panic - not syncing: told to")),
        (b"crash", MachineExit("crashed", "QEMU died of SIGABRT: fake-qemu: told to crash")),
    ],
)
async def test_however_it_ends_everybody_who_waits_learns_how(
    world: World, line: bytes, how: MachineExit
) -> None:
    async with running(world) as machine, asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(machine.wait_exit()) for _ in range(3)]
        await tell(machine, line)
        assert [await one for one in waiting] == [how] * 3
        assert await machine.wait_exit() == how
        # It was not stopped: it had ended before.
        assert await machine.stop(grace_s=0) == how


async def test_a_guest_that_powers_off_in_time_is_not_cut_off(world: World) -> None:
    async with running(world) as machine, asyncio.TaskGroup() as tasks:
        stopping = tasks.create_task(machine.stop(grace_s=BOUND_S))
        await asyncio.sleep(0)
        await tell(machine, b"poweroff")
        assert (await stopping).reason == "guest_shutdown"


async def test_a_machine_that_does_not_quit_is_killed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloche_hub.vm.qemu._QUIT_S", 0.05)
    async with running(world, "stubborn-clone") as machine:
        assert await machine.stop(grace_s=0) == MachineExit("killed", "killed: it did not end in time")


async def test_stopping_it_many_times_at_once_is_stopping_it_once(world: World) -> None:
    async with running(world) as machine:
        hows = await asyncio.gather(*(machine.stop(grace_s=0) for _ in range(5)))
        assert {how.reason for how in hows} == {"stopped"}
        assert not machine._qemu.folder.path.exists()


async def test_a_stop_that_is_cancelled_can_be_asked_for_again(world: World) -> None:
    async with running(world) as machine:
        async with asyncio.TaskGroup() as tasks:
            stopping = tasks.create_task(machine.stop(grace_s=BOUND_S))
            await asyncio.sleep(0)
            stopping.cancel()
        assert (await machine.stop(grace_s=0)).reason == "stopped"
    assert world.processes() == []


async def test_a_second_link_ends_the_first(world: World) -> None:
    async with running(world) as machine:
        first, _ = await machine.open_link()
        second, writer = await machine.open_link()
        assert await first.read() == b""
        await greet(second, writer)


async def test_there_is_no_link_to_a_machine_that_has_ended(world: World) -> None:
    async with running(world) as machine:
        await machine.stop(grace_s=0)
        with pytest.raises(MachineFailed, match="has ended: stopped"):
            await machine.open_link()


async def test_what_it_costs_is_told_while_it_runs(world: World) -> None:
    async with running(world) as machine:
        use = await machine.use()
        assert use.memory_pss_bytes > 1 << 20
        assert 0 < use.disk_bytes < 1 << 20
        assert use.cpu_s >= 0
        await machine.stop(grace_s=0)
        with pytest.raises(MachineFailed, match="has ended"):
            await machine.use()


async def test_its_console_begins_with_its_template_s_and_outlasts_it(world: World) -> None:
    async with running(world) as machine:
        reader, writer = await machine.open_link()
        writer.write(b"say hello\n")
        await reader.readline()
        assert await machine.boot_log(max_bytes=1000) == b"fake kernel booted\nfake kernel booted\nhello\n"
        await tell(machine, b"panic")
        await machine.wait_exit()
        assert (await machine.boot_log(max_bytes=1000)).endswith(
            b"hello\nKernel panic - not syncing: told to\n"
        )
        assert await machine.boot_log(max_bytes=8) == b"told to\n"


async def test_who_follows_its_console_hears_what_it_prints_and_its_last_words(world: World) -> None:
    async with running(world) as machine, contextlib.aclosing(machine.follow_boot_log()) as console:
        assert (await anext(console)).data == b"fake kernel booted\nfake kernel booted\n"
        reader, writer = await machine.open_link()
        writer.write(b"say hello\n")
        await reader.readline()
        assert await anext(console) == BootOutput(b"hello\n")
        await tell(machine, b"panic")
        rest = b"".join([output.data async for output in console])
        assert rest == b"Kernel panic - not syncing: told to\n"


async def test_its_console_is_left_alone_while_nobody_follows_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    execute = Qemu.execute

    async def counted(qemu: Qemu, command: str, arguments: Mapping[str, object] | None = None) -> Any:
        asked.append(command)
        return await execute(qemu, command, arguments)

    async with running(world) as machine:
        monkeypatch.setattr("cloche_hub.vm.machine._LOOK_S", 0.001)
        monkeypatch.setattr(Qemu, "execute", counted)
        async with contextlib.aclosing(machine.follow_boot_log()) as console:
            await anext(console)
        assert asked == ["ringbuf-read"]
        asked.clear()
        reader, writer = await machine.open_link()
        for _ in range(20):
            writer.write(b"say hello\n")
            await reader.readline()
        assert asked == []


async def test_a_follower_of_a_flooded_console_gets_the_newest_of_it_and_that_something_is_missing(
    world: World,
) -> None:
    async with running(world) as machine, contextlib.aclosing(machine.follow_boot_log()) as console:
        await anext(console)
        reader, writer = await machine.open_link()
        for letter in (b"a", b"b", b"c"):
            writer.write(b"say " + letter * 60_000 + b"\n")
            assert await reader.readline() == b"said\n"
        output = await anext(console)
        assert (len(output.data), output.is_cut, output.data[-9:]) == (64 << 10, True, b"c" * 8 + b"\n")
        writer.write(b"say hello\n")
        await reader.readline()
        assert await anext(console) == BootOutput(b"hello\n")


async def test_a_console_can_be_followed_although_its_qemu_does_not_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise MachineFailed("QEMU did not carry out ringbuf-read")

    async with running(world) as machine, contextlib.aclosing(machine.follow_boot_log()) as console:
        monkeypatch.setattr(Qemu, "execute", refuse)
        assert (await anext(console)).data == b"fake kernel booted\n"
        await machine.stop(grace_s=0)
        assert [output async for output in console] == []


async def test_a_guest_that_floods_its_console_keeps_the_hub_s_memory_bounded(world: World) -> None:
    async with running(world) as machine:
        reader, writer = await machine.open_link()
        for _ in range(20):
            writer.write(b"say " + b"x" * 30_000 + b"\n")
            assert await reader.readline() == b"said\n"
            await machine.boot_log(max_bytes=1)
        assert len(await machine.boot_log(max_bytes=1 << 30)) == 128 << 10
