"""What a process may have that feeds a hostile guest's bytes to native code: memory, its socket, and nothing else.

SAFETY: Who has found a hole in the emulator finds a process that opens nothing, starts nothing, belongs to nobody where
the system lets root become nobody, has no environment, and ends with its parent. It can still use its share of a
processor until it is given up, and make a mess of its own answers.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
from pathlib import Path

SOCKET = 3
"""The only descriptor beside the three standard ones, which lead nowhere."""

_NOBODY = 65534
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38

# Looked up before the first fork: afterwards nothing can be opened.
_prctl = ctypes.CDLL(None, use_errno=True).prctl


def end_with_parent(parent: int) -> None:
    """Has this process killed when its parent ends, or now if it has.

    Args:
        parent: its process id.
    """
    _call(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def confine(connection: int, *, parent: int, most_memory: int, nice: int) -> None:
    """Leaves this process, which has just been forked, its memory and this socket, as `SOCKET`.

    Args:
        connection: the socket's descriptor.
        parent: who forked it.
        most_memory: bytes of address space.
        nice: how far behind its parent it stands when processors are short.
    """
    os.environ.clear()
    os.dup2(1, 2)
    os.dup2(connection, SOCKET)
    # Not up to the limit, which may be a thousand million.
    os.closerange(SOCKET + 1, max(int(entry.name) for entry in Path("/proc/self/fd").iterdir()) + 1)
    os.nice(nice)
    if os.geteuid() == 0:
        # In a container that knows no such user it stays who it is, with all the rest below.
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    for what, most in (
        (resource.RLIMIT_AS, most_memory),
        (resource.RLIMIT_NOFILE, SOCKET + 1),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        resource.setrlimit(what, (most, most))
    _call(_PR_SET_NO_NEW_PRIVS, 1)
    _call(_PR_SET_DUMPABLE, 0)
    # Becoming somebody else has undone it, so it comes last.
    end_with_parent(parent)


def _call(option: int, value: int) -> None:
    if _prctl(option, ctypes.c_ulong(value), 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option}")
