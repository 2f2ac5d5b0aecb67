"""When the other side is asked for a sign of life, and when it counts as silent. Pure: the clock is the caller's.

Rule: only time in which this process could listen counts as silence. A host that slept, or a loop that was held up,
says nothing about the other side.
"""

from __future__ import annotations

from dataclasses import dataclass

from cloche_wire.errors import LinkSilent

# A look may come short of a bound by a rounding error. The next one at once would be late by as much as it takes, which
# is not counted, and so on for ever: silence would never be noticed.
_LEAST_WAIT_S = 0.001


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """How silence is noticed."""

    interval_s: float = 5.0
    """After this long without a message the other side is asked for a sign of life."""
    silent_after_s: float = 20.0
    """After this long without a message the link counts as silent."""


class Watch:
    """How long the other side of one link has been quiet.

    Args:
        beat: the bounds.
        now: the caller's clock, here and in every call.
    """

    def __init__(self, beat: Heartbeat, *, now: float) -> None:
        self._beat = beat
        self._heard_at = self._look_at = now
        self._asked = False

    def heard(self, *, now: float) -> None:
        """A message has come."""
        self._heard_at = now
        self._asked = False

    def look(self, *, now: float, may_ask: bool) -> tuple[bool, float]:
        """Looks whether all is well. To be called again after the seconds it returns.

        Args:
            now: the time.
            may_ask: whether the other side can be asked already.

        Returns:
            Whether to ask for a sign of life now, and the seconds until the next look.

        Raises:
            LinkSilent: it has been quiet for too long.
        """
        # We are late, so we stood still, and what arrived meanwhile is not read yet.
        self._heard_at = min(now, self._heard_at + max(0.0, now - self._look_at))
        beat, quiet_s = self._beat, now - self._heard_at
        if quiet_s >= beat.silent_after_s:
            raise LinkSilent(f"the other side has not answered for {quiet_s:.0f} s")
        is_quiet = quiet_s >= beat.interval_s
        asks = is_quiet and may_ask and not self._asked
        self._asked = self._asked or asks
        # Often enough that a stand-still between two looks is short beside the bound.
        wait_s = min(
            beat.interval_s if is_quiet else beat.interval_s - quiet_s, beat.silent_after_s - quiet_s
        )
        wait_s = max(wait_s, _LEAST_WAIT_S)
        self._look_at = now + wait_s
        return asks, wait_s
