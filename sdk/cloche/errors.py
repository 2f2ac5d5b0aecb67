"""Everything the SDK raises: the wire's coded errors under one roof, and what never crosses a link.

    CodedError                `code` is a stable word, the message says what to do, `details` is for programs
    ├── BadRequest, NotFound, …   what the hub answered (cloche_wire.errors has the table)
    ├── LinkLost, LinkSilent      the link failed: whether the request was carried out is not known
    ├── HubNotRunning             there is no hub at that address
    └── CommandFailed             `run(check=True)`: the command did not end with 0

Rule: cancellation and KeyboardInterrupt pass through as they are; nothing else is raised on purpose.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cloche.printable import printable
from cloche_wire.errors import (
    AuditBroken,
    BadRequest,
    BuildFailed,
    CallbackFailed,
    Cancelled,
    CodedError,
    CommandNotStarted,
    Conflict,
    Forbidden,
    InternalError,
    LinkLost,
    LinkSilent,
    MachineFailed,
    NoHandler,
    NoSpace,
    NotFound,
    RecipeNotBuilt,
    SenselessAnswer,
    ShuttingDown,
    TimedOut,
    TooLarge,
    Unauthenticated,
    Unsupported,
    WrongState,
)

if TYPE_CHECKING:
    from cloche.messages import Completed

__all__ = [
    "AuditBroken",
    "BadRequest",
    "BuildFailed",
    "CallbackFailed",
    "Cancelled",
    "CodedError",
    "CommandFailed",
    "CommandNotStarted",
    "Conflict",
    "Forbidden",
    "HubNotRunning",
    "InternalError",
    "LinkLost",
    "LinkSilent",
    "MachineFailed",
    "NoHandler",
    "NoSpace",
    "NotFound",
    "RecipeNotBuilt",
    "SenselessAnswer",
    "ShuttingDown",
    "TimedOut",
    "TooLarge",
    "Unauthenticated",
    "Unsupported",
    "WrongState",
]

_SHOWN = 300
"""Characters of a command, and of a line it wrote, in a message."""


class HubNotRunning(CodedError):
    """There is no hub at the address; the message says how to start one."""

    code = "hub_not_running"


class CommandFailed(CodedError):
    """A command that was to succeed did not; the message says which, how it ended and the last line it wrote.

    Args:
        cmd: the command, as it was given.
        completed: all of how it ended and what it wrote.
    """

    code = "command_failed"

    def __init__(self, cmd: str | Sequence[str], completed: Completed) -> None:
        command = cmd if isinstance(cmd, str) else shlex.join(cmd)
        super().__init__(_story(command, completed), exit_code=completed.exit_code, signal=completed.signal)
        self.command = command
        self.completed = completed


def _story(command: str, completed: Completed) -> str:
    if completed.timed_out:
        ending = f"did not end in time (it had {completed.duration_s:.1f} s)"
    elif completed.signal is not None:
        ending = f"was ended by SIG{completed.signal}"
    else:
        ending = f"ended with exit code {completed.exit_code}"
    said = (completed.stderr.strip() or completed.stdout.strip()).rpartition("\n")[2].strip()
    return f"the command {_cut(command)!r} {ending}" + (f": {printable(_cut(said))}" if said else "")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
