"""How a machine ended, from what is known of it. Pure.

Rule: the first cause counts: a guest that had powered itself off before anybody insisted was not killed.
"""

from __future__ import annotations

import enum
import signal
from dataclasses import dataclass

from cloche_hub.ports import MachineExit
from cloche_hub.vm.boot_log import last_lines


class Asked(enum.IntEnum):
    """How far the hub went to end a machine."""

    NOT = 0
    QUIT = 1
    KILL = 2


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known of an end."""

    asked: Asked
    shutdown: str | None
    """The reason in QMP's SHUTDOWN event, if one came."""
    status: int | None
    """The exit status, minus the signal's number, or None if it is somebody else's child."""
    words: str
    """What QEMU wrote to its standard error."""
    log: bytes
    """The end of the console."""


def classify(end: Ending) -> MachineExit:
    """How it ended, in the port's words."""
    if end.shutdown == "guest-shutdown":
        return MachineExit("guest_shutdown", "the guest powered itself off")
    if end.shutdown in ("guest-reset", "guest-panic"):
        return _after_reset(end)
    if end.asked is Asked.KILL:
        return MachineExit("killed", "killed: it did not end in time")
    if end.asked is Asked.QUIT and end.status in (0, None):
        return MachineExit("stopped", "stopped by the hub")
    return MachineExit("crashed", _describe(end))


def _after_reset(end: Ending) -> MachineExit:
    # A panic is a reset, too (`panic=-1`); the kernel has said which it is.
    panic = end.log.rfind(b"Kernel panic")
    if panic < 0 and end.shutdown == "guest-reset":
        return MachineExit("guest_shutdown", "the guest rebooted, which ends a machine")
    return MachineExit("guest_panic", last_lines(end.log[panic:].split(b"\n")[0], lines=1) or "kernel panic")


def _describe(end: Ending) -> str:
    if end.status is not None and end.status < 0:
        try:
            how = f"QEMU died of {signal.Signals(-end.status).name}"
        except ValueError:
            how = f"QEMU died of signal {-end.status}"
    elif end.shutdown is not None:
        how = f"QEMU was told to end by somebody else ({end.shutdown})"
    else:
        how = f"QEMU exited with status {end.status}"
    words = last_lines(end.words.encode(), lines=1)
    return f"{how}: {words}" if words else how
