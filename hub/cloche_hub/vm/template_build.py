"""Making a template: boot, wait until the guest is quiet, stop it, save its devices, keep its memory.

Not here: where templates lie and who may make one (`template`, `templates`).
Rule: the memory is written to disk after QEMU has ended, by us, so no page is missing and zeros take no room.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from pathlib import Path

from cloche_hub.errors import MachineFailed, NoSpace
from cloche_hub.ports import AwaitAgent, OnProgress, Progress
from cloche_hub.vm.argv import state_is_a_file, state_uri
from cloche_hub.vm.boot import Boot, HeldImage, Users, booted, open_for
from cloche_hub.vm.boot_log import BootLog
from cloche_hub.vm.bounds import Bounds
from cloche_hub.vm.overlay import create_overlay
from cloche_hub.vm.process import cpu_seconds
from cloche_hub.vm.qemu import Qemu
from cloche_hub.vm.sealed_ram import copy_sparsely, create_ram
from cloche_hub.vm.template import Shape, TemplateCache, write_out
from cloche_wire.aio.bounds import within

_QUIET_STEP_S = 0.1
# One tick of the kernel's accounting: less can not be seen.
_QUIET_CPU_S = 0.01
_QUIET_STEPS = 2
_ROOM_FOR_DISK = 64 << 20


async def build_template(
    shape: Shape,
    image: HeldImage,
    cache: TemplateCache,
    *,
    machines: Path,
    users: Users,
    await_agent: AwaitAgent,
    bounds: Bounds,
    progress: OnProgress,
) -> None:
    """Makes the template of a shape and puts it into the cache. Cancelling it leaves nothing behind.

    Raises:
        NoSpace: it does not fit.
        BuildFailed, MachineFailed: as `booted`, or QEMU could not save it.
    """
    # A guest seldom uses half of its memory just to boot.
    _require_room(cache, (shape.flavor.memory_mib << 19) + _ROOM_FOR_DISK)
    log = BootLog()
    try:
        with cache.draft() as draft, contextlib.ExitStack() as stack:
            overlay = create_overlay(draft / "disk.qcow2", shape.disk_bytes)
            stack.callback(os.close, overlay)
            ram = create_ram("cloche-template", shape.flavor.memory_mib << 20)
            stack.callback(os.close, ram)
            state = open_for(stack, draft / "state", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            boot = Boot(shape, image, machines, overlay, ram, state, bounds)
            progress(
                Progress("template", f"booting a {shape.flavor.name} machine ({shape.accelerator})", 0.1)
            )
            async with booted(boot, users, await_agent, log) as qemu:
                progress(Progress("template", "saving it", 0.8))
                await _settle(qemu, bounds)
                await _save(qemu, boot)
            await copy_sparsely(ram, _created(stack, draft / "ram", shape.flavor.memory_mib << 20))
            (draft / "boot.log").write_bytes(log.tail(1 << 20))
            await asyncio.to_thread(write_out, draft)
            # In one step, and not in a thread: a cancellation finds it either published or a draft.
            cache.publish(draft, shape)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise NoSpace("the disk became full while a template was made; free some: cloche prune") from None
    progress(Progress("template", "the template is ready", 1.0))


def _require_room(cache: TemplateCache, needed: int) -> None:
    free = cache.free_bytes()
    if free < needed:
        raise NoSpace(
            f"a template may need {needed >> 20} MiB, but only {free >> 20} MiB are free in the cache; "
            "free some: cloche prune"
        )


def _created(stack: contextlib.ExitStack, path: Path, size_bytes: int) -> int:
    descriptor = open_for(stack, path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    os.ftruncate(descriptor, size_bytes)
    return descriptor


async def _settle(qemu: Qemu, bounds: Bounds) -> None:
    """Waits until the guest does nothing any more: what it would still do, every clone would do again."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + bounds.settle_s
    used, quiet = _cpu(qemu), 0
    while quiet < _QUIET_STEPS and loop.time() < ends_at:
        await asyncio.sleep(_QUIET_STEP_S)
        now = _cpu(qemu)
        quiet = quiet + 1 if now - used <= _QUIET_CPU_S else 0
        used = now


def _cpu(qemu: Qemu) -> float:
    try:
        return cpu_seconds(qemu.process.pid)
    except ProcessLookupError:
        raise MachineFailed("QEMU ended while its machine was to be saved") from None


async def _save(qemu: Qemu, boot: Boot) -> None:
    version, state = boot.shape.build.version, boot.state
    assert state is not None
    await qemu.execute("stop")
    # x-ignore-shared: the memory stays where it is, only the devices are saved.
    await qemu.execute("migrate-set-capabilities", {"capabilities": [on("x-ignore-shared"), on("events")]})
    if state_is_a_file(version):
        uri = state_uri(version, state)
    else:
        await qemu.hand_over(state, "state")
        uri = state_uri(version, "state")
    saved = qemu.expect("MIGRATION", lambda data: data.get("status") in ("completed", "failed"))
    await qemu.execute("migrate", {"uri": uri})
    try:
        async with within(boot.bounds.save_s):
            status = (await saved).get("status")
    except TimeoutError:
        raise MachineFailed(f"QEMU did not save the machine within {boot.bounds.save_s:.0f} s") from None
    if status != "completed":
        how = await qemu.execute("query-migrate")
        raise MachineFailed(f"QEMU could not save the machine: {how.get('error-desc', 'it did not say why')}")
    await qemu.read_console()
    if not await qemu.quit():
        raise MachineFailed("QEMU did not end after it had saved its machine")


def on(capability: str) -> dict[str, object]:
    """A migration capability switched on, as QMP wants it."""
    return {"capability": capability, "state": True}
