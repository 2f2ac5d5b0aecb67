"""Machines on QEMU: implements ports.Hypervisor. The only module of `vm` the rest of the hub needs, with `doctor`.

It puts the parts together and keeps the machines of this hub; each part's rules are its own.

    <home>/machines/<id>/      one machine each
    <home>/booting/<id>/       machines booted to become templates, or to prove that KVM works
    <cache>/templates/         templates, shared by all hubs
    <cache>/kvm.json           whether KVM works here, shared by all hubs
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog

from cloche_hub.domain.flavors import Flavor
from cloche_hub.errors import MachineFailed, Unsupported
from cloche_hub.ports import (
    AwaitAgent,
    CacheUse,
    HypervisorStatus,
    MachineSpec,
    OnProgress,
    Progress,
    StrayMachine,
)
from cloche_hub.vm.argv import TCG
from cloche_hub.vm.boot import Users
from cloche_hub.vm.bounds import Bounds
from cloche_hub.vm.clone import Clone, LoadedTemplate, start_clone
from cloche_hub.vm.facts import Host
from cloche_hub.vm.folder import MachineFolder, machine_folders
from cloche_hub.vm.machine import QemuMachine
from cloche_hub.vm.probe import Verdicts, standing_verdict
from cloche_hub.vm.qemu import Qemu
from cloche_hub.vm.strays import end_stray, find_strays, sweep
from cloche_hub.vm.template import TemplateCache
from cloche_hub.vm.templates import HoldImage, Templates, Workshop
from cloche_hub.vm.uids import UserIds

_log = structlog.get_logger(__name__)
_TRIES = 3


@dataclass(frozen=True, slots=True)
class HypervisorOptions:
    """What can be set."""

    uids: UserIds | None = None
    """User ids for machines, which needs root; None: machines run as the hub does."""
    tcg_scale: float = 4.0
    """How much longer everything may take in software emulation."""
    bounds: Bounds = field(default_factory=Bounds)
    max_template_bytes: int = 8 << 30
    """How much disk templates may use; those not used for longest go first."""
    most_idle_templates: int = 3
    """How many templates stay in memory although no machine runs from them."""


class QemuHypervisor:
    """Implements ports.Hypervisor. Use it in `async with`; leaving it lets go of the machines, which run on.

    Args:
        home: this hub's folder; no other hub uses it at the same time.
        cache: the folder that hubs share.
        hold_image: gives an image's files, and keeps them.
        await_agent: returns when a booting guest's agent is ready.
        host: the facts of this host.
        options: the rest.
    """

    def __init__(
        self,
        home: Path,
        cache: Path,
        hold_image: HoldImage,
        await_agent: AwaitAgent,
        *,
        host: Host | None = None,
        options: HypervisorOptions | None = None,
    ) -> None:
        self._options = options or HypervisorOptions()
        self._host = host or Host()
        self._users = Users(self._options.uids, self._host)
        self._machines_folder, self._booting_folder = home / "machines", home / "booting"
        self._hold_image = hold_image
        self._template_cache = TemplateCache(cache / "templates")
        self._verdicts = Verdicts(cache / "kvm.json")
        self._machines: dict[str, QemuMachine] = {}
        self._watching: set[asyncio.Task[None]] = set()
        self._group = asyncio.TaskGroup()
        shop = Workshop(
            host=self._host,
            users=self._users,
            hold_image=hold_image,
            await_agent=await_agent,
            cache=self._template_cache,
            verdicts=self._verdicts,
            machines=self._booting_folder,
            bounds=self._options.bounds,
            tcg_scale=self._options.tcg_scale,
            max_bytes=self._options.max_template_bytes,
            most_idle=self._options.most_idle_templates,
        )
        self._templates = Templates(shop, self._group)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        # A killed hub may have left machines that were to become templates: nobody waits for them any more.
        for folder in machine_folders(self._booting_folder):
            with contextlib.suppress(MachineFailed):
                await end_stray(folder)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._templates.cancel_all()
        for machine in self._machines.values():
            machine.let_go()
        try:
            # Not cancelled: a task that is cancelled before its first step would let go of nothing.
            if self._watching:
                await asyncio.wait(self._watching)
            # Without the error: it is the caller's own and shall reach it as it is, not in a group.
            await self._group.__aexit__(None, None, None)
        finally:
            self._templates.close()

    async def status(self) -> HypervisorStatus:
        """See ports.Hypervisor."""
        try:
            build = await self._host.qemu()
        except Unsupported as error:
            return HypervisorStatus(TCG, error.message, "", self._host.arch)
        verdict = standing_verdict(self._verdicts, self._host.why_no_kvm(self._users.example()))
        return HypervisorStatus(verdict.accelerator, verdict.reason, str(build.version), self._host.arch)

    async def prepare(self, image: str, flavor: Flavor, *, progress: OnProgress) -> None:
        """See ports.Hypervisor."""
        await self._templates.ready(image, flavor, progress=progress)
        self._templates.trim()

    async def start(self, spec: MachineSpec) -> QemuMachine:
        """See ports.Hypervisor.

        Raises:
            Conflict: a machine of that id runs.
        """
        for _ in range(_TRIES):
            template = await self._templates.ready(spec.image, spec.flavor, progress=_nobody_listens)
            lock = self._templates.take(template)
            if lock is None:
                continue
            try:
                with lock, self._hold_image(spec.image) as image:
                    bounds = self._options.bounds.scaled(template.shape.accelerator, self._options.tcg_scale)
                    clone = Clone(spec.machine_id, template, image, lock, self._machines_folder, bounds)
                    qemu = await start_clone(clone, self._users)
            except BaseException:
                self._templates.give_back(template)
                raise
            return self._adopt(qemu, template)
        raise MachineFailed("its template was deleted again and again while it started")

    def _adopt(self, qemu: Qemu, template: LoadedTemplate) -> QemuMachine:
        def removed() -> None:
            self._machines.pop(qemu.folder.machine_id, None)
            self._templates.give_back(template)

        machine = QemuMachine(qemu, template.shape.accelerator, removed)
        self._machines[machine.machine_id] = machine
        task = self._group.create_task(_watch(machine))
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)
        return machine

    async def find_strays(self) -> Sequence[StrayMachine]:
        """See ports.Hypervisor."""
        return find_strays(self._machines_folder, owned=set(self._machines))

    async def end_stray(self, machine_id: str) -> None:
        """See ports.Hypervisor."""
        for folder in machine_folders(self._machines_folder):
            if folder.machine_id == machine_id and machine_id not in self._machines:
                await end_stray(folder)

    async def uses(self) -> Sequence[CacheUse]:
        """See ports.Hypervisor."""
        machines = [_use_of(folder) for folder in machine_folders(self._machines_folder)]
        return [*self._template_cache.uses(), *machines]

    async def prune(self) -> int:
        """See ports.Hypervisor."""
        # Not in a thread: a machine that is just being started must not look like a dead one's leavings.
        freed = sweep(self._machines_folder, owned=set(self._machines))
        return freed + await asyncio.to_thread(self._template_cache.prune)


async def _watch(machine: QemuMachine) -> None:
    try:
        await machine.watch()
    except Exception:
        # The edge of a task: a defect in watching one machine must not take the others with it.
        _log.exception("machine_defect", sandbox=machine.machine_id)


def _use_of(folder: MachineFolder) -> CacheUse:
    used_at = datetime.fromtimestamp(folder.path.stat().st_mtime, UTC)
    live = folder.is_live()
    return CacheUse("machine", folder.machine_id, folder.disk_bytes(), used_at, live, prunable=not live)


def _nobody_listens(_step: Progress) -> None:
    return
