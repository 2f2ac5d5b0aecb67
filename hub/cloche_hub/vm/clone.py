"""Starting a machine from a template: a few system calls, one QEMU, two monitor commands.

Measured on a host without KVM: 50 to 60 ms from here to the agent's first answer, of which QEMU's own start takes half.

Not here: what a running machine can be asked (`machine`), where templates come from (`templates`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cloche_hub.errors import MachineFailed
from cloche_hub.locks import Lock
from cloche_hub.vm.argv import Disk, arch_named, kernel_stub, state_uri
from cloche_hub.vm.boot import HeldImage, Users, open_for
from cloche_hub.vm.boot_log import BootLog
from cloche_hub.vm.bounds import Bounds
from cloche_hub.vm.folder import MachineFolder
from cloche_hub.vm.overlay import create_overlay
from cloche_hub.vm.qemu import Launch, Qemu, start_qemu
from cloche_hub.vm.sealed_ram import load_ram, sealed_bytes
from cloche_hub.vm.template import Shape, StoredTemplate
from cloche_hub.vm.template_build import on
from cloche_wire.aio.bounds import within


@dataclass(slots=True, eq=False)
class LoadedTemplate:
    """A template with its memory loaded, for any number of clones. Give it back with `close`."""

    shape: Shape
    stored: StoredTemplate
    boot_log: bytes
    ram: int
    """Sealed."""
    kernel: int | None
    """What clones get for a kernel, sealed; None: the image's."""
    machines: int = 0
    """How many clones run."""

    def close(self) -> None:
        """Lets go of its memory; clones that run keep it."""
        os.close(self.ram)
        if self.kernel is not None:
            os.close(self.kernel)


async def load_template(shape: Shape, stored: StoredTemplate, kernel: Path) -> LoadedTemplate:
    """Loads a template's memory. Cancelling it leaves nothing behind."""
    boot_log = stored.boot_log()
    with contextlib.ExitStack() as stack:
        ram = await load_ram("cloche-ram", open_for(stack, stored.ram))
    if not arch_named(shape.arch).has_kernel_stub:
        return LoadedTemplate(shape, stored, boot_log, ram, None)
    try:
        stub = _sealed_stub(kernel)
    except BaseException:
        os.close(ram)
        raise
    return LoadedTemplate(shape, stored, boot_log, ram, stub)


def _sealed_stub(kernel: Path) -> int:
    return sealed_bytes("cloche-kernel", kernel_stub(kernel.read_bytes()))


@dataclass(frozen=True, slots=True)
class Clone:
    """One start from a template."""

    machine_id: str
    template: LoadedTemplate
    image: HeldImage
    use_lock: Lock
    """The template's, for the machine to inherit."""
    machines: Path
    bounds: Bounds


async def start_clone(clone: Clone, users: Users) -> Qemu:
    """Starts a machine and returns once it runs. Cancelling it leaves nothing behind.

    Raises:
        MachineFailed: it did not start; the message has QEMU's words.
        Conflict: a machine of that id runs.
    """
    folder, lock = MachineFolder.create(clone.machines, clone.machine_id)
    try:
        with lock, _launch(clone, folder, lock, users) as launch:
            qemu = await start_qemu(launch, BootLog(clone.template.boot_log))
            try:
                await _restore(qemu, launch, clone)
            except BaseException:
                await qemu.end()
                raise
    except BaseException:
        folder.remove()
        raise
    return qemu


@contextlib.contextmanager
def _launch(clone: Clone, folder: MachineFolder, lock: Lock, users: Users) -> Iterator[Launch]:
    template, files = clone.template, clone.image.files
    shape = template.shape
    with contextlib.ExitStack() as stack:
        run_as, user_lock = stack.enter_context(users.take(shape.accelerator))
        overlay = create_overlay(folder.disk, shape.disk_bytes)
        stack.callback(os.close, overlay)
        disks = (
            Disk(overlay, "qcow2"),
            Disk(open_for(stack, template.stored.disk), "qcow2"),
            Disk(open_for(stack, files.rootfs), "raw"),
        )
        has_stub = template.kernel is not None
        yield Launch(
            program=shape.build.program,
            invocation=shape.invocation(
                folder.machine_id,
                ram=template.ram,
                kernel=open_for(stack, files.kernel) if template.kernel is None else template.kernel,
                initrd=None if has_stub else open_for(stack, files.initrd),
                disks=disks,
                state=open_for(stack, template.stored.state),
                is_clone=True,
            ),
            folder=folder,
            inherit=[lock.fileno(), clone.use_lock.fileno(), *user_lock, clone.image.descriptor],
            run_as=run_as,
            largest_file=shape.largest_file,
            image=shape.image,
            flavor=shape.flavor.name,
            answer_s=clone.bounds.answer_s,
        )


async def _restore(qemu: Qemu, launch: Launch, clone: Clone) -> None:
    version, state = launch.invocation.version, launch.invocation.state
    assert state is not None
    runs = qemu.expect("RESUME")
    await qemu.execute("migrate-set-capabilities", {"capabilities": [on("x-ignore-shared")]})
    await qemu.execute("migrate-incoming", {"uri": state_uri(version, state)})
    try:
        async with within(clone.bounds.start_s):
            await runs
    except TimeoutError:
        raise MachineFailed(f"the machine did not run within {clone.bounds.start_s:.0f} s") from None
