"""The processes that come of one command, however they detach themselves: to signal them and to know when all are gone.

With cgroups (version 2) each command has one; whatever it starts is in it, daemons too. Without them (the agent as an
ordinary process) its process group and descendants have to do.

Rules:
- A command's control group stays until its last process has ended, which may be long after the command.
- Commands share the processor equally, however many processes each has, and the agent comes before them all: a
  machine that is busy, or under a fork bomb, still answers its hub within a millisecond or two.
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
# A hundred times the weight of all commands together, the most there is.
_OWN_WEIGHT = 10000
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
        loop: watches groups with processes left in them, and makes and removes groups when nobody waits.
        root: a directory of a cgroup2 file system; the groups are made in it, and the agent moves into one.
        most_processes: of all commands together; None: no bound, and no shares of the processor either.
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
            _write(f"{root}/cgroup.subtree_control", "+pids +cpu")
            _write(f"{self._root}/cgroup.subtree_control", "+cpu")
            _write(f"{self._root}/pids.max", most_processes)
            _write(f"{own}/cpu.weight", _OWN_WEIGHT)
        self._own_procs = os.open(f"{own}/cgroup.procs", os.O_RDONLY | os.O_CLOEXEC)
        self._own_pid = b"%d" % os.getpid()
        # One is always ready, so that a command need not wait for it.
        self._spare: CgroupTree | None = self._make()

    def new_tree(self) -> CgroupTree:
        """See `Trees`."""
        tree, self._spare = self._spare, None
        return tree or self._make()

    def strays(self) -> list[bytes]:
        """Processes in the agent's own group that are not the agent."""
        return [pid for pid in os.pread(self._own_procs, 4096, 0).split() if pid != self._own_pid]

    def released(self, tree: CgroupTree) -> None:
        """Called by a tree that is used no longer."""
        self._loop.when_idle(lambda: self._remove_when_empty(tree))

    def _remove_when_empty(self, tree: CgroupTree) -> None:
        if self._spare is None:
            self._spare = self._make()
        if tree.remove():
            return
        # The kernel reports a change of `populated` as an urgent event; until then this costs nothing.
        events = os.open(f"{tree.path}/cgroup.events", os.O_RDONLY | os.O_CLOEXEC)

        def on_change(_events: int) -> None:
            if tree.remove():
                self._loop.forget(events)
                os.close(events)

        self._loop.watch(events, select.EPOLLPRI | select.EPOLLET, on_change)

    def _make(self) -> CgroupTree:
        self._made += 1
        path = f"{self._root}/{self._made}"
        os.mkdir(path)
        return CgroupTree(self, path)


class CgroupTree:
    """One command's control group; made by `CgroupTrees`."""

    def __init__(self, trees: CgroupTrees, path: str) -> None:
        self._trees = trees
        self.path = path
        self._procs = os.open(f"{path}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)

    def adopt(self, pid: int) -> None:
        """See `Tree`."""
        fresh = [b"%d" % pid]
        # A command starts in the agent's group, and what it starts before it is moved does too. Whoever is there
        # and is not the agent belongs to the command that is being started: it is the only one.
        for _ in range(_PASSES):
            for member in fresh:
                # It may have ended already.
                with contextlib.suppress(ProcessLookupError):
                    os.write(self._procs, member)
            fresh = self._trees.strays()
            if not fresh:
                break

    def signal(self, number: int) -> None:
        """See `Tree`."""
        if number == signal.SIGKILL:
            _write(f"{self.path}/cgroup.kill", 1)
        else:
            _signal_all(self._pids, number)

    def is_empty(self) -> bool:
        """See `Tree`."""
        with open(f"{self.path}/cgroup.events", "rb", buffering=0) as file:
            return b"populated 0" in file.read()

    def release(self) -> None:
        """See `Tree`."""
        os.close(self._procs)
        self._trees.released(self)

    def remove(self) -> bool:
        """Removes the group if no process is left in it; returns whether none is."""
        try:
            os.rmdir(self.path)
        except OSError:
            if not self.is_empty():
                return False
            # A user who is root has made groups in it.
            for folder, _, _ in os.walk(self.path, topdown=False):
                # A process may have moved in again; then the group stays until the machine ends.
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
        return True

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
    """The session a command's first process leads, and all its descendants."""

    def __init__(self) -> None:
        self._leader = 0

    def adopt(self, pid: int) -> None:
        """See `Tree`."""
        self._leader = pid

    def signal(self, number: int) -> None:
        """See `Tree`."""
        _signal_all(self._pids, number)

    def is_empty(self) -> bool:
        """See `Tree`."""
        return not any(self._pids())

    def release(self) -> None:
        """See `Tree`."""

    def _pids(self) -> Iterator[int]:
        members = {self._leader}
        # A child is younger than its parent, so its number is higher unless the numbers have begun anew.
        for pid, parent, session in sorted(_processes()):
            if session == self._leader or parent in members:
                members.add(pid)
                yield pid


def _processes() -> Iterator[tuple[int, int, int]]:
    """Number, parent and session of every process that still runs."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:
                # The name, in parentheses, may hold anything: count from its end.
                state, parent, _, session = file.read().rpartition(b")")[2].split()[:4]
                if state != b"Z":
                    yield int(entry), int(parent), int(session)


def _signal_all(pids: Callable[[], Iterator[int]], number: int) -> None:
    """Signals each process once, those that appear meanwhile too."""
    signalled: set[int] = set()
    for _ in range(_PASSES):
        # Parents first: a shell whose child is ended before it would go on to its next command.
        fresh = sorted(pid for pid in pids() if pid not in signalled)
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
