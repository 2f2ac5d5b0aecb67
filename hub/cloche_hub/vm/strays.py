"""Machines that outlived the hub that started them: finding, ending, tidying up after them.

A machine's folder is locked by the machine itself, so a locked folder is a live machine and an unlocked one is not.
SAFETY: what is signalled is a pidfd whose process was born when the machine was, as a record says that only we can have
written (`machine_folders` passes over folders of others), or whose environment, which its hub has written, names this
very folder: never a process that has merely got the same number.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

from cloche_hub.errors import MachineFailed
from cloche_hub.ports import StrayMachine
from cloche_hub.vm.folder import MachineFolder, Record, machine_folders
from cloche_hub.vm.process import start_ticks
from cloche_hub.vm.qemu import MACHINE_VARIABLE
from cloche_wire.aio.bounds import within

_END_S = 10.0


def find_strays(parent: Path, *, owned: set[str]) -> list[StrayMachine]:
    """Machines that run in folders of `parent`, but for those in `owned`."""
    strays = []
    for folder in machine_folders(parent):
        if folder.machine_id in owned or not folder.is_live():
            continue
        record = folder.read_record()
        pid = _pid_of(folder, record)
        if pid is not None:
            strays.append(StrayMachine(folder.machine_id, pid, record.accelerator if record else "unknown"))
    return strays


async def end_stray(folder: MachineFolder) -> None:
    """Kills the machine of a folder, if it still runs, and deletes the folder.

    Raises:
        MachineFailed: it does not go.
    """
    if folder.is_live():
        pid = _pid_of(folder, folder.read_record())
        if pid is not None and not await _kill(pid, folder):
            raise MachineFailed(f"the machine {folder.machine_id} (process {pid}) can not be ended")
    folder.remove()


def sweep(parent: Path, *, owned: set[str]) -> int:
    """Deletes the folders of machines that are gone; returns the bytes freed."""
    folders = [folder for folder in machine_folders(parent) if folder.machine_id not in owned]
    return sum(folder.remove() for folder in folders if not folder.is_live())


def _pid_of(folder: MachineFolder, record: Record | None) -> int | None:
    """The process of a live machine."""
    if record is not None and _is(record.pid, folder, record):
        return record.pid
    # The hub was killed between starting it and writing that down.
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _is(int(entry.name), folder, None):
            return int(entry.name)
    return None


def _is(pid: int, folder: MachineFolder, record: Record | None) -> bool:
    try:
        if record is not None:
            return start_ticks(pid) == record.start_ticks
        return os.fsencode(f"{MACHINE_VARIABLE}={folder.path}") in _environment(pid)
    except (ProcessLookupError, PermissionError):
        return False


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except FileNotFoundError:
        raise ProcessLookupError from None


async def _kill(pid: int, folder: MachineFolder) -> bool:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        # Asked again, now that the number can not pass to another process unseen.
        if not _is(pid, folder, folder.read_record()):
            return True
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        return await _gone(pidfd)
    finally:
        os.close(pidfd)


async def _gone(pidfd: int) -> bool:
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    loop.add_reader(pidfd, gone.set)
    try:
        async with within(_END_S):
            await gone.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(pidfd)
    _reap(pidfd)
    return True


def _reap(pidfd: int) -> None:
    # A machine of an earlier hypervisor in this very process is our child; then nobody else reaps it.
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOHANG)
