"""The process that workers are forked by, as seen by whoever starts it; what it does itself is `forking`.

It belongs to no event loop: several may use it, one after the other or at once. Nothing here waits, but for `close`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from cloche_term.errors import TerminalLost

MOST_MEMORY = 384 << 20
BEHIND_US = 5

_END_S = 5.0
_ROOT = Path(__file__).resolve().parents[2]


class Zygote:
    """One process, started when it is needed.

    Args:
        most_memory: bytes of address space of each worker, some 30 MiB of which are there from the beginning.
        nice: how far behind us each worker stands when processors are short. Somebody looks at 0; more is for terminals
            that others wait for less than for us.
        is_quiet: whether it may not complain on our standard error, since that is a screen somebody paints.
    """

    def __init__(
        self, *, most_memory: int = MOST_MEMORY, nice: int = BEHIND_US, is_quiet: bool = False
    ) -> None:
        self._most_memory, self._nice, self._is_quiet = most_memory, nice, is_quiet
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._pidfd = -1
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """Its process id; None where none has been started."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Starts it unless it runs, and again if it has ended; it is ready a while later.

        Raises:
            TerminalLost: it is closed.
            OSError: there are no more processes or descriptors.
        """
        if self._is_closed:
            raise TerminalLost("no terminal is opened any more: the process they come from is closed")
        if self._process is None or self._process.poll() is not None:
            self._forget()
            self._start()

    def send(self, connection: socket.socket) -> None:
        """Has it fork a worker at the other end of this socket; the socket is still the caller's to close.

        Raises:
            OSError: it has ended, or has more to do than it can.
        """
        if self._control is None:
            raise ConnectionResetError("the process they come from has not been started")
        socket.send_fds(self._control, [b"w"], [connection.fileno()])

    @property
    def is_stopped(self) -> bool:
        """Whether somebody has stopped it, as SIGSTOP and debuggers do: until it is continued it does nothing."""
        if self._process is None or self._process.poll() is not None:
            return False
        # SAFETY: a child of ours that has not been waited for: no other process has its id.
        status = Path(f"/proc/{self._process.pid}/stat").read_bytes()
        return status.rpartition(b") ")[2][:1] in (b"T", b"t")

    def wake(self) -> None:
        """Has it go on if it is stopped; whoever stopped it may keep it so."""
        # SAFETY: by pidfd, so it is this very process or none.
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGCONT)

    def end(self) -> None:
        """Ends the process that runs now, and with it all its workers; another can be started."""
        self._forget()

    def watch(self) -> int:
        """A new descriptor, the caller's to close, that is readable when the process that runs now has ended.

        Raises:
            OSError: there is no such process, or no descriptor.
        """
        return os.dup(self._pidfd)

    def close(self) -> None:
        """Ends it, and with it all its workers. Idempotent."""
        self._is_closed = True
        self._forget()

    def _start(self) -> None:
        # Each datagram is whole or not there, whoever else sends at the same time.
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                program = [sys.executable, "-P", "-m", "cloche_term.apart.forking"]
                # SAFETY: no shell, nothing of a guest's among the arguments, no environment but where our own code lies,
                # no descriptor but the one it serves.
                process = subprocess.Popen(
                    [
                        *program,
                        str(theirs.fileno()),
                        str(os.getpid()),
                        str(self._most_memory),
                        str(self._nice),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL if self._is_quiet else None,
                    pass_fds=[theirs.fileno()],
                    env={"PYTHONPATH": str(_ROOT)},
                    cwd="/",
                    # The keys of a terminal that our own process has are not for it.
                    start_new_session=True,
                )
        except BaseException:
            control.close()
            raise
        control.settimeout(0)
        self._control, self._process = control, process
        try:
            self._pidfd = os.pidfd_open(process.pid)
        except OSError:
            self._forget()
            raise

    def _forget(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            # There is nothing in it that could be lost, so it need not be asked.
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=_END_S)
            self._process = None
        if self._pidfd != -1:
            os.close(self._pidfd)
            self._pidfd = -1
