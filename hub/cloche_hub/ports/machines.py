"""Machines and what runs them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cloche_hub.domain.flavors import Flavor
from cloche_hub.ports.images import CacheUse, OnProgress


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """What a machine is made of."""

    machine_id: str
    """The sandbox's id; names the machine's files and processes on its host."""
    image: str
    """An image digest."""
    flavor: Flavor


@dataclass(frozen=True, slots=True)
class MachineExit:
    """How a machine ended."""

    reason: str
    """stopped (we asked), killed (we insisted), guest_shutdown, guest_panic, crashed."""
    detail: str
    """One line: exit status, QEMU's last words."""


@dataclass(frozen=True, slots=True)
class MachineUse:
    """What a machine costs its host now."""

    cpu_s: float
    """Processor time since its start."""
    memory_pss_bytes: int
    """Proportional set size: shared template pages are split among their users."""
    disk_bytes: int
    """Blocks in use by its overlay."""


@dataclass(frozen=True, slots=True)
class BootOutput:
    """A piece of what a machine's serial console has printed."""

    data: bytes
    is_cut: bool = False
    """Whether something is missing before it or in it: the guest was faster than whoever reads."""


class Machine(Protocol):
    """One running virtual machine."""

    @property
    def machine_id(self) -> str: ...

    @property
    def accelerator(self) -> str:
        """kvm or tcg."""
        ...

    async def open_link(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A byte stream to the agent. One at a time: opening a second one ends the first.

        Raises:
            MachineFailed: the machine is gone.
        """
        ...

    async def wait_exit(self) -> MachineExit:
        """Waits until the machine has ended; any number may wait, at any time. Cancelling loses nothing."""
        ...

    async def stop(self, *, grace_s: float) -> MachineExit:
        """Powers the guest off, kills the machine after `grace_s`, and deletes its overlay. Idempotent."""
        ...

    async def use(self) -> MachineUse:
        """What it costs now.

        Raises:
            MachineFailed: the machine is gone.
        """
        ...

    async def boot_log(self, *, max_bytes: int) -> bytes:
        """The newest bytes of the serial console; also after the machine has ended, until it is removed."""
        ...

    def follow_boot_log(self) -> AsyncGenerator[BootOutput]:
        """What is kept of the serial console (at once, maybe nothing), then what it prints, until the machine has ended.

        It is looked at while somebody asks for more, and never kept for somebody who does not: what is too much is
        missing. Any number may follow, at any time. Close it if it is left early.
        """
        ...


@dataclass(frozen=True, slots=True)
class StrayMachine:
    """A machine found running that no live hub owns."""

    machine_id: str
    pid: int
    accelerator: str


@dataclass(frozen=True, slots=True)
class HypervisorStatus:
    """What the host can do."""

    accelerator: str
    """kvm, tcg, or unproven: /dev/kvm looks usable, but no image exists yet to prove it with."""
    reason: str
    """One sentence: why not kvm, or what proved it."""
    version: str
    """QEMU's version; empty if there is none."""
    arch: str


AwaitAgent = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Shakes hands with the agent over a fresh link and returns when it is ready; the hypervisor bounds and cancels it."""


class Hypervisor(Protocol):
    """Whatever can run machines."""

    async def status(self) -> HypervisorStatus:
        """What this host can do, as last proven; never boots anything, never takes longer than a moment."""
        ...

    async def prepare(self, image: str, flavor: Flavor, *, progress: OnProgress) -> None:
        """Makes sure there is a template of image and flavor to clone from; callers of the same pair share the work.

        Raises:
            NotFound: no such image.
            BuildFailed: the guest did not come up; the message ends with the boot log's last lines.
            NoSpace: the template does not fit.
        """
        ...

    async def start(self, spec: MachineSpec) -> Machine:
        """Clones a machine from the template (made first if there is none) and returns as soon as it runs.

        The guest has not become itself yet: nobody may use it before the hub has sent it its identity.
        Cancelling it leaves nothing behind.

        Raises:
            NotFound, BuildFailed, NoSpace: as `prepare`.
            MachineFailed: the machine did not start; the message has QEMU's words.
        """
        ...

    async def find_strays(self) -> Sequence[StrayMachine]:
        """Machines of this hub's home that still run although this process did not start them."""
        ...

    async def end_stray(self, machine_id: str) -> None:
        """Ends a stray machine and removes what it left; does nothing if it is gone already."""
        ...

    async def uses(self) -> Sequence[CacheUse]:
        """Templates and machines on disk, for `cloche df`."""
        ...

    async def prune(self) -> int:
        """Deletes templates no machine runs from and left-over machine files; returns the bytes freed."""
        ...
