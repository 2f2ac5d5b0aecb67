"""Starts a command as a user, with its own session and pipes or files: as fast as the kernel can.

The agent does not fork. It puts on the user's identity and directory, calls `posix_spawn` (which shares the agent's
memory with the child until it executes, so nothing is copied), and takes its own identity back.

Rules:
- The saved user id stays 0 meanwhile: it is the way back. Executing a program replaces it with the user's own, so no
  command can take that way; tests hold this.
- Every descriptor of the agent is close-on-exec; a command gets its three and no other.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from cloche_guest.users import Account, acting_as
from cloche_wire.errors import CommandNotStarted

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# What Python and the agent ignore, a command must not find ignored.
_TO_DEFAULT = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP, signal.SIGTERM)

_REASONS = {
    errno.EACCES: "permission",
    errno.EPERM: "permission",
    errno.ENOENT: "not_found",
    errno.ENOTDIR: "not_found",
    errno.ENOEXEC: "not_a_program",
    errno.E2BIG: "too_large",
}


@dataclass(frozen=True, slots=True)
class Command:
    """What to start."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    """The whole environment."""
    cwd: str
    account: Account
    stdin: bool = False
    """Whether it gets a pipe to read from, or /dev/null."""
    program: str | None = None
    """The file to execute; None: the one that the first word of `argv` names."""


FileActions: TypeAlias = list[tuple[Any, ...]]
"""What `posix_spawn` does to the command's descriptors, once it leads its session."""


@dataclass(frozen=True, slots=True)
class Started:
    """A running command and our ends of its pipes, which do not block."""

    pid: int
    stdin: int | None
    stdout: int
    stderr: int


def base_environment(account: Account, machine_env: Mapping[str, str]) -> dict[str, str]:
    """What a command's own variables are merged over.

    Args:
        account: whom it runs as.
        machine_env: the machine's variables; they win over the account's.
    """
    return {
        "PATH": DEFAULT_PATH,
        "LANG": "C.UTF-8",
        "HOME": account.home,
        "USER": account.name,
        "LOGNAME": account.name,
        "SHELL": account.shell,
        **machine_env,
    }


def start(command: Command) -> Started:
    """Starts a command in a session of its own.

    Raises:
        CommandNotStarted: it can not run; the message says why, `reason` in its details says it to programs.
    """
    ours: list[int] = []
    theirs: list[int] = []

    def connect() -> FileActions:
        _open_pipes(ours, theirs, stdin=command.stdin)
        return [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(theirs)]

    try:
        pid = start_with(command, connect)
    except CommandNotStarted:
        _close(ours)
        raise
    finally:
        _close(theirs)
    for fd in ours:
        os.set_blocking(fd, False)
    return Started(pid, ours[2] if command.stdin else None, ours[0], ours[1])


def start_with(command: Command, connect: Callable[[], FileActions]) -> int:
    """Starts a command in a session of its own and returns its process.

    Args:
        command: what to start; `stdin` is not looked at.
        connect: called with the user's identity on, in the command's directory; says what its descriptors become.

    Raises:
        CommandNotStarted: see `start`.
    """
    try:
        with acting_as(command.account), _in_directory(command.cwd):
            return _spawn(command, connect())
    except OSError as error:
        raise _not_started(command.program or command.argv[0], error) from None


def _open_pipes(ours: list[int], theirs: list[int], *, stdin: bool) -> None:
    """Appends our ends of stdout, stderr and (if it is a pipe) stdin, and the command's three in their order."""
    if stdin:
        reader, writer = os.pipe2(os.O_CLOEXEC)
        theirs.append(reader)
    else:
        theirs.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    for _ in ("stdout", "stderr"):
        out_reader, out_writer = os.pipe2(os.O_CLOEXEC)
        ours.append(out_reader)
        theirs.append(out_writer)
    if stdin:
        ours.append(writer)


def _close(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)


def _spawn(command: Command, file_actions: FileActions) -> int:
    # SAFETY: program, arguments and environment are the caller's, and so is their effect: they run as the
    # caller's user, whose identity this thread has put on.
    return os.posix_spawn(
        _find_program(command.program or command.argv[0], command.env.get("PATH", DEFAULT_PATH)),
        [word.encode() for word in command.argv],
        {name.encode(): value.encode() for name, value in command.env.items()},
        file_actions=file_actions,
        setsid=True,
        setsigmask=(),
        setsigdef=_TO_DEFAULT,
    )


def _find_program(name: str, path: str) -> str:
    """The file to execute, looked for as the user who will execute it."""
    if "/" in name:
        return name
    for folder in path.split(":"):
        file = f"{folder or '.'}/{name}"
        if os.access(file, os.X_OK) and not os.path.isdir(file):
            return file
    raise CommandNotStarted(f"there is no program {name!r} on the PATH {path}", reason="not_found")


@contextlib.contextmanager
def _in_directory(path: str) -> Iterator[None]:
    """Works in a directory, entered with the rights of the identity that is on."""
    try:
        os.chdir(path)
    except OSError as error:
        why = "permission" if error.errno == errno.EACCES else "no_such_directory"
        raise CommandNotStarted(
            f"cannot work in {path}: {os.strerror(error.errno or 0)}", reason=why
        ) from None
    try:
        yield
    finally:
        os.chdir("/")


def _not_started(program: str, error: OSError) -> CommandNotStarted:
    number = error.errno or 0
    reason = _REASONS.get(number, "no_room")
    hint = {
        errno.ENOENT: " (the file, or the interpreter its first line names)",
        errno.ENOEXEC: " (a script needs a first line such as #!/bin/sh)",
        errno.EAGAIN: " (the machine has no room for another process)",
    }.get(number, "")
    return CommandNotStarted(f"{program}: {error.strerror}{hint}", reason=reason)
