"""What differs between processor architectures when an image is built.

Rule: nothing else in this folder knows an architecture's name; a third one is one row here.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass

from cloche_hub.errors import Unsupported


@dataclass(frozen=True, slots=True)
class Arch:
    """One architecture an image can be built for."""

    name: str
    """As `uname -m` says it."""
    debian: str
    """As dpkg says it."""
    kernel_package: str
    """The package that depends on the newest kernel of a suite."""
    elf_machine: int
    """e_machine of its ELF files; tells a busybox of another architecture apart."""


ARCHES: dict[str, Arch] = {
    arch.name: arch
    for arch in (
        Arch("x86_64", "amd64", "linux-image-cloud-amd64", 62),
        Arch("aarch64", "arm64", "linux-image-cloud-arm64", 183),
    )
}


def host_arch(machine: str | None = None) -> Arch:
    """The architecture of this host (or of `machine`, as `uname -m` says it).

    Raises:
        Unsupported: no images are built for it.
    """
    name = machine or platform.machine()
    arch = ARCHES.get(name)
    if arch is None:
        raise Unsupported(f"no images can be built for {name}; supported are {', '.join(sorted(ARCHES))}")
    return arch
