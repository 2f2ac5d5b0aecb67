"""Keys that decide, held back while they may have been meant for something else. Pure: whoever calls tells the time.

    OPEN ──┬─ something else is shown by itself, the focus came, a key went elsewhere ──► HELD
           └─ a person goes on to another call while the list is moving ───────────────► HELD
    HELD ──┬─ a key that decides ──► HELD, from now on; nothing is decided
           └─ nothing of all this for `QUIET_S` ──► OPEN

Rules:
- A key that was held back holds back the next one, too: whoever keeps a key down approves nothing by it.
- A person's own move does not hold keys back, unless the list has just changed: the move may have been meant for
  what stood there a moment before.
- Times are seconds of a clock that never goes back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

QUIET_S = 0.5
"""How long all must have been quiet before a key decides."""
_LONG_AGO = float("-inf")


class Cause(Enum):
    """Why keys are held back; the value says it to whoever pressed one."""

    ARRIVED = "it has only just come up"
    FOCUSED = "you have only just come here"
    TYPED = "you were typing elsewhere"
    MOVING = "the list has only just changed"


@dataclass(frozen=True, slots=True)
class Guard:
    """Whether a key that decides may act now."""

    held_since: float = _LONG_AGO
    cause: Cause = Cause.ARRIVED
    listed_at: float = _LONG_AGO
    """When the list changed last."""

    def hold(self, cause: Cause, *, now: float) -> Guard:
        """Something happened after which a key may be meant for something else."""
        return replace(self, held_since=now, cause=cause)

    def changed(self, *, now: float) -> Guard:
        """Calls came into the list, left it or are in another order."""
        return replace(self, listed_at=now)

    def moved(self, *, now: float) -> Guard:
        """A person went to another call."""
        return self.hold(Cause.MOVING, now=now) if now - self.listed_at < QUIET_S else self

    def press(self, *, now: float) -> tuple[Guard, bool]:
        """A key that decides was pressed; returns the guard afterwards, and whether the key acts.

        Args:
            now: when it was pressed, which may have been before what it would decide came up.
        """
        if self.is_open(now=now):
            return self, True
        return replace(self, held_since=max(self.held_since, now)), False

    def is_open(self, *, now: float) -> bool:
        """Whether a key that decides would act."""
        return now - self.held_since >= QUIET_S

    def hint(self, *, now: float) -> str | None:
        """Why keys are held back, for whoever looks; None: they are not."""
        if self.is_open(now=now):
            return None
        return f"keys wait a moment: {self.cause.value}"
