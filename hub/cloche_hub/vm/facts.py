"""What this host has: QEMU, its exact build, and whether machines could use KVM at all.

Reading only; nothing is started but `qemu --version`, once for each build.
Not here: whether KVM works (`probe`), what is good or bad about it (`doctor`).
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import pwd
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cloche_hub.errors import Unsupported
from cloche_hub.vm.argv import Arch, Version, arch_named, parse_version
from cloche_hub.vm.process import RunAs
from cloche_wire.aio.bounds import within

_VERSION_S = 10.0
# Where QEMU's packages put the files it loads by name.
_FIRMWARE_FOLDERS = ("/usr/share/qemu", "/usr/share/seabios", "/usr/local/share/qemu")


@dataclass(frozen=True, slots=True)
class QemuBuild:
    """One build of QEMU."""

    program: str
    version: Version
    text: str
    """The first line it prints about itself."""
    identity: str
    """Hex; differs between any two builds, and whenever its firmware changes."""


class Host:
    """The facts of this host, read again only when they may have changed.

    Args:
        arch: the machines' architecture; this host's by default.
        program: QEMU, if not the architecture's usual one from PATH.
        kvm_device: the device that stands for KVM.
    """

    def __init__(
        self, *, arch: str | None = None, program: str | None = None, kvm_device: Path = Path("/dev/kvm")
    ) -> None:
        self.arch = arch or platform.machine()
        self.kvm_device = kvm_device
        self._program = program
        self._known: tuple[tuple[int, ...], QemuBuild] | None = None
        self._asking = asyncio.Lock()

    async def qemu(self) -> QemuBuild:
        """The QEMU machines run on.

        Raises:
            Unsupported: there is none, it is too old, or this architecture has no machines.
        """
        arch = arch_named(self.arch)
        program = shutil.which(self._program or arch.program)
        if program is None:
            raise Unsupported(
                f"{self._program or arch.program} is missing; install it (Debian: qemu-system-x86, qemu-system-arm)"
            )
        stamps = _stamps(program, arch)
        async with self._asking:
            if self._known is None or self._known[0] != stamps:
                text = await _version_of(program)
                identity = hashlib.sha256(repr((text, stamps)).encode()).hexdigest()[:16]
                self._known = stamps, QemuBuild(program, parse_version(text), text, identity)
            return self._known[1]

    def why_no_kvm(self, run_as: RunAs | None) -> str | None:
        """Why machines can not use KVM, in one sentence; None if nothing speaks against it."""
        try:
            status = self.kvm_device.stat()
        except FileNotFoundError:
            return f"there is no {self.kvm_device}: the processor's virtualization is off, or this host is a guest"
        if run_as is None:
            if not os.access(self.kvm_device, os.R_OK | os.W_OK):
                return f"this user may not open {self.kvm_device}"
        elif not (status.st_mode & 0o060 == 0o060 or status.st_mode & 0o006 == 0o006):
            return f"only root may open {self.kvm_device}"
        return None

    def kvm_fix(self, run_as: RunAs | None) -> str:
        """What to do about `why_no_kvm`, with commands to be copied and run as root; empty if nothing."""
        if self.why_no_kvm(run_as) is None:
            return ""
        if not self.kvm_device.exists():
            return (
                "switch virtualization on in the firmware (in a guest: nested virtualization on its host), then: "
                "modprobe kvm_intel || modprobe kvm_amd"
            )
        device = shlex.quote(str(self.kvm_device))
        share = f"groupadd -f kvm && chgrp kvm {device} && chmod 660 {device}"
        if run_as is not None:
            return share
        return f"as root, {share} && usermod -aG kvm {shlex.quote(_user_name())}; then log in again"

    def kvm_groups(self) -> tuple[int, ...]:
        """The groups a machine's user needs to open the device."""
        status = self.kvm_device.stat()
        return (status.st_gid,) if status.st_mode & 0o006 != 0o006 else ()

    def identity_for_kvm(self) -> str:
        """What a machine's saved state depends on where the processor is the host's: hex."""
        parts = (platform.release(), *_cpu_lines())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def boot_id() -> str:
    """What identifies this boot of the host."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _stamps(program: str, arch: Arch) -> tuple[int, ...]:
    stamps: list[int] = []
    names = [Path(program), *(Path(folder, name) for folder in _FIRMWARE_FOLDERS for name in arch.firmware)]
    for path in names:
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        stamps += (status.st_size, status.st_mtime_ns)
    return tuple(stamps)


def _cpu_lines() -> Sequence[str]:
    wanted = ("vendor_id", "cpu family", "model", "stepping", "microcode", "flags", "Features", "CPU part")
    first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    return [line for line in first.splitlines() if line.startswith(wanted)]


async def _version_of(program: str) -> str:
    # SAFETY: the program is the administrator's choice or the architecture's; no input of a client is in it.
    process = await asyncio.create_subprocess_exec(
        program,
        "--version",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with within(_VERSION_S):
            output, _ = await process.communicate()
    except TimeoutError:
        raise Unsupported(f"{program} --version does not answer") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return output.decode(errors="replace").split("\n")[0].strip()
