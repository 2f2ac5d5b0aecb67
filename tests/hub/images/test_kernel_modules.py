"""Which modules are chosen, and in which order they are loaded."""

from __future__ import annotations

import lzma
import struct

import pytest

from cloche_hub.errors import BuildFailed
from cloche_hub.images.kernel_modules import (
    ModuleInfo,
    decompress_module,
    load_order,
    module_depends,
    module_name,
    modules_dep,
)


def elf_module(modinfo: bytes, *, section: bytes = b".modinfo") -> bytes:
    """A module file with one section of information, as small as the format allows."""
    names = b"\0" + section + b"\0.shstrtab\0"
    data_at = 64
    names_at = data_at + len(modinfo)
    table_at = names_at + len(names)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, table_at, 0, 64, 0, 0, 64, 3, 2
    )
    entry = struct.Struct("<IIQQQQIIQQ")
    table = (
        entry.pack(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        + entry.pack(1, 1, 0, 0, data_at, len(modinfo), 0, 0, 1, 0)
        + entry.pack(len(section) + 2, 3, 0, 0, names_at, len(names), 0, 0, 1, 0)
    )
    return header + modinfo + names + table


def _modules(**depends: str) -> dict[str, ModuleInfo]:
    return {
        name: ModuleInfo(name, f"kernel/{name}.ko", tuple(needed.split())) for name, needed in depends.items()
    }


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("kernel/drivers/virtio/virtio_pci.ko", "virtio_pci"),
        ("kernel/drivers/char/hw_random/virtio-rng.ko", "virtio_rng"),
        ("kernel/a/b.ko.xz", "b"),
        ("kernel/a/b.ko.zst", "b"),
        ("modules.dep", None),
        ("kernel/a/b.ko.gz.txt", None),
    ],
)
def test_a_module_is_named_by_its_file_with_underscores(path: str, name: str | None) -> None:
    assert module_name(path) == name


def test_a_module_says_what_it_depends_on() -> None:
    image = elf_module(b"license=GPL\0depends=virtio,virtio-ring\0name=x\0")

    assert module_depends(image) == ("virtio", "virtio_ring")


@pytest.mark.parametrize("modinfo", [b"depends=\0", b"license=GPL\0"])
def test_a_module_may_depend_on_nothing(modinfo: bytes) -> None:
    assert module_depends(elf_module(modinfo)) == ()


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (b"", "not a 64-bit little-endian ELF file"),
        (b"#!/bin/sh\n" * 20, "not a 64-bit little-endian ELF file"),
        (elf_module(b"depends=a\0")[:80], "section table is damaged"),
        (elf_module(b"depends=a\0", section=b".text"), "has no .modinfo section"),
    ],
)
def test_what_is_no_module_is_refused(image: bytes, message: str) -> None:
    with pytest.raises(BuildFailed, match=message):
        module_depends(image)


def test_modules_compressed_with_xz_are_unpacked() -> None:
    assert decompress_module("a.ko.xz", lzma.compress(b"image")) == b"image"
    assert decompress_module("a.ko", b"image") == b"image"


def test_a_module_still_compressed_with_zstd_is_refused() -> None:
    with pytest.raises(BuildFailed, match=r"a\.ko\.zst: still compressed"):
        decompress_module("a.ko.zst", b"x")


def test_each_module_is_loaded_after_what_it_needs_and_once() -> None:
    modules = _modules(net="failover virtio", blk="virtio", virtio="ring", ring="", failover="", other="")

    order = [info.name for info in load_order(modules, ["blk", "net"])]

    assert order == ["ring", "virtio", "blk", "failover", "net"]


def test_what_is_built_into_the_kernel_is_left_out() -> None:
    assert load_order(_modules(blk="virtio"), ["blk", "ext4"]) == [
        ModuleInfo("blk", "kernel/blk.ko", ("virtio",))
    ]


def test_modules_that_depend_on_each_other_are_refused() -> None:
    with pytest.raises(BuildFailed, match="a -> b -> a"):
        load_order(_modules(a="b", b="a"), ["a"])


def test_the_dependency_file_names_all_that_is_needed_the_nearest_first() -> None:
    modules = _modules(blk="virtio", virtio="ring", ring="")

    assert modules_dep(list(modules.values())) == (
        "kernel/blk.ko: kernel/virtio.ko kernel/ring.ko\nkernel/ring.ko:\nkernel/virtio.ko: kernel/ring.ko\n"
    )
