"""Making a template, with a QEMU that is played by a small program."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest

from cloche_hub.errors import MachineFailed, NoSpace
from cloche_hub.vm.boot import Users
from cloche_hub.vm.template import Shape, StoredTemplate, TemplateCache
from cloche_hub.vm.template_build import build_template, on
from tests.hub.vm.world import BOUND_S, BOUNDS, FLAVOR, IMAGE, World, open_descriptors
from tests.support.fake_qemu import STATE, greet


async def _build(world: World, *faults: str) -> StoredTemplate | None:
    host = world.host(*faults)
    shape = Shape(await host.qemu(), "x86_64", "tcg", IMAGE, FLAVOR)
    cache = TemplateCache(world.cache / "templates")
    cache.prepare()
    async with asyncio.timeout(BOUND_S):
        with world.hold(IMAGE) as image:
            await build_template(
                shape,
                image,
                cache,
                machines=world.home / "booting",
                users=Users(None, host),
                await_agent=greet,
                bounds=BOUNDS,
                progress=world.note,
            )
    return cache.find(shape.key())


async def test_a_template_has_memory_devices_disk_and_console(world: World) -> None:
    before = open_descriptors()
    stored = await _build(world)
    assert stored is not None
    assert stored.state.read_bytes() == STATE
    assert stored.ram.stat().st_size == FLAVOR.memory_mib << 20
    assert stored.disk.read_bytes()[:4] == b"QFI\xfb"
    # QEMU was let end by itself: killed, it would have lost the end of its disk.
    assert stored.disk.read_bytes().endswith(b"flushed")
    assert stored.boot_log() == b"fake kernel booted\n"
    assert (world.processes(), world.left_overs(), open_descriptors()) == ([], [], before)


async def test_its_steps_are_told(world: World) -> None:
    await _build(world)
    assert [(step.step, step.fraction) for step in world.steps] == [
        ("template", 0.1),
        ("template", 0.8),
        ("template", 1.0),
    ]


async def test_a_machine_that_can_not_be_saved_is_no_template(world: World) -> None:
    with pytest.raises(MachineFailed, match="could not save the machine: the fake was told to fail"):
        await _build(world, "unsaved")
    assert (world.processes(), world.left_overs()) == ([], [])


async def test_too_little_room_is_said_before_anything_is_booted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TemplateCache, "free_bytes", lambda _cache: 1 << 20)
    with pytest.raises(NoSpace, match="66 MiB, but only 1 MiB"):
        await _build(world)
    assert world.steps == []


async def test_a_disk_that_becomes_full_is_told_as_that(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_source: int, _target: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("cloche_hub.vm.template_build.copy_sparsely", fail)
    with pytest.raises(NoSpace, match="became full"):
        await _build(world)
    assert (world.processes(), world.left_overs()) == ([], [])


async def test_a_guest_that_is_never_quiet_is_saved_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = iter(range(10**6))
    monkeypatch.setattr("cloche_hub.vm.template_build.cpu_seconds", lambda _pid: next(used))
    assert await _build(world) is not None


def test_a_capability_is_written_as_qmp_wants_it() -> None:
    assert on("events") == {"capability": "events", "state": True}


def test_there_is_no_template_before_one_is_made(tmp_path: Path) -> None:
    assert TemplateCache(tmp_path).find("0" * 32) is None
