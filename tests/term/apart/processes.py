"""Processes of terminals, seen from outside: what they hold, and whether they are gone."""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Iterable
from pathlib import Path

_END_S = 20


def watch(pids: Iterable[int]) -> list[int]:
    """Descriptors of these processes, to be given to `all_end`."""
    return [os.pidfd_open(pid) for pid in pids]


def all_end(pidfds: Iterable[int]) -> bool:
    """Whether all of them end, soon; closes the descriptors."""
    ended = []
    for pidfd in pidfds:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        ended.append(bool(poll.poll(_END_S * 1000)))
        os.close(pidfd)
    return all(ended)


def children_of(pid: int) -> list[int]:
    """The processes it has started and not yet reaped."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def descriptors_of(pid: int) -> dict[int, str]:
    """What a process has open."""
    found = {}
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found[int(entry.name)] = str(entry.readlink())
    return found
