"""What happens to the connection to a hub, as a value. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class LinkNews:
    """The hub is lost, is still away, or is back."""

    is_up: bool
    text: str
    """One line for a person."""
    reason: str = ""
    """Of a hub that is away: why, as far as the last attempt has shown."""
    resumed: bool = False
    """Of a hub that is back: whether what was underway goes on. False: the hub has forgotten it."""
    attempt: int = 0
    """Of a hub that is away: which attempt to reach it comes next, 1 as it is lost."""
    next_try_s: float = 0.0
    """How long until then."""
    silent_s: float = 0.0
    """Of a hub that is lost: for how long nothing had come from it when that was noticed."""

    @property
    def is_turn(self) -> bool:
        """Whether it has just been lost or found; False: it is still away."""
        return self.is_up or self.attempt == 1


OnLink: TypeAlias = Callable[[LinkNews], object]
"""Told when the hub is lost, after each attempt that has not found it, and when it is back. It must not block and must
not raise."""
