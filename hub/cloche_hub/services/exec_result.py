"""What a guest says of a command or a console, its start and its result: parsed and checked. Pure.

The guest is hostile: what it says is a claim, and only a claim of the right form is recorded and passed on.
Rule: what the hub does not know it does not pass on; the agent is as old as the hub, so there is nothing to lose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cloche_hub.domain.audit import Json
from cloche_hub.errors import Conflict, Forbidden, NotFound, SenselessAnswer

# A name without SIG, or a number: real-time signals have no names that everybody knows.
_SIGNAL = re.compile(r"[A-Z0-9][A-Z0-9+-]{0,19}", re.ASCII)
_LONGEST_S = 1e9
_LARGEST_PID = 1 << 22
_LARGEST_OFFSET = 1 << 62


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program ended."""

    exit_code: int | None
    """0 to 255; None if a signal ended it."""
    signal: str | None
    """Such as `KILL`; None if it exited by itself."""
    duration_s: float

    def fields(self) -> dict[str, Any]:
        """As the client is told: without what did not happen."""
        ending = {"signal": self.signal} if self.exit_code is None else {"exit_code": self.exit_code}
        return {**ending, "duration_s": self.duration_s}

    def audit_detail(self) -> dict[str, Json]:
        """What the audit says of it."""
        detail: dict[str, Json] = {"duration_ms": round(self.duration_s * 1000)}
        if self.exit_code is not None:
            detail["exit_code"] = self.exit_code
        if self.signal is not None:
            detail["signal"] = self.signal
        return detail


@dataclass(frozen=True, slots=True)
class ExecResult(Ending):
    """How a command ended."""

    timed_out: bool

    def fields(self) -> dict[str, Any]:
        """As the client is told."""
        return {**Ending.fields(self), "timed_out": self.timed_out}

    def audit_detail(self) -> dict[str, Json]:
        """What `exec.exited` says."""
        return {**Ending.audit_detail(self), **({"timed_out": True} if self.timed_out else {})}


def parse_exec_result(result: Mapping[str, Any]) -> ExecResult:
    """The result of an `exec`.

    Raises:
        SenselessAnswer: it is none; says what is wrong.
    """
    ending, timed_out = parse_ending(result), result.get("timed_out")
    if not isinstance(timed_out, bool):
        raise _senseless("timed_out")
    return ExecResult(ending.exit_code, ending.signal, ending.duration_s, timed_out)


def parse_ending(result: Mapping[str, Any]) -> Ending:
    """The result of a `pty`, and what that of an `exec` has in common with it; raises as `parse_exec_result`."""
    exit_code, signal = result.get("exit_code"), result.get("signal")
    if (exit_code is None) == (signal is None):
        raise _senseless("neither or both of exit_code and signal")
    if exit_code is not None and not (type(exit_code) is int and 0 <= exit_code <= 255):
        raise _senseless("exit_code")
    if signal is not None and not (isinstance(signal, str) and _SIGNAL.fullmatch(signal)):
        raise _senseless("signal")
    return Ending(exit_code, signal, _parse_duration(result.get("duration_s")))


def parse_exec_start(info: Mapping[str, Any], *, exec_id: str) -> dict[str, Any]:
    """What the client is told of a command's start: what the hub calls it, and its process's id in the machine.

    Raises:
        SenselessAnswer: the guest says something else than what it was told, or what no Linux has.
    """
    return _parse_start(info, "exec", exec_id)


def parse_console_start(info: Mapping[str, Any], *, console_id: str) -> dict[str, Any]:
    """What the client is told of a console's start; as `parse_exec_start`."""
    return _parse_start(info, "console", console_id)


def parse_taken_offset(info: Mapping[str, Any], received: int) -> int:
    """Where the output of a console that is taken over goes on: where it was asked for, or later; as `parse_exec_start`."""
    offset = info.get("offset")
    if not (type(offset) is int and received <= offset <= _LARGEST_OFFSET):
        raise SenselessAnswer("the guest's account of how the command began makes no sense: offset")
    return offset


@contextmanager
def without_files() -> Iterator[None]:
    """Turns the errors that a sound agent has of files only into SenselessAnswer.

    Of a command a client would take them for the hub's own: no such sandbox, not allowed.
    """
    try:
        yield
    except (Conflict, Forbidden, NotFound) as error:
        raise SenselessAnswer(
            f"the guest answered with an error that no command has ({error.code}): {error.message}"
        ) from None


def _parse_start(info: Mapping[str, Any], key: str, given: str) -> dict[str, Any]:
    pid = info.get("pid")
    if info.get(key, given) != given:
        raise SenselessAnswer(f"the guest's account of how the command began makes no sense: {key}")
    if pid is not None and not (type(pid) is int and 0 < pid <= _LARGEST_PID):
        raise SenselessAnswer("the guest's account of how the command began makes no sense: pid")
    return {key: given} if pid is None else {key: given, "pid": pid}


def _parse_duration(duration_s: object) -> float:
    # Not a number and infinity fail the comparison too.
    if isinstance(duration_s, bool) or not isinstance(duration_s, int | float):
        raise _senseless("duration_s")
    if not 0 <= duration_s <= _LONGEST_S:
        raise _senseless("duration_s")
    return float(duration_s)


def _senseless(what: str) -> SenselessAnswer:
    return SenselessAnswer(f"the guest's account of how the command ended makes no sense: {what}")
