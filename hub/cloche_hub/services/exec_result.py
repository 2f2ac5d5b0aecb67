"""The result of a command, as a guest gives it: parsed and checked. Pure.

The guest is hostile: what it says about an exit is a claim, and only a claim of the right form is recorded and passed on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cloche_hub.domain.audit import Json
from cloche_hub.errors import InternalError

# A name without SIG, or a number: real-time signals have no names that everybody knows.
_SIGNAL = re.compile(r"[A-Z0-9][A-Z0-9+-]{0,19}", re.ASCII)
_LONGEST_S = 1e9


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command ended."""

    exit_code: int | None
    """0 to 255; None if a signal ended it."""
    signal: str | None
    """Such as `KILL`; None if it exited by itself."""
    timed_out: bool
    duration_s: float

    def audit_detail(self) -> dict[str, Json]:
        """What `exec.exited` says."""
        detail: dict[str, Json] = {"duration_ms": round(self.duration_s * 1000)}
        if self.exit_code is not None:
            detail["exit_code"] = self.exit_code
        if self.signal is not None:
            detail["signal"] = self.signal
        if self.timed_out:
            detail["timed_out"] = True
        return detail


def parse_exec_result(result: Mapping[str, Any]) -> ExecResult:
    """The result of an `exec`; fields a newer agent adds are left to the client.

    Raises:
        InternalError: it is none; says what is wrong.
    """
    exit_code, signal = result.get("exit_code"), result.get("signal")
    if (exit_code is None) == (signal is None):
        raise _senseless("neither or both of exit_code and signal")
    if exit_code is not None and not (type(exit_code) is int and 0 <= exit_code <= 255):
        raise _senseless("exit_code")
    if signal is not None and not (isinstance(signal, str) and _SIGNAL.fullmatch(signal)):
        raise _senseless("signal")
    timed_out = result.get("timed_out")
    if not isinstance(timed_out, bool):
        raise _senseless("timed_out")
    return ExecResult(exit_code, signal, timed_out, _parse_duration(result.get("duration_s")))


def _parse_duration(duration_s: object) -> float:
    # Not a number and infinity fail the comparison too.
    if isinstance(duration_s, bool) or not isinstance(duration_s, int | float):
        raise _senseless("duration_s")
    if not 0 <= duration_s <= _LONGEST_S:
        raise _senseless("duration_s")
    return float(duration_s)


def _senseless(what: str) -> InternalError:
    return InternalError(f"the guest's account of how the command ended makes no sense: {what}")
