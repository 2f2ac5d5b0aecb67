"""How long the hub waits for a guest, in kvm and in software emulation. Pure arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from cloche_wire.aio import Heartbeat

MAX_BREAKS = 20
"""Links that break one after another before a guest is given up: a sound one breaks none."""
_LONGEST_PAUSE_S = 1.0


@dataclass(frozen=True, slots=True)
class LinkBounds:
    """Every wait of a link to a guest, in seconds."""

    attempt_s: float
    """For the echo of a sync, before the hub completes whatever message the agent may be in the middle of."""
    sync_s: float
    """For a sync and the agent's hello."""
    answer_s: float
    """For the answer to a request that does no work of a user's (become, the start of a command)."""
    heartbeat: Heartbeat


def link_bounds(*, interval_s: float, silent_after_s: float, scale: float) -> LinkBounds:
    """The bounds for one machine.

    Args:
        interval_s: quiet seconds after which the agent is asked for a sign of life.
        silent_after_s: quiet seconds after which it counts as silent.
        scale: how much slower the machine is than one on kvm.
    """
    silent_s = silent_after_s * scale
    return LinkBounds(
        attempt_s=1.0 * scale,
        sync_s=silent_s,
        answer_s=silent_s,
        heartbeat=Heartbeat(interval_s * scale, silent_s),
    )


def pause_before_link(breaks: int) -> float:
    """Seconds to wait after so many links have broken in a row: none after the first, and never more than a second."""
    return 0.0 if breaks <= 1 else min(_LONGEST_PAUSE_S, 0.01 * 2.0 ** (breaks - 2))
