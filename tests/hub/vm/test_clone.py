"""Starting a machine from a template."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche_hub.locks import is_held
from cloche_hub.vm.clone import load_template
from cloche_hub.vm.hypervisor import QemuHypervisor
from cloche_hub.vm.machine import QemuMachine
from tests.hub.vm.world import BOUND_S, FLAVOR, IMAGE, World, open_descriptors, spec


@contextlib.asynccontextmanager
async def running(world: World) -> AsyncIterator[tuple[QemuHypervisor, QemuMachine]]:
    async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor:
        machine = await hypervisor.start(spec())
        try:
            yield hypervisor, machine
        finally:
            await machine.stop(grace_s=0)


async def test_a_clone_keeps_its_template_and_its_image_from_being_deleted(world: World) -> None:
    async with running(world) as (hypervisor, machine):
        loaded = await hypervisor._templates.ready(IMAGE, FLAVOR, progress=world.note)
        lock = world.cache / "templates" / "locks" / f"{loaded.stored.key}.use"
        assert is_held(lock)
        descriptors = Path(f"/proc/{machine._qemu.process.pid}/fd").iterdir()
        assert str(world.root / "image.lock") in {str(path.readlink()) for path in descriptors}
        await machine.stop(grace_s=0)
        assert not is_held(lock)


async def test_clones_share_the_memory_of_their_template(world: World) -> None:
    async with running(world) as (hypervisor, first):
        second = await hypervisor.start(spec("sb_two"))
        inodes = []
        for machine in (first, second):
            folder = Path(f"/proc/{machine._qemu.process.pid}/fd")
            (ram,) = [path for path in folder.iterdir() if "memfd:cloche-ram" in str(path.readlink())]
            inodes.append(ram.stat().st_ino)
        assert inodes[0] == inodes[1]
        await second.stop(grace_s=0)


async def test_each_clone_has_an_overlay_of_its_own(world: World) -> None:
    async with running(world) as (hypervisor, first):
        second = await hypervisor.start(spec("sb_two"))
        disks = {machine._qemu.folder.disk for machine in (first, second)}
        assert all(disk.read_bytes()[:4] == b"QFI\xfb" for disk in disks)
        assert len(disks) == 2
        await second.stop(grace_s=0)


async def test_a_running_clone_costs_the_hub_few_descriptors(world: World) -> None:
    async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor:
        await hypervisor.prepare(IMAGE, FLAVOR, progress=world.note)
        before = open_descriptors()
        machine = await hypervisor.start(spec())
        # Its pidfd, the pipe of its words, its monitor.
        assert open_descriptors() == before + 3
        await machine.stop(grace_s=0)
        assert open_descriptors() == before


async def test_loaded_memory_is_let_go_even_if_the_kernel_can_not_be_read(world: World) -> None:
    async with running(world) as (hypervisor, _):
        loaded = await hypervisor._templates.ready(IMAGE, FLAVOR, progress=world.note)
        before = open_descriptors()
        with pytest.raises(FileNotFoundError):
            await load_template(loaded.shape, loaded.stored, world.root / "no-kernel")
        assert open_descriptors() == before
        assert os.fstat(loaded.ram).st_size == FLAVOR.memory_mib << 20
