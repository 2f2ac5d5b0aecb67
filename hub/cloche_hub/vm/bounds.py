"""How long each step of a machine may take. Pure.

Rule: no wait for QEMU or a guest is without one of these.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from cloche_hub.vm.argv import TCG


@dataclass(frozen=True, slots=True)
class Bounds:
    """Seconds, for a machine on kvm."""

    boot_s: float = 30.0
    """From power-on until the agent is ready."""
    prove_s: float = 15.0
    """The same, when it is not known yet whether kvm works at all: a broken one hangs for ever."""
    settle_s: float = 3.0
    """How long to wait at most for a booted guest to become quiet before it is saved."""
    save_s: float = 15.0
    """For saving the device state."""
    start_s: float = 10.0
    """From a clone's start until it runs."""
    answer_s: float = 5.0
    """For the answer to one monitor command."""

    def scaled(self, accelerator: str, tcg_scale: float) -> Bounds:
        """The bounds for an accelerator."""
        if accelerator != TCG:
            return self
        return Bounds(**{field.name: getattr(self, field.name) * tcg_scale for field in fields(self)})
