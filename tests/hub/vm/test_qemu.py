"""One QEMU, played by a small program."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche_hub.errors import MachineFailed
from cloche_hub.vm.argv import Disk
from cloche_hub.vm.boot_log import BootLog
from cloche_hub.vm.folder import MachineFolder
from cloche_hub.vm.qemu import Launch, Qemu, running_qemu, start_qemu
from cloche_hub.vm.template import Shape
from tests.hub.vm.world import BOUND_S, FLAVOR, IMAGE, World, open_descriptors
from tests.support.fake_qemu import greet


@contextlib.asynccontextmanager
async def launch(world: World, *faults: str, answer_s: float = 60.0) -> AsyncIterator[Launch]:
    """Everything to start one, and nothing of it afterwards."""
    build = await world.host(*faults).qemu()
    shape = Shape(build, "x86_64", "tcg", IMAGE, FLAVOR)
    folder, lock = MachineFolder.create(world.home / "machines", "sb_one")
    with lock, folder.disk.open("w+b") as disk:
        number = disk.fileno()
        disks = (Disk(number, "qcow2"),)
        invocation = shape.invocation("sb_one", ram=number, kernel=number, initrd=None, disks=disks)
        yield Launch(
            program=build.program,
            invocation=invocation,
            folder=folder,
            inherit=[lock.fileno()],
            run_as=None,
            largest_file=1 << 30,
            image=IMAGE,
            flavor="tiny",
            answer_s=answer_s,
        )


@contextlib.asynccontextmanager
async def running(world: World, *faults: str) -> AsyncIterator[Qemu]:
    async with asyncio.timeout(BOUND_S), launch(world, *faults) as it, running_qemu(it, BootLog()) as qemu:
        yield qemu


async def test_it_is_on_record_while_it_runs(world: World) -> None:
    async with running(world) as qemu:
        record = qemu.folder.read_record()
        assert record is not None
        assert (record.machine_id, record.pid, record.accelerator) == ("sb_one", qemu.process.pid, "tcg")
        environment = Path(f"/proc/{record.pid}/environ").read_bytes().split(b"\0")
        assert f"CLOCHE_MACHINE={qemu.folder.path}".encode() in environment


async def test_it_holds_its_folder_s_lock_after_the_hub_has_let_go_of_it(world: World) -> None:
    async with asyncio.timeout(BOUND_S):
        async with launch(world) as it:
            qemu = await start_qemu(it, BootLog())
        try:
            assert qemu.folder.is_live()
        finally:
            await qemu.end()
        assert not qemu.folder.is_live()


async def test_leaving_it_leaves_no_process_and_no_descriptor(world: World) -> None:
    before = open_descriptors()
    async with running(world):
        assert len(world.processes()) == 1
    assert world.processes() == []
    assert open_descriptors() == before


async def test_one_that_refuses_its_arguments_is_quoted(world: World) -> None:
    before = open_descriptors()
    with pytest.raises(MachineFailed, match="I do not like these arguments"):
        async with running(world, "arguments"):
            pass
    assert open_descriptors() == before


async def test_one_that_does_not_answer_is_given_up_and_ended(world: World) -> None:
    before = open_descriptors()
    async with asyncio.timeout(BOUND_S), launch(world, "silent", answer_s=0.2) as it:
        with pytest.raises(MachineFailed, match="does not answer"):
            await start_qemu(it, BootLog())
    assert world.processes() == []
    assert open_descriptors() == before


async def test_its_console_is_moved_into_the_log(world: World) -> None:
    async with running(world) as qemu:
        reader, writer = await qemu.open_link()
        writer.write(b"say hello\n")
        assert await reader.readline() == b"said\n"
        await qemu.read_console()
        await qemu.read_console()
        assert qemu.log.tail(100) == b"fake kernel booted\nhello\n"
        writer.close()


async def test_a_link_reaches_the_agent(world: World) -> None:
    async with running(world) as qemu:
        reader, writer = await qemu.open_link()
        await greet(reader, writer)
        writer.close()


async def test_an_expected_event_is_told_and_so_is_why_the_guest_ended(world: World) -> None:
    async with running(world) as qemu:
        ended = qemu.expect("SHUTDOWN", lambda data: data.get("guest") is True)
        _, writer = await qemu.open_link()
        writer.write(b"poweroff\n")
        assert (await ended)["reason"] == qemu.shutdown == "guest-shutdown"
        writer.close()


async def test_a_guest_that_has_ended_before_its_end_is_expected_has_ended(world: World) -> None:
    async with running(world) as qemu:
        ended = qemu.expect("SHUTDOWN")
        _, writer = await qemu.open_link()
        writer.write(b"panic\n")
        await ended
        assert (await qemu.expect("SHUTDOWN"))["reason"] == "guest-reset"
        # Of anything else the next one counts.
        assert not qemu.expect("RESUME").done()
        writer.close()


async def test_expecting_anything_of_a_qemu_that_dies_fails_with_its_words(world: World) -> None:
    async with running(world) as qemu:
        ended = qemu.expect("SHUTDOWN")
        _, writer = await qemu.open_link()
        writer.write(b"crash\n")
        with pytest.raises(MachineFailed, match="told to crash"):
            await ended
        with pytest.raises(MachineFailed, match="told to crash"):
            await qemu.expect("SHUTDOWN")
        with pytest.raises(MachineFailed, match="is gone"):
            await qemu.open_link()
        writer.close()


async def test_it_quits_when_asked(world: World) -> None:
    async with running(world) as qemu:
        assert await qemu.quit()
        assert await qemu.process.wait() == 0


async def test_letting_go_of_it_lets_it_run_on(world: World) -> None:
    async with asyncio.timeout(BOUND_S), launch(world) as it:
        qemu = await start_qemu(it, BootLog())
        await qemu.detach()
        await qemu.detach()
        assert world.processes() == [qemu.process.pid]
        os.kill(qemu.process.pid, 9)
        os.waitpid(qemu.process.pid, 0)
