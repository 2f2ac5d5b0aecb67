"""The processes that come of one command, however they detach themselves: to signal them and to know when all are gone.

With cgroups (version 2) each command has one; whatever it starts is in it, daemons too. Without them (the agent as an
ordinary process) its process group and descendants have to do.

Rule: a command's control group stays until its last process has ended, which may be long after the command.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable, Iterator
from typing import Protocol

from cloche_guest.loop import Loop

# Processes that start others while they are being signalled are looked for again, so often.
_PASSES = 32
# A stopped process acts on these only when it is continued.
_NEED_CONTINUING = frozenset({signal.SIGTERM, signal.SIGHUP})


class Tree(Protocol):
    """What one command has started."""

    def adopt(self, pid: int) -> None:
        """Takes in the command's first process, and what it may have started meanwhile."""

    def signal(self, number: int) -> None:
        """Signals every process."""

    def is_empty(self) -> bool:
        """Whether no process is left."""

    def release(self) -> None:
        """The command is over: forgets the tree as soon as it is empty. Nothing else may be called afterwards."""


class Trees(Protocol):
    """Makes trees."""

    def new_tree(self) -> Tree:
        """An empty tree."""


class CgroupTrees:
    """Trees in control groups.

    Args:
        loop: watches groups with processes left in them.
        root: a directory of a cgroup2 file system; the groups are made in it, and the agent moves into one.
        most_processes: of all commands together; None: no bound.
    """

    def __init__(self, loop: Loop, root: str, *, most_processes: int | None = None) -> None:
        self._loop = loop
        self._root = f"{root}/execs"
        self._made = 0
        own = f"{root}/agent"
        os.makedirs(own, exist_ok=True)
        os.makedirs(self._root, exist_ok=True)
        _write(f"{own}/cgroup.procs", os.getpid())
        if most_processes is not None:
            _write(f"{root}/cgroup.subtree_control", "+pids")
            _write(f"{self._root}/pids.max", most_processes)
        self._own_procs = os.open(f"{own}/cgroup.procs", os.O_RDONLY | os.O_CLOEXEC)
        self._own_pid = b"%d" % os.getpid()

    def new_tree(self) -> CgroupTree:
        """See `Trees`."""
        self._made += 1
        path = f"{self._root}/{self._made}"
        os.mkdir(path)
        return CgroupTree(self, path)

    def strays(self) -> list[bytes]:
        """Processes in the agent's own group that are not the agent."""
        return [pid for pid in os.pread(self._own_procs, 4096, 0).split() if pid != self._own_pid]

    def remove_when_empty(self, tree: CgroupTree) -> None:
        """Removes a tree's group, now or when its last process ends."""
        if tree.is_empty():
            tree.remove()
            return
        # The kernel reports a change of `populated` as an urgent event; until then this costs nothing.
        events = os.open(f"{tree.path}/cgroup.events", os.O_RDONLY | os.O_CLOEXEC)

        def on_change(_events: int) -> None:
            if tree.is_empty():
                self._loop.forget(events)
                os.close(events)
                tree.remove()

        self._loop.watch(events, select.EPOLLPRI | select.EPOLLET, on_change)


class CgroupTree:
    """One command's control group; made by `CgroupTrees`."""

    def __init__(self, trees: CgroupTrees, path: str) -> None:
        self._trees = trees
        self.path = path

    def adopt(self, pid: int) -> None:
        """See `Tree`."""
        fresh = [b"%d" % pid]
        procs = os.open(f"{self.path}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
        try:
            # A command starts in the agent's group, and what it starts before it is moved does too. Whoever is there
            # and is not the agent belongs to the command that is being started: it is the only one.
            for _ in range(_PASSES):
                for member in fresh:
                    # It may have ended already.
                    with contextlib.suppress(ProcessLookupError):
                        os.write(procs, member)
                fresh = self._trees.strays()
                if not fresh:
                    break
        finally:
            os.close(procs)

    def signal(self, number: int) -> None:
        """See `Tree`."""
        if number == signal.SIGKILL:
            _write(f"{self.path}/cgroup.kill", 1)
        else:
            _signal_all(self._pids, number)

    def is_empty(self) -> bool:
        """See `Tree`."""
        with open(f"{self.path}/cgroup.events", "rb") as file:
            return b"populated 0" in file.read()

    def release(self) -> None:
        """See `Tree`."""
        self._trees.remove_when_empty(self)

    def remove(self) -> None:
        """Removes the group with whatever groups a user who is root has made in it."""
        for folder, _, _ in os.walk(self.path, topdown=False):
            # A process may have moved in again; then the group stays until the machine ends.
            with contextlib.suppress(OSError):
                os.rmdir(folder)

    def _pids(self) -> Iterator[int]:
        for folder, _, _ in os.walk(self.path):
            with contextlib.suppress(OSError), open(f"{folder}/cgroup.procs", "rb") as file:
                yield from map(int, file.read().split())


class ProcessTrees:
    """Trees without control groups: a daemon that left its parents and its session is out of reach."""

    def new_tree(self) -> ProcessTree:
        """See `Trees`."""
        return ProcessTree()


class ProcessTree:
    """A process group and the descendants of its leader."""

    def __init__(self) -> None:
        self._leader = 0

    def adopt(self, pid: int) -> None:
        """See `Tree`."""
        self._leader = pid

    def signal(self, number: int) -> None:
        """See `Tree`."""
        # Descendants first: they are found through their parents.
        _signal_all(self._descendants, number)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader, number)
            if number in _NEED_CONTINUING:
                os.killpg(self._leader, signal.SIGCONT)

    def is_empty(self) -> bool:
        """See `Tree`."""
        try:
            os.killpg(self._leader, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False

    def release(self) -> None:
        """See `Tree`."""

    def _descendants(self) -> Iterator[int]:
        unseen = [self._leader]
        while unseen:
            parent = unseen.pop()
            with contextlib.suppress(OSError), open(f"/proc/{parent}/task/{parent}/children", "rb") as file:
                children = [int(pid) for pid in file.read().split()]
                unseen += children
                yield from children


def _signal_all(pids: Callable[[], Iterator[int]], number: int) -> None:
    """Signals each process once, those that appear meanwhile too."""
    signalled: set[int] = set()
    for _ in range(_PASSES):
        fresh = [pid for pid in pids() if pid not in signalled]
        if not fresh:
            break
        for pid in fresh:
            # SAFETY: a number could be given to another process between reading and signalling only if all other
            # numbers were used up within that moment.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        signalled.update(fresh)
    if number in _NEED_CONTINUING:
        for pid in signalled:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGCONT)


def _write(path: str, value: object) -> None:
    with open(path, "wb", buffering=0) as file:
        file.write(str(value).encode())
