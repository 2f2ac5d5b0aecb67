"""Templates ready to clone from: one making, one memory, and what is done when they disappear."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator

import pytest

from cloche_hub.errors import BuildFailed, NotFound, Unsupported
from cloche_hub.vm.templates import Templates
from tests.hub.vm.world import BOUND_S, FLAVOR, IMAGE, World, other_flavor


@contextlib.asynccontextmanager
async def templates(world: World, *faults: str) -> AsyncIterator[Templates]:
    async with asyncio.timeout(BOUND_S), world.hypervisor(*faults) as hypervisor:
        yield hypervisor._templates


async def test_a_template_is_loaded_once(world: World) -> None:
    async with templates(world) as ours:
        first = await ours.ready(IMAGE, FLAVOR, progress=world.note)
        assert await ours.ready(IMAGE, FLAVOR, progress=world.note) is first


async def test_a_template_that_was_deleted_meanwhile_is_made_again(world: World) -> None:
    async with templates(world) as ours:
        first = await ours.ready(IMAGE, FLAVOR, progress=world.note)
        kept = ours.take(first)
        assert kept is not None
        shutil.rmtree(first.stored.path)
        assert ours.take(first) is None
        second = await ours.ready(IMAGE, FLAVOR, progress=world.note)
        assert second is not first
        # Its machine still needed it; now it is gone for good.
        os.fstat(first.ram)
        kept.close()
        ours.give_back(first)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(first.ram)
        lock = ours.take(second)
        assert lock is not None
        lock.close()
        ours.give_back(second)


async def test_a_template_with_machines_stays_loaded_however_many_others_are_used(world: World) -> None:
    async with templates(world) as ours:
        used = await ours.ready(IMAGE, FLAVOR, progress=world.note)
        lock = ours.take(used)
        assert lock is not None
        for memory_mib in (8, 12, 16, 20):
            await ours.ready(IMAGE, other_flavor(memory_mib), progress=world.note)
        ours.trim()
        assert await ours.ready(IMAGE, FLAVOR, progress=world.note) is used
        lock.close()
        ours.give_back(used)


async def test_a_failed_making_is_tried_again_by_the_next_who_asks(world: World) -> None:
    async with templates(world, "boot-panic") as ours:
        for _ in range(2):
            with pytest.raises(BuildFailed):
                await ours.ready(IMAGE, FLAVOR, progress=world.note)
    assert len([step for step in world.steps if step.message.startswith("booting")]) == 2


async def test_an_image_for_another_processor_is_refused(world: World) -> None:
    world.arch = "aarch64"
    async with templates(world) as ours:
        with pytest.raises(Unsupported, match="is for aarch64, not x86_64"):
            await ours.ready(IMAGE, FLAVOR, progress=world.note)


async def test_an_image_that_is_not_there_is_named(world: World) -> None:
    async with templates(world) as ours:
        with pytest.raises(NotFound):
            await ours.ready("f" * 32, FLAVOR, progress=world.note)


async def test_machines_run_on_kvm_where_it_is_proven(world: World) -> None:
    (world.root / "no-kvm").touch()
    async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor:
        assert (await hypervisor.status()).accelerator == "unproven"
        loaded = await hypervisor._templates.ready(IMAGE, FLAVOR, progress=world.note)
        assert (await hypervisor.status()).accelerator == loaded.shape.accelerator == "kvm"
