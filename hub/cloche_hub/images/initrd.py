"""The initrd: loads the modules that reach the disk, mounts it and starts the agent.

Pure: bytes in, bytes out, and the same bytes for the same input. The archive is written here, not by cpio(1),
so building needs no root and leaves no trace of the host.
Rule: the agent travels in the initrd, never in the root file system, so a new agent rebuilds in no time.
Rule: it is not compressed: it is loaded once a template, and unpacking costs more than reading in software emulation.
Source: the kernel's Documentation/driver-api/early-userspace/buffer-format.rst (newc).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cloche_hub.errors import BuildFailed

AGENT_PATH = "/run/cloche/agent.pyz"
"""Where the guest finds the agent."""
AGENT_HASH_PATH = "/run/cloche/agent.sha256"
"""Where the agent finds its own hash: hex and a newline."""

_DIRECTORY = 0o040755
_FILE = 0o100644
_PROGRAM = 0o100755
_CHARACTER_DEVICE = 0o020600
_PROGRAM_INTERPRETER = 3  # PT_INTERP: only a dynamically linked program has it

# Every path is absolute and every command goes through busybox by its full name: there is no PATH yet.
# A failure ends in the kernel's panic, which `panic=-1` turns into a reset the hypervisor sees at once.
INIT_TEMPLATE = """#!/bin/busybox sh
B=/bin/busybox
fail() { $B echo "cloche: initrd: $*" >/dev/console; exit 1; }
$B mount -t proc -o nosuid,nodev,noexec proc /proc || fail "no /proc"
$B mount -t sysfs -o nosuid,nodev,noexec sysfs /sys || fail "no /sys"
$B mount -t devtmpfs -o nosuid,mode=0755 devtmpfs /dev || fail "no /dev"
for module in @MODULES@; do
    $B insmod "/modules/$module" || $B echo "cloche: initrd: module $module did not load" >/dev/console
done
tries=0
while [ ! -b /dev/vda ]; do
    tries=$((tries + 1))
    [ $tries -le 1000 ] || fail "the disk /dev/vda did not appear"
    $B usleep 10000
done
$B mount -t ext4 -o rw,noatime,noinit_itable /dev/vda /root || fail "the disk can not be mounted"
for folder in proc sys dev; do
    $B mount -o move "/$folder" "/root/$folder" || fail "/$folder can not be moved"
done
$B mount -t tmpfs -o nosuid,nodev,mode=0755 tmpfs /root/run || fail "no /run"
$B mkdir -p /root/dev/pts /root/dev/shm /root/run/cloche
$B mount -t devpts -o nosuid,noexec,gid=5,mode=0620,ptmxmode=0666 devpts /root/dev/pts || fail "no /dev/pts"
$B mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs /root/dev/shm || fail "no /dev/shm"
$B cp /agent/agent.pyz /agent/agent.sha256 /root/run/cloche/ || fail "the agent can not be copied"
exec $B switch_root -c /dev/console /root /usr/bin/python3 -I @AGENT@
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One member of a cpio archive."""

    name: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def cpio_archive(entries: Sequence[Entry]) -> bytes:
    """A cpio archive in the newc format; owner root, no times, inode numbers by position."""
    archive = bytearray()
    for inode, entry in enumerate((*entries, Entry("TRAILER!!!", 0)), start=1):
        raw_name = entry.name.encode() + b"\0"
        links = 2 if entry.mode == _DIRECTORY else 1
        fields = (inode, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, *entry.device, len(raw_name), 0)
        archive += b"070701" + b"".join(b"%08X" % number for number in fields) + raw_name
        archive += b"\0" * (-len(archive) % 4)
        archive += entry.data
        archive += b"\0" * (-len(archive) % 4)
    return bytes(archive)


def init_script(modules: Sequence[str]) -> str:
    """The first program of the guest.

    Args:
        modules: file names in /modules, in the order they are loaded.
    """
    # SAFETY: the names become words of a shell script that runs as root in the guest; they come from a
    # package, and are checked all the same.
    for name in modules:
        if not name.replace("_", "").replace("-", "").replace(".", "").isalnum():
            raise BuildFailed(f"a kernel module has an odd name: {name!r}")
    return INIT_TEMPLATE.replace("@MODULES@", " ".join(modules)).replace("@AGENT@", AGENT_PATH)


def make_initrd(
    *, busybox: bytes, modules: Sequence[tuple[str, bytes]], agent: bytes, agent_hash: str
) -> bytes:
    """The initrd.

    Args:
        busybox: the statically linked program.
        modules: file name and ELF image of each module, in the order they are loaded.
        agent: the agent bundle.
        agent_hash: its sha256 in hex.
    """
    folders = ("agent", "bin", "dev", "modules", "proc", "root", "sys")
    return cpio_archive(
        [
            *(Entry(name, _DIRECTORY) for name in folders),
            # The kernel opens it for the first program's output, before anything could be mounted.
            Entry("dev/console", _CHARACTER_DEVICE, device=(5, 1)),
            Entry("bin/busybox", _PROGRAM, busybox),
            Entry("init", _PROGRAM, init_script([name for name, _ in modules]).encode()),
            *(Entry(f"modules/{name}", _FILE, data) for name, data in modules),
            Entry("agent/agent.pyz", _FILE, agent),
            Entry("agent/agent.sha256", _FILE, agent_hash.encode("ascii") + b"\n"),
        ]
    )


def check_busybox(data: bytes, *, elf_machine: int, where: str) -> None:
    """Refuses a busybox the guest could not start.

    Raises:
        BuildFailed: it is dynamically linked or for another architecture.
    """
    header = data[:64]
    if header[:6] != b"\x7fELF\x02\x01" or len(header) < 64:
        raise BuildFailed(f"{where} is no 64-bit program; install the package busybox-static")
    if int.from_bytes(header[18:20], "little") != elf_machine:
        raise BuildFailed(f"{where} is for another processor architecture")
    offset = int.from_bytes(header[32:40], "little")
    size, count = int.from_bytes(header[54:56], "little"), int.from_bytes(header[56:58], "little")
    for index in range(count):
        at = offset + index * size
        if int.from_bytes(data[at : at + 4], "little") == _PROGRAM_INTERPRETER:
            raise BuildFailed(f"{where} is dynamically linked; install the package busybox-static")
