"""How the command line ends: exit statuses, and the line it says when something went wrong. Pure."""

from __future__ import annotations

import os

from cloche.errors import CodedError, CommandNotStarted
from cloche.messages import Completed, ExitStatus
from cloche.signals import signal_number

INCOMPLETE = 1
"""Something was left out of a copy, and stderr says what."""
TIMED_OUT = 124
"""The command in the sandbox was ended because its time was up, as timeout(1) has it."""
FAILED = 125
"""Cloche itself failed; the command may not have run."""
CANNOT_RUN = 126
"""The command is there, but cannot be run."""
NO_SUCH_COMMAND = 127
"""There is no such command in the sandbox."""
BY_SIGNAL = 128
"""Plus the number of the signal that ended the command, or this program."""
USAGE = 2

SIGPIPE = 13


class PipeClosed(Exception):
    """Whoever read our output wants no more of it, which is no error."""


def told(error: OSError) -> str:
    """What the operating system refused, in one sentence without its numbers."""
    why = error.strerror or str(error)
    return why if error.filename is None else f"cannot use {os.fsdecode(error.filename)}: {why}"


class Unwritable(OSError):
    """Our output cannot be written."""


def unwritable(error: OSError) -> Unwritable:
    """The error of an output that cannot be written, saying so."""
    if isinstance(error, Unwritable):
        return error
    return Unwritable(error.errno, f"cannot write the output: {error.strerror}")


def status_of(ended: ExitStatus | Completed) -> int:
    """The exit status that tells how a command in a sandbox ended."""
    if ended.timed_out:
        return TIMED_OUT
    if ended.signal is not None:
        return BY_SIGNAL + signal_number(ended.signal)
    return FAILED if ended.exit_code is None else ended.exit_code


def status_for(error: CodedError) -> int:
    """The exit status for what went wrong."""
    if not isinstance(error, CommandNotStarted):
        return FAILED
    return NO_SUCH_COMMAND if error.details.get("reason") == "not_found" else CANNOT_RUN
