"""Names of signals, as the guest knows them. Pure.

The guest is always Linux, whatever the client runs on, so the numbers are Linux's and not this host's.
"""

from __future__ import annotations

import signal as host_signals

from cloche.errors import BadRequest

# asm-generic/signal.h: x86-64 and aarch64 have these numbers.
NUMBERS = {
    "HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9, "USR1": 10,
    "SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15, "STKFLT": 16, "CHLD": 17, "CONT": 18, "STOP": 19,
    "TSTP": 20, "TTIN": 21, "TTOU": 22, "URG": 23, "XCPU": 24, "XFSZ": 25, "VTALRM": 26, "PROF": 27, "WINCH": 28,
    "IO": 29, "PWR": 30, "SYS": 31,
}  # fmt: skip
"""Name without SIG → number."""

_NAMES = {number: name for name, number in NUMBERS.items()}


def signal_name(signal: str | int) -> str:
    """The name the guest is given: `TERM` for "TERM", "SIGTERM", 15 or `signal.SIGTERM`.

    Raises:
        BadRequest: Linux has no such signal.
    """
    if isinstance(signal, host_signals.Signals):
        signal = signal.name  # this host's number of it may be another one
    name = _NAMES.get(signal) if isinstance(signal, int) else signal.upper().removeprefix("SIG")
    if name not in NUMBERS:
        raise BadRequest(f"no signal {signal!r}; give a name such as TERM, or its number on Linux")
    return name


def told_signal(value: str | int) -> str:
    """The name for what the guest says ended a command, whatever it is."""
    return _NAMES.get(value, str(value)) if isinstance(value, int) else value.removeprefix("SIG")


def signal_number(name: str) -> int:
    """The number of a signal that ended a command; 0 for one that has no name."""
    return NUMBERS.get(name) or (int(name) if name.isascii() and name.isdecimal() else 0)
