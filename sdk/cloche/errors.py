"""Everything the SDK raises: the wire's coded errors under one roof, and what never crosses a link.

    CodedError                `code` is a stable word, the message says what to do, `details` is for programs
    ├── BadRequest, NotFound, …   what the hub answered (cloche_wire.errors has the table)
    ├── LinkLost, LinkSilent      the link failed: whether the request was carried out is not known
    ├── HubNotRunning             there is no hub at that address
    └── CommandFailed             `run(check=True)`: the command did not end with 0

Rule: cancellation and KeyboardInterrupt pass through as they are; nothing else is raised on purpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloche_wire.errors import (
    AuditBroken,
    BadRequest,
    BuildFailed,
    Cancelled,
    CodedError,
    CommandNotStarted,
    Conflict,
    Forbidden,
    InternalError,
    LinkLost,
    LinkSilent,
    MachineFailed,
    NoSpace,
    NotFound,
    RecipeNotBuilt,
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
    "NoSpace",
    "NotFound",
    "RecipeNotBuilt",
    "ShuttingDown",
    "TimedOut",
    "TooLarge",
    "Unauthenticated",
    "Unsupported",
    "WrongState",
]

_TAIL_LINES = 10
_TAIL_CHARACTERS = 2000


class HubNotRunning(CodedError):
    """There is no hub at the address; the message says how to start one."""

    code = "hub_not_running"


class CommandFailed(CodedError):
    """A command that was to succeed did not; `completed` has all of it, the message how it ended and its last lines."""

    code = "command_failed"

    def __init__(self, completed: Completed) -> None:
        super().__init__(_story(completed), exit_code=completed.exit_code, signal=completed.signal)
        self.completed = completed


def _story(completed: Completed) -> str:
    if completed.timed_out:
        ending = f"did not end in time (it had {completed.duration_s:.1f} s)"
    elif completed.signal is not None:
        ending = f"was ended by SIG{completed.signal}"
    else:
        ending = f"ended with exit code {completed.exit_code}"
    last_lines = "\n".join((completed.stderr.strip() or completed.stdout.strip()).splitlines()[-_TAIL_LINES:])
    words = f"the command {ending}"
    return f"{words}:\n{last_lines[-_TAIL_CHARACTERS:]}" if last_lines else words
