"""How a machine ended, from every combination of what can be known."""

from __future__ import annotations

import pytest

from cloche_hub.ports import MachineExit
from cloche_hub.vm.exits import Asked, Ending, classify

PANIC = b"[1.0] BUG: x\r\n[1.1] Kernel panic - not syncing: sysrq triggered crash\r\n[1.2] Rebooting\r\n"


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (
            Ending(Asked.QUIT, "host-qmp-quit", 0, "", b""),
            MachineExit("stopped", "stopped by the hub"),
        ),
        (Ending(Asked.QUIT, None, None, "", b""), MachineExit("stopped", "stopped by the hub")),
        (Ending(Asked.KILL, None, -9, "", b""), MachineExit("killed", "killed: it did not end in time")),
        (
            Ending(Asked.NOT, "guest-shutdown", 0, "", b""),
            MachineExit("guest_shutdown", "the guest powered itself off"),
        ),
        (
            Ending(Asked.KILL, "guest-shutdown", -9, "", b""),
            MachineExit("guest_shutdown", "the guest powered itself off"),
        ),
        (
            Ending(Asked.NOT, "guest-reset", 0, "", b"all is well\n"),
            MachineExit("guest_shutdown", "the guest rebooted, which ends a machine"),
        ),
        (
            Ending(Asked.NOT, "guest-reset", 0, "", PANIC),
            MachineExit("guest_panic", "Kernel panic - not syncing: sysrq triggered crash"),
        ),
        (Ending(Asked.NOT, "guest-panic", 0, "", b""), MachineExit("guest_panic", "kernel panic")),
        (
            Ending(Asked.NOT, None, -11, "assertion failed\n", b""),
            MachineExit("crashed", "QEMU died of SIGSEGV: assertion failed"),
        ),
        (Ending(Asked.NOT, None, -9, "", b""), MachineExit("crashed", "QEMU died of SIGKILL")),
        (
            Ending(Asked.QUIT, None, 1, "oops", b""),
            MachineExit("crashed", "QEMU exited with status 1: oops"),
        ),
        (
            Ending(Asked.NOT, "host-signal", 0, "", b""),
            MachineExit("crashed", "QEMU was told to end by somebody else (host-signal)"),
        ),
    ],
)
def test_the_first_cause_counts(end: Ending, how: MachineExit) -> None:
    assert classify(end) == how


def test_what_the_guest_says_of_its_panic_is_cleaned() -> None:
    end = Ending(Asked.NOT, "guest-reset", 0, "", b"Kernel panic \x1b]0;owned\x07" + b"x" * 5000)
    how = classify(end)
    assert how.detail.isprintable()
    assert len(how.detail) <= 300
