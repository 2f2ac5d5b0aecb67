"""The first process's decisions; what it does to a machine is held by the machine's tests."""

from __future__ import annotations

import os
from pathlib import Path

from cloche_guest import init


def test_every_mount_has_its_parent_mounted_before_it() -> None:
    targets = [mount.target for mount in init.MOUNTS]
    for position, target in enumerate(targets):
        parents = [other for other in targets if target.startswith(f"{other}/")]
        assert all(targets.index(parent) < position for parent in parents)


def test_commands_may_have_fewer_processes_than_the_kernel_or_the_memory_holds() -> None:
    threads = int(Path("/proc/sys/kernel/threads-max").read_text())
    memory_kib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 10
    assert 0 < init.most_processes() < threads
    assert init.most_processes() * 400 <= memory_kib
