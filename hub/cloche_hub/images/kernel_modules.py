"""Which kernel modules a guest gets, and in which order they are loaded.

Pure: module files' bytes in, names and order out. The order comes from what each module says it depends on
(the `depends=` of its `.modinfo` section), never from a list kept by hand.
Rule: a wanted module that does not exist is built into this kernel or absent from it; either way it is left out.
Source: the ELF-64 object format (System V ABI, chapter 4); modules.dep(5).
"""

from __future__ import annotations

import lzma
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cloche_hub.errors import BuildFailed

INITRD_MODULES = (
    "virtio_pci",
    "virtio_mmio",
    "virtio_blk",
    "virtio_console",
    "virtio_rng",
    "virtio_net",
)
"""What a guest needs before it has its disk, and what its template must already know when a clone plugs it in."""

ROOTFS_MODULES = (
    *INITRD_MODULES,
    "9p",
    "9pnet_virtio",
    "bridge",
    "dummy",
    "fuse",
    "isofs",
    "loop",
    "macvlan",
    "overlay",
    "squashfs",
    "tun",
    "veth",
    "vfat",
    "virtio_balloon",
    "virtio_mem",
    "virtiofs",
    "vmw_vsock_virtio_transport",
    "wireguard",
    "zram",
)
"""What may be loaded later, from /lib/modules of the root file system."""

_SUFFIXES = (".ko", ".ko.xz", ".ko.zst")
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")


@dataclass(frozen=True, slots=True)
class ModuleInfo:
    """One module file."""

    name: str
    """As the kernel calls it: with underscores."""
    path: str
    """Relative to lib/modules/VERSION."""
    depends: tuple[str, ...]


def module_name(path: str) -> str | None:
    """The module a file holds, or None if it is no module file."""
    file = path.rpartition("/")[2]
    for suffix in _SUFFIXES:
        if file.endswith(suffix):
            return file.removesuffix(suffix).replace("-", "_")
    return None


def decompress_module(path: str, data: bytes) -> bytes:
    """A module file's ELF image.

    Raises:
        BuildFailed: it is compressed in a way this Python can not undo.
    """
    if path.endswith(".xz"):
        return lzma.decompress(data)
    if path.endswith(".zst"):
        raise BuildFailed(f"{path}: still compressed with zstd")
    return data


def module_depends(image: bytes) -> tuple[str, ...]:
    """The modules an ELF image says it depends on.

    Raises:
        BuildFailed: not a 64-bit little-endian ELF file with a .modinfo section.
    """
    for entry in _section(image, b".modinfo").split(b"\0"):
        key, _, value = entry.partition(b"=")
        if key == b"depends":
            return tuple(name.replace("-", "_") for name in value.decode("ascii").split(",") if name)
    return ()


def _section(image: bytes, wanted: bytes) -> bytes:
    if image[:6] != b"\x7fELF\x02\x01":
        raise BuildFailed("a kernel module is not a 64-bit little-endian ELF file")
    try:
        (table,) = struct.unpack_from("<Q", image, 0x28)
        entry_size, count, names_index = struct.unpack_from("<HHH", image, 0x3A)
        headers = [_SECTION_HEADER.unpack_from(image, table + index * entry_size) for index in range(count)]
        names_at = headers[names_index][4]
    except (struct.error, IndexError):
        raise BuildFailed("a kernel module's section table is damaged") from None
    for header in headers:
        start = names_at + header[0]
        if image[start : start + len(wanted) + 1] == wanted + b"\0":
            return image[header[4] : header[4] + header[5]]
    raise BuildFailed(f"a kernel module has no {wanted.decode()} section")


def load_order(modules: Mapping[str, ModuleInfo], wanted: Iterable[str]) -> list[ModuleInfo]:
    """The wanted modules and everything they need, each after what it depends on.

    Raises:
        BuildFailed: modules depend on each other in a circle.
    """
    order: dict[str, ModuleInfo] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        info = modules.get(name)
        if info is None or name in order:
            return
        if name in path:
            raise BuildFailed(f"kernel modules depend on each other: {' -> '.join((*path, name))}")
        for needed in info.depends:
            visit(needed, (*path, name))
        order[name] = info

    for name in wanted:
        visit(name, ())
    return list(order.values())


def modules_dep(modules: Sequence[ModuleInfo]) -> str:
    """modules.dep for these modules: each file with all it needs, the nearest first (modules.dep(5))."""
    by_name = {module.name: module for module in modules}
    lines = []
    for module in sorted(modules, key=lambda module: module.path):
        needed = [info.path for info in load_order(by_name, module.depends)]
        lines.append(f"{module.path}:{''.join(' ' + path for path in reversed(needed))}\n")
    return "".join(lines)
