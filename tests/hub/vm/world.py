"""Everything a hypervisor stands on, made up: an image of three small files, a fake QEMU, no KVM."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from cloche_hub.domain.flavors import Flavor
from cloche_hub.domain.image_files import ImageFiles
from cloche_hub.errors import NotFound
from cloche_hub.ports import MachineSpec, Progress
from cloche_hub.vm.bounds import Bounds
from cloche_hub.vm.facts import Host
from cloche_hub.vm.hypervisor import HypervisorOptions, QemuHypervisor
from tests.support.fake_qemu import greet, write_fake_qemu

IMAGE = "1" * 32
FLAVOR = Flavor("tiny", vcpus=1, memory_mib=4, disk_gib=1)
BOUND_S = 20.0
"""More than any wait takes on a busy machine."""
BOUNDS = Bounds(boot_s=10, prove_s=10, settle_s=0, save_s=10, start_s=10, answer_s=10)


@dataclass(frozen=True, slots=True)
class FakeHeldImage:
    files: ImageFiles
    descriptor: int


@dataclass
class World:
    """A place for hubs: `World(tmp_path)`."""

    root: Path
    arch: str = "x86_64"
    steps: list[Progress] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("kernel", "initrd", "rootfs"):
            (self.root / name).write_bytes(name.encode())
        (self.root / "image.lock").touch()

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def files(self) -> ImageFiles:
        kernel, initrd, rootfs = (self.root / name for name in ("kernel", "initrd", "rootfs"))
        return ImageFiles(IMAGE, kernel, initrd, rootfs, self.arch, "a" * 64)

    @contextlib.contextmanager
    def hold(self, digest: str) -> Iterator[FakeHeldImage]:
        if digest != IMAGE:
            raise NotFound(f"no image {digest}")
        descriptor = os.open(self.root / "image.lock", os.O_RDONLY | os.O_CLOEXEC)
        try:
            yield FakeHeldImage(self.files, descriptor)
        finally:
            os.close(descriptor)

    def host(self, *faults: str) -> Host:
        """This host with a fake QEMU and without KVM."""
        return Host(
            arch="x86_64", program=write_fake_qemu(self.root, *faults), kvm_device=self.root / "no-kvm"
        )

    def hypervisor(
        self, *faults: str, bounds: Bounds = BOUNDS, home: Path | None = None, tcg_scale: float = 1.0
    ) -> QemuHypervisor:
        """A hypervisor on a fake QEMU that has these faults."""
        return QemuHypervisor(
            home or self.home,
            self.cache,
            self.hold,
            greet,
            host=self.host(*faults),
            options=HypervisorOptions(bounds=bounds, tcg_scale=tcg_scale),
        )

    def note(self, step: Progress) -> None:
        """Keeps a step of progress."""
        self.steps.append(step)

    def left_overs(self) -> list[str]:
        """Machine folders and template drafts, by their path."""
        found = [*self.home.glob("*/*"), *self.cache.glob("templates/tmp-*")]
        return sorted(str(path.relative_to(self.root)) for path in found)

    def processes(self) -> list[int]:
        """Machines that run."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and os.fsencode(f"{self.root}/") in (entry / "environ").read_bytes():
                    # A zombie has no environment, a machine has one.
                    found.append(int(entry.name))
        return [pid for pid in found if pid != os.getpid()]


def spec(machine_id: str = "sb_one", *, flavor: Flavor = FLAVOR, image: str = IMAGE) -> MachineSpec:
    """What to start."""
    return MachineSpec(machine_id, image, flavor)


def other_flavor(memory_mib: int) -> Flavor:
    """A flavor that needs another template."""
    return replace(FLAVOR, name=f"tiny{memory_mib}", memory_mib=memory_mib)


def open_descriptors() -> int:
    """How many descriptors this process has."""
    return len(list(Path("/proc/self/fd").iterdir()))
