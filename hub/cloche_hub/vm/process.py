"""One child process that outlives us by design: started with what it may have, watched and ended by its pidfd.

Not here: what it runs. Nothing is ever signalled by a bare process id, which may have become somebody else's.
Rules:
- It is in a session of its own (a Ctrl-C in our terminal is not for it) and does not die with us.
- Starting it is one synchronous step: no cancellation can come between its birth and the descriptor that holds it.
- Its standard error is a pipe that nobody reads before its end: the first 64 KiB are kept, the rest is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cloche_hub.errors import MachineFailed

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_WORDS_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class RunAs:
    """Whom a child runs as."""

    uid: int
    groups: tuple[int, ...] = ()
    """Groups besides its own, which has the number of `uid`."""


class Process:
    """A running child. Make it with `spawn`, give it back with `close`."""

    def __init__(self, pid: int, words: int) -> None:
        self.pid = pid
        self._pidfd = os.pidfd_open(pid)
        self._words_pipe = words
        self._words = b""
        self._is_killed = self._is_let_go = False
        self._ended: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(self._pidfd, self._reap)

    @classmethod
    def spawn(
        cls,
        argv: Sequence[str],
        *,
        pass_fds: Sequence[int],
        environment: Mapping[str, str],
        run_as: RunAs | None = None,
        largest_file: int | None = None,
    ) -> Process:
        """Starts a child.

        Args:
            argv: the program and its words.
            pass_fds: the descriptors it inherits, under the same numbers.
            environment: all of its environment.
            run_as: another user, if we are root.
            largest_file: bytes no file it writes may grow beyond.

        Raises:
            MachineFailed: the program can not be started.
        """
        if shutil.which(argv[0]) is None:
            # Those who start it in turn would say so only on its pipe.
            raise MachineFailed(f"cannot start {argv[0]}: No such file or directory")
        reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            # SAFETY: every word of argv is made by `argv` from our own values; there is no shell.
            child = subprocess.Popen(
                [*_within_limits(largest_file), *_as_user(run_as), *argv],
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                env=dict(environment),
                pass_fds=tuple(pass_fds),
                start_new_session=True,
            )
        except OSError as error:
            os.close(reading)
            raise MachineFailed(f"cannot start {argv[0]}: {error.strerror}") from None
        finally:
            os.close(writing)
        # It is waited for through its pidfd; to Popen it must look as if that had been done.
        child.returncode = 0
        return cls(child.pid, reading)

    @property
    def has_ended(self) -> bool:
        """Whether it is gone."""
        return self._ended.done()

    async def wait(self) -> int | None:
        """Waits for its end; returns its exit status, or minus the signal's number. Any number may wait."""
        return await asyncio.shield(self._ended)

    @property
    def status(self) -> int | None:
        """Its exit status as `wait` returns it; None before its end, too."""
        is_known = self._ended.done() and not self._ended.cancelled()
        return self._ended.result() if is_known else None

    async def ended_within(self, seconds: float) -> bool:
        """Waits for its end, but not longer."""
        if not self._ended.done():
            await asyncio.wait([self._ended], timeout=seconds)
        return self._ended.done()

    def when_ended(self, call: Callable[[], None]) -> None:
        """Calls `call` once it has ended."""
        self._ended.add_done_callback(lambda ended: None if ended.cancelled() else call())

    def kill(self) -> None:
        """Ends it at once, if it still runs."""
        if not self._ended.done():
            self._is_killed = True
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def words(self) -> str:
        """The first of what it wrote to its standard output and error; empty before its end."""
        return self._words.decode(errors="replace")

    def close(self) -> None:
        """Lets go of it, without ending it. Idempotent."""
        if self._is_let_go:
            return
        self._is_let_go = True
        # One that was killed, but is not gone yet, is still to be reaped.
        if self._ended.done() or not self._is_killed:
            self._release()

    def _reap(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        status: int | None = None
        with contextlib.suppress(ChildProcessError):
            result = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED)
            assert result is not None
            status = result.si_status if result.si_code == os.CLD_EXITED else -result.si_status
        with contextlib.suppress(BlockingIOError):
            self._words = os.read(self._words_pipe, _WORDS_BYTES)
        self._ended.set_result(status)
        if self._is_let_go:
            self._release()

    def _release(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        os.close(self._words_pipe)
        # Whoever still waits would wait for ever.
        self._ended.cancel()


def _as_user(run_as: RunAs | None) -> list[str]:
    """The words that make a program another user's.

    setpriv(1) rather than Popen's `user`: that needs fork(2), which stops the hub for milliseconds.
    """
    if run_as is None:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise MachineFailed("setpriv is missing, so machines can not give up root; install util-linux")
    groups = ",".join(map(str, run_as.groups))
    # SAFETY: root ends here: no group, no capability and no set-user-id program gives any of it back.
    return [
        *(setpriv, f"--reuid={run_as.uid}", f"--regid={run_as.uid}"),
        f"--groups={groups}" if groups else "--clear-groups",
        *("--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--"),
    ]


def _within_limits(largest_file: int | None) -> list[str]:
    """The words that set a program's limits before it has run its first instruction.

    From outside, after the start, is too late: a process that has given up root may not be limited any more by a root
    without all its capabilities, as in a container.
    """
    prlimit, choom = shutil.which("prlimit"), shutil.which("choom")
    if prlimit is None or choom is None:
        raise MachineFailed("prlimit or choom is missing, so machines can not be limited; install util-linux")
    # A core dump would write the guest's memory to the host's disk.
    size = [] if largest_file is None else [f"--fsize={largest_file}:{largest_file}"]
    # When memory runs out, machines go before the hub.
    return [prlimit, "--core=0:0", *size, "--", choom, "-n", "500", "--"]


# What /proc says of any process


def is_process(pid: int, born: int) -> bool:
    """Whether a process with this number still runs and is the one that started at `born` ticks."""
    try:
        stat = _stat(pid)
    except ProcessLookupError:
        return False
    return stat[0] not in ("Z", "X") and int(stat[19]) == born


def start_ticks(pid: int) -> int:
    """When a process started, in ticks since the host's boot: with its id, its identity.

    Raises:
        ProcessLookupError: it is gone.
    """
    return int(_stat(pid)[19])


def cpu_seconds(pid: int) -> float:
    """The processor time a process has used.

    Raises:
        ProcessLookupError: it is gone.
    """
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND


def pss_bytes(pid: int) -> int:
    """The memory of a process, pages it shares with others divided among them.

    Raises:
        ProcessLookupError: it is gone.
    """
    for line in _read(pid, "smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    raise ProcessLookupError(f"process {pid} has no memory any more")


def _stat(pid: int) -> list[str]:
    # The name, in parentheses, may hold anything: the fields begin after the last one.
    return _read(pid, "stat").rpartition(")")[2].split()


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except FileNotFoundError:
        raise ProcessLookupError(f"process {pid} is gone") from None
