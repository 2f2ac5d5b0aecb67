"""Whether we drive a console, want to, or are about to let somebody else; and what follows from who does. Pure.

    watching ──wanted──► wanted ──seen: ours──► driving ──let go, or seen: another's──► watching

The hub decides who drives; this is what we make of it. Rules:
- As long as the wheel is wanted keys are the console's, also while it is not ours yet or the hub is away: so none that
  was meant for a program means anything here.
- Whoever loses the wheel does not want it any more: it never comes back by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from cloche import ConsoleInfo
from cloche.console_messages import Viewer
from cloche_tui.model.console_panes import is_boot
from cloche_tui.model.console_status import ConsoleStatus, Phase


class Seen(Enum):
    """What it means for us who drives."""

    NOTHING = "nothing"
    OURS = "ours"
    GHOST = "ghost"
    """Who drives is who we were before the hub was away: it has not noticed yet, and the wheel is to be taken."""
    LOST = "lost"
    """Somebody else drives what we wanted to."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """The wheel of one console, as far as we are concerned."""

    is_wanted: bool = False
    """We drive, or shall as soon as we may."""
    is_leaving: bool = False
    """We let it go, or give it to somebody, and the hub has not said so yet."""
    asking: Viewer | None = None
    """Who asks us for it."""

    def wanted(self) -> Wheel:
        """We ask for it."""
        return replace(self, is_wanted=True, is_leaving=False)

    def let_go(self) -> Wheel:
        """We leave it, or give it to somebody."""
        return replace(self, is_wanted=False, is_leaving=True)

    def gone(self) -> Wheel:
        """It is not ours: it was refused, or all is over."""
        return replace(self, is_wanted=False, is_leaving=False)

    def attached(self) -> Wheel:
        """There is another attachment: what was said in the one before counts no more."""
        return replace(self, is_leaving=False)

    def asked(self, viewer: Viewer | None) -> Wheel:
        """Somebody asks for it; None: who did has got an answer."""
        return replace(self, asking=viewer)

    def seen(self, info: ConsoleInfo, viewer: str, before: Viewer | None) -> tuple[Wheel, Seen]:
        """The hub has told who is there and who drives.

        Args:
            info: the console as it is now.
            viewer: who we are.
            before: who we were at the attachment before this one.
        """
        asking = None if self.asking is None else viewer_of(info, self.asking.id)
        wheel = replace(self, asking=None if asking is None or asking.id == info.driver else asking)
        if info.driver is None:
            return wheel, Seen.NOTHING
        if info.driver == viewer:
            if self.is_leaving:
                return wheel, Seen.NOTHING
            return replace(wheel, is_wanted=True), Seen.OURS
        if self.is_wanted and _is_same(before, viewer_of(info, info.driver)):
            return wheel, Seen.GHOST
        return wheel.gone(), Seen.LOST if self.is_wanted else Seen.NOTHING


def viewer_of(info: ConsoleInfo, viewer_id: str | None) -> Viewer | None:
    """The viewer of an id; None: nobody is it, or not any more."""
    return next((one for one in info.viewers if one.id == viewer_id), None)


def _is_same(one: Viewer | None, other: Viewer | None) -> bool:
    """Whether it is the same attachment: ids begin anew with each hub."""
    return (
        one is not None
        and other is not None
        and (one.id, one.token, one.since) == (other.id, other.token, other.since)
    )


def why_not(status: ConsoleStatus, *, over_others: bool) -> str | None:
    """Why this console cannot be driven now; None: it can, or we do already.

    Args:
        status: how it is.
        over_others: whether somebody else may be driving it.
    """
    if not status.can_drive:
        return "this dashboard only looks on: it was started with --readonly"
    if status.phase is Phase.AWAY:
        return "not connected: nothing can be typed"
    if status.phase is not Phase.LIVE:
        return status.reason or "not yet: the console is not shown yet"
    if status.info is not None and is_boot(status.info):
        return "what the machine says can only be watched"
    if status.driver is not None and not over_others:
        return f"{status.driver} drives: ask, or take over"
    return None
