"""Booting a machine from an image, cold, until its agent is ready: for templates, and to prove that KVM works.

Not here: saving it (`template_build`), what follows from its failing (`probe`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from cloche_hub.domain.image_files import ImageFiles
from cloche_hub.errors import BuildFailed, CodedError, MachineFailed
from cloche_hub.locks import Lock
from cloche_hub.ports import AwaitAgent
from cloche_hub.vm.argv import KVM, Disk
from cloche_hub.vm.boot_log import BootLog, last_lines
from cloche_hub.vm.bounds import Bounds
from cloche_hub.vm.facts import Host
from cloche_hub.vm.folder import MachineFolder
from cloche_hub.vm.process import RunAs
from cloche_hub.vm.qemu import Launch, Qemu, running_qemu
from cloche_hub.vm.template import Shape
from cloche_hub.vm.uids import UserIds
from cloche_wire.aio.bounds import within
from cloche_wire.errors import WireError

_LOG_LINES = 15


class HeldImage(Protocol):
    """An image that can not be removed as long as it is held."""

    @property
    def files(self) -> ImageFiles: ...

    @property
    def descriptor(self) -> int:
        """A process that inherits it holds the image, too."""
        ...


@dataclass(frozen=True, slots=True)
class Boot:
    """One cold boot."""

    shape: Shape
    image: HeldImage
    machines: Path
    """Where the machine has its folder while it runs."""
    overlay: int
    ram: int
    state: int | None
    """Where the device state will be saved, if it will."""
    bounds: Bounds


class Users:
    """Whom machines run as.

    Args:
        uids: user ids to give out; None to run machines as ourselves.
        host: tells which groups may use KVM.
    """

    def __init__(self, uids: UserIds | None, host: Host) -> None:
        self._uids, self._host = uids, host

    def example(self) -> RunAs | None:
        """The like of whom a machine runs as, to judge its rights by."""
        return None if self._uids is None else RunAs(uid=65534)

    @contextlib.contextmanager
    def take(self, accelerator: str) -> Iterator[tuple[RunAs | None, list[int]]]:
        """A user for one machine, and the descriptors it has to inherit to stay that user's only machine."""
        if self._uids is None:
            yield None, []
            return
        groups = self._host.kvm_groups() if accelerator == KVM else ()
        uid, lock = self._uids.take()
        with lock:
            yield RunAs(uid, groups), [lock.fileno()]


@contextlib.asynccontextmanager
async def booted(boot: Boot, users: Users, await_agent: AwaitAgent, log: BootLog) -> AsyncIterator[Qemu]:
    """A machine whose agent is ready and whose link is closed again; ended when the context is left.

    Raises:
        BuildFailed: the guest did not come up; the message ends with its console's last lines.
        MachineFailed: QEMU itself failed.
    """
    with contextlib.ExitStack() as stack:
        folder, lock = MachineFolder.create(boot.machines, f"boot-{secrets.token_hex(4)}")
        stack.callback(folder.remove)
        launch = _launch(boot, users, folder, stack.enter_context(lock), stack)
        async with running_qemu(launch, log) as qemu:
            await _agent_ready(qemu, boot, await_agent)
            yield qemu


def open_for(stack: contextlib.ExitStack, path: Path, flags: int = os.O_RDONLY) -> int:
    """Opens a file for the time of a stack; returns its descriptor."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
    stack.callback(os.close, descriptor)
    return descriptor


def _launch(
    boot: Boot, users: Users, folder: MachineFolder, lock: Lock, stack: contextlib.ExitStack
) -> Launch:
    files, shape = boot.image.files, boot.shape
    run_as, user_lock = stack.enter_context(users.take(shape.accelerator))
    disks = (Disk(boot.overlay, "qcow2"), Disk(open_for(stack, files.rootfs), "raw"))
    return Launch(
        program=shape.build.program,
        invocation=shape.invocation(
            folder.machine_id,
            ram=boot.ram,
            kernel=open_for(stack, files.kernel),
            initrd=open_for(stack, files.initrd),
            disks=disks,
            state=boot.state,
        ),
        folder=folder,
        inherit=[lock.fileno(), *user_lock, boot.image.descriptor],
        run_as=run_as,
        largest_file=shape.largest_file,
        image=shape.image,
        flavor=shape.flavor.name,
        answer_s=boot.bounds.answer_s,
    )


async def _agent_ready(qemu: Qemu, boot: Boot, await_agent: AwaitAgent) -> None:
    ended = qemu.expect("SHUTDOWN")
    reader, writer = await qemu.open_link()
    try:
        async with within(boot.bounds.boot_s), asyncio.TaskGroup() as tasks:
            ready = tasks.create_task(_reason_it_is_not_ready(await_agent, reader, writer))
            await asyncio.wait(_futures(ready, ended), return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
    except TimeoutError:
        raise await _not_up(qemu, boot, f"it was not ready within {boot.bounds.boot_s:.0f} s") from None
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    if qemu.process.has_ended:
        raise qemu.failure()
    if qemu.shutdown is not None:
        raise await _not_up(qemu, boot, f"it ended while it booted ({qemu.shutdown})")
    reason = ready.result()
    if reason is not None:
        raise await _not_up(qemu, boot, f"its agent did not make sense: {reason}")


def _futures(*futures: asyncio.Future[Any]) -> list[asyncio.Future[Any]]:
    return list(futures)


async def _reason_it_is_not_ready(
    await_agent: AwaitAgent, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Exception | None:
    try:
        await await_agent(reader, writer)
    except (WireError, OSError, EOFError) as error:
        return error
    return None


async def _not_up(qemu: Qemu, boot: Boot, why: str) -> CodedError:
    with contextlib.suppress(MachineFailed):
        await qemu.read_console()
    console = last_lines(qemu.log.tail(1 << 14), lines=_LOG_LINES) or "(nothing)"
    return BuildFailed(
        f"the guest of image {boot.shape.image[:12]} did not come up ({boot.shape.accelerator}): {why}; "
        f"its console ends with:\n{console}"
    )
