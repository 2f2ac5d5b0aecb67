"""QEMU's arguments: what a machine is made of, for each architecture, accelerator and version of QEMU.

Pure: values in, a list of words out. Who opens the files and starts the process is `qemu`'s matter.

Rules:
- QEMU opens nothing by name but its own firmware: disks, memory, kernel and sockets are descriptors it inherits. So a
  machine needs no right to any path, and no name in a disk's header is ever followed.
- Everything that depends on the architecture is in `ARCHES`; everything that depends on QEMU's version has the word
  `version` next to it.
- A clone gets the arguments of its template, but for the memory's sharing, the kernel's body and `-incoming`: the
  devices must be the same ones, or the saved state does not fit.
Source: docs/system/invocation.rst and docs/devel/migration in QEMU's tree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cloche_hub.errors import Unsupported

AGENT_PORT = "cloche.agent"
"""The name of the virtio-serial port the agent opens."""
CONSOLE = "console"
"""The character device that keeps the newest bytes of the serial console."""
CONSOLE_BYTES = 64 << 10
"""How many it keeps; a power of two."""
HOTPLUG_PORTS = 3
"""PCIe slots a running machine can be given devices on. A template must have them: they can not be added later."""

TCG, KVM = "tcg", "kvm"
# A full disk of the host is an error inside the guest, not a guest that stands still.
_DISK_DEVICE = "virtio-blk-pci-non-transitional,drive=disk,werror=report,rerror=report"
_SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A version of QEMU, as far as arguments depend on it."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


OLDEST = Version(7, 2)
"""What Debian 12 has; nothing older was tried."""
# From here on `fd:` is for pipes and sockets only; a file is named by `file:`.
_FILE_URI = Version(9, 1)


def parse_version(text: str) -> Version:
    """The version in what `qemu-system-… --version` prints.

    Raises:
        Unsupported: there is none, or it is too old.
    """
    found = re.search(r"version (\d+)\.(\d+)", text)
    if found is None:
        raise Unsupported(f"this does not look like QEMU: {text[:80]!r}")
    version = Version(int(found[1]), int(found[2]))
    if version < OLDEST:
        raise Unsupported(f"QEMU {version} is too old; {OLDEST} or newer is needed")
    return version


@dataclass(frozen=True, slots=True)
class Arch:
    """What differs between architectures."""

    program: str
    machine: str
    machine_options: Mapping[str, Sequence[str]]
    """By accelerator."""
    cpu: Mapping[str, str]
    """By accelerator. `max` is what software emulation does best."""
    kernel_words: Mapping[str, Sequence[str]]
    """By accelerator."""
    firmware: Sequence[str]
    """Files of QEMU's own that become part of a machine: a saved state fits only the same ones."""
    has_kernel_stub: bool
    """Whether a clone can do with the kernel's header: its body is in the saved memory already."""


# panic=-1: a panic resets the machine at once, and a reset ends it.
# nowatchdog: to a restored guest all the time since its template looks like a lockup.
# compaction_proactiveness: half of an idle guest's wake-ups were this.
_KERNEL_WORDS = ("panic=-1", "nowatchdog", "sysctl.vm.compaction_proactiveness=0")
# mitigations: there is no speculation in emulated code, only the cost of guarding against it.
_KERNEL_WORDS_TCG = (*_KERNEL_WORDS, "mitigations=off")
# No device that is not needed: each costs start-up time, state, idle wake-ups and attack surface.
_Q35 = (
    "hpet=off",
    "usb=off",
    "sata=off",
    "smbus=off",
    "vmport=off",
    "i8042=off",
    "graphics=off",
    "smm=off",
)

ARCHES: Mapping[str, Arch] = {
    "x86_64": Arch(
        program="qemu-system-x86_64",
        machine="q35",
        machine_options={TCG: _Q35, KVM: _Q35},
        cpu={TCG: "max", KVM: "host"},
        kernel_words={
            # tsc=reliable: otherwise the kernel wakes up twice a second to compare it with a slower clock.
            TCG: ("console=ttyS0", "8250.nr_uarts=1", "reboot=t", *_KERNEL_WORDS_TCG, "tsc=reliable"),
            KVM: ("console=ttyS0", "8250.nr_uarts=1", "reboot=t", *_KERNEL_WORDS),
        },
        firmware=("bios-256k.bin", "linuxboot_dma.bin", "kvmvapic.bin"),
        has_kernel_stub=True,
    ),
    "aarch64": Arch(
        program="qemu-system-aarch64",
        machine="virt",
        machine_options={TCG: ("gic-version=3", "acpi=off"), KVM: ("gic-version=host", "acpi=off")},
        # Emulating the architected pointer authentication costs more than everything else together.
        cpu={TCG: "max,pauth-impdef=on", KVM: "host"},
        kernel_words={
            TCG: ("console=ttyAMA0", *_KERNEL_WORDS_TCG),
            KVM: ("console=ttyAMA0", *_KERNEL_WORDS),
        },
        firmware=(),
        has_kernel_stub=False,
    ),
}


def arch_named(name: str) -> Arch:
    """The architecture `uname -m` calls so.

    Raises:
        Unsupported: machines of it can not be made.
    """
    try:
        return ARCHES[name]
    except KeyError:
        raise Unsupported(f"there are no machines for {name}; there are for {', '.join(ARCHES)}") from None


@dataclass(frozen=True, slots=True)
class Disk:
    """One layer of a machine's disk."""

    descriptor: int
    form: str
    """qcow2 or raw."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One start of QEMU. Numbers named after things are the descriptors they are on."""

    name: str
    arch: str
    accelerator: str
    version: Version
    vcpus: int
    memory_mib: int
    ram: int
    kernel: int
    initrd: int | None
    disks: Sequence[Disk]
    """The writable one first, each over the next."""
    qmp: int
    agent: int
    state: int | None = None
    """The saved device state, to write (a template) or to read (a clone)."""
    is_clone: bool = False


def arguments(it: Invocation) -> list[str]:
    """The words after the program's name."""
    arch = arch_named(it.arch)
    return [
        *("-name", it.name, "-nodefaults", "-no-user-config", "-display", "none", "-sandbox", _SANDBOX),
        # A guest that ends, ends its machine; QEMU itself stays until the hub has read the console's last words.
        *("-action", "reboot=shutdown,shutdown=pause"),
        *("-machine", ",".join((arch.machine, "memory-backend=ram", *arch.machine_options[it.accelerator]))),
        *("-accel", _accelerator(it), "-cpu", arch.cpu[it.accelerator]),
        *("-smp", str(it.vcpus), "-m", f"{it.memory_mib}M", "-object", _memory(it)),
        # A restored machine runs at once, although its template was stopped when it was saved.
        *("-global", "migration.store-global-state=off"),
        *_kernel(it, arch),
        *("-chardev", f"ringbuf,id={CONSOLE},size={CONSOLE_BYTES}", "-serial", f"chardev:{CONSOLE}"),
        *_descriptor_sets(it),
        *(
            "-blockdev",
            json.dumps(_layers(it.disks)),
            "-device",
            _DISK_DEVICE,
        ),
        # One port for the agent; the first is for a console nobody uses.
        *("-device", "virtio-serial-pci-non-transitional,max_ports=2"),
        *("-chardev", f"socket,id=agent,fd={it.agent},server=on,wait=off"),
        *("-device", f"virtserialport,chardev=agent,name={AGENT_PORT}"),
        *("-object", "rng-builtin,id=rng", "-device", "virtio-rng-pci-non-transitional,rng=rng"),
        *_hotplug_ports(),
        *("-chardev", f"socket,id=qmp,fd={it.qmp},server=on,wait=off", "-mon", "chardev=qmp,mode=control"),
        *(("-incoming", "defer") if it.is_clone else ()),
    ]


def translation_cache_mib(vcpus: int) -> int:
    """The size of software emulation's cache of translated code.

    Measured: with 32 MiB a second start of Python takes twice as long as with 64, with 128 it gains nothing.
    It is only used up as code is translated.
    """
    return 64 + 32 * (vcpus - 1)


def state_is_a_file(version: Version) -> bool:
    """Whether the state's file is named by `file:` (newer) or handed over as `fd:`."""
    return version >= _FILE_URI


def state_uri(version: Version, descriptor: int | str) -> str:
    """Where a saved state goes to or comes from: a descriptor, or one that QMP `getfd` has named."""
    return f"file:/dev/fdset/{descriptor}" if state_is_a_file(version) else f"fd:{descriptor}"


def kernel_stub(kernel: bytes) -> bytes:
    """The part of an x86 kernel QEMU looks at when the kernel itself is in the saved memory already.

    It saves each clone a copy of the kernel in its own memory. A file without the header is returned as it is.
    Source: the kernel's Documentation/arch/x86/boot.rst.
    """
    if kernel[0x202:0x206] != b"HdrS":
        return kernel
    setup_sectors = kernel[0x1F1] or 4
    return kernel[: (setup_sectors + 1) * 512 + 4096]


def _accelerator(it: Invocation) -> str:
    return KVM if it.accelerator == KVM else f"{TCG},tb-size={translation_cache_mib(it.vcpus)}"


def _memory(it: Invocation) -> str:
    share = "off" if it.is_clone else "on"
    path = f"mem-path=/proc/self/fd/{it.ram}"
    return f"memory-backend-file,id=ram,size={it.memory_mib}M,{path},share={share},merge=off,dump=off"


def _kernel(it: Invocation, arch: Arch) -> list[str]:
    words = ["-kernel", f"/proc/self/fd/{it.kernel}", "-append", " ".join(arch.kernel_words[it.accelerator])]
    if it.initrd is not None:
        words += ["-initrd", f"/proc/self/fd/{it.initrd}"]
    return words


def _descriptor_sets(it: Invocation) -> list[str]:
    members = [disk.descriptor for disk in it.disks]
    if it.state is not None and state_is_a_file(it.version):
        members.append(it.state)
    # Each is a set of its own that bears its number.
    return [word for number in members for word in ("-add-fd", f"fd={number},set={number}")]


def _layers(disks: Sequence[Disk]) -> dict[str, Any]:
    node = _layer(disks[0])
    # no-flush: the overlay dies with its machine, so nothing is gained by waiting for the host's disk.
    node |= {"node-name": "disk", "discard": "unmap", "cache": {"no-flush": True}}
    node["file"]["cache"] = {"no-flush": True}
    below = node
    for disk in disks[1:]:
        below["backing"] = _layer(disk) | {"read-only": True}
        below = below["backing"]
    return node


def _layer(disk: Disk) -> dict[str, Any]:
    file = {
        "driver": "file",
        "filename": f"/dev/fdset/{disk.descriptor}",
        # The hub's own locks say who may use which file.
        "locking": "off",
        # Otherwise each restored machine would throw the image out of the host's page cache.
        "drop-cache": False,
    }
    return {"driver": disk.form, "file": file}


def _hotplug_ports() -> list[str]:
    return [
        word
        for number in range(1, HOTPLUG_PORTS + 1)
        for word in ("-device", f"pcie-root-port,id=port{number},chassis={number},slot={number}")
    ]
