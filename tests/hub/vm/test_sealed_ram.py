"""Memory that is shared by all and changed by nobody."""

from __future__ import annotations

import asyncio
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloche_hub.vm.sealed_ram import copy_sparsely, create_ram, load_ram, seal, sealed_bytes
from tests.hub.vm.world import open_descriptors

MIB = 1 << 20


@pytest.fixture
def ram() -> Iterator[int]:
    descriptor = create_ram("test", 64 * MIB)
    yield descriptor
    os.close(descriptor)


def _used(descriptor: int) -> int:
    return os.fstat(descriptor).st_blocks * 512


def test_sealed_memory_can_not_be_written_to_by_any_way(ram: int) -> None:
    seal(ram)
    with pytest.raises(PermissionError):
        os.pwrite(ram, b"x", 0)
    with pytest.raises(PermissionError):
        os.ftruncate(ram, 0)
    with pytest.raises(PermissionError):
        mmap.mmap(ram, MIB, flags=mmap.MAP_SHARED)
    again = os.open(f"/proc/self/fd/{ram}", os.O_RDWR)
    with pytest.raises(PermissionError):
        os.pwrite(again, b"x", 0)
    os.close(again)


def test_sealed_memory_can_be_mapped_privately_as_a_clone_does(ram: int) -> None:
    os.pwrite(ram, b"before", 0)
    seal(ram)
    with mmap.mmap(ram, MIB, flags=mmap.MAP_PRIVATE) as mapped:
        mapped[:5] = b"after"
        assert mapped[:6] == b"aftere"
    assert os.pread(ram, 6, 0) == b"before"


def test_memory_somebody_still_writes_to_can_not_be_sealed(ram: int) -> None:
    with mmap.mmap(ram, MIB, flags=mmap.MAP_SHARED), pytest.raises(OSError, match="busy"):
        seal(ram)


async def test_a_copy_has_the_same_bytes_and_only_the_used_pages(ram: int, tmp_path: Path) -> None:
    os.pwrite(ram, b"first", 0)
    os.pwrite(ram, b"across two chunks" * 1000, 4 * MIB - 5000)
    os.pwrite(ram, b"last", 64 * MIB - 4)
    # Touched, but zero: it takes room here and shall not in the copy.
    os.pwrite(ram, bytes(8 * MIB), 16 * MIB)
    copy = os.open(tmp_path / "ram", os.O_RDWR | os.O_CREAT)
    os.ftruncate(copy, 64 * MIB)
    await copy_sparsely(ram, copy)
    assert os.pread(copy, 64 * MIB, 0) == os.pread(ram, 64 * MIB, 0)
    assert _used(copy) <= 64 << 10
    os.close(copy)


async def test_loaded_memory_is_sealed_and_has_the_file_s_bytes(tmp_path: Path) -> None:
    (tmp_path / "ram").write_bytes(b"memory" + bytes(4090))
    source = os.open(tmp_path / "ram", os.O_RDONLY)
    loaded = await load_ram("test", source)
    os.close(source)
    assert os.pread(loaded, 6, 0) == b"memory"
    with pytest.raises(PermissionError):
        os.pwrite(loaded, b"x", 0)
    os.close(loaded)


async def test_cancelling_a_load_leaves_no_descriptor(tmp_path: Path) -> None:
    (tmp_path / "ram").write_bytes(b"x" * (16 * MIB))
    source = os.open(tmp_path / "ram", os.O_RDONLY)
    before = open_descriptors()
    async with asyncio.TaskGroup() as tasks:
        loading = tasks.create_task(load_ram("test", source))
        await asyncio.sleep(0)
        loading.cancel()
    assert loading.cancelled()
    assert open_descriptors() == before
    os.close(source)


def test_bytes_can_be_sealed_at_once() -> None:
    descriptor = sealed_bytes("test", b"stub")
    assert os.pread(descriptor, 10, 0) == b"stub"
    with pytest.raises(PermissionError):
        os.pwrite(descriptor, b"x", 0)
    os.close(descriptor)
