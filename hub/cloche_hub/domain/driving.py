"""Many watch a console, one drives it: who may type, and how that changes hands. Pure.

A viewer's move does what the table `RULES` says, by who drives when it is made:

| move | nobody drives | who moves drives | somebody else drives | … from a link that is lost |
| --- | --- | --- | --- | --- |
| attach | drives | nothing changes | watches | watches; of the same token: drives |
| ask | drives | nothing changes | the driver is asked | drives; who drove watches |
| take | drives | nothing changes | drives; who drove watches | drives; who drove watches |
| give to a viewer | refused | that viewer drives | refused | refused |

Rules:
- A driver whose link is lost drives on, for it may come back, until somebody asks: there is nobody to answer that.
- The driver's window is the console's size. Without a driver the size stays.
- When the driver leaves, nobody drives until somebody asks.
- A boot console has no driver, ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from types import MappingProxyType

from cloche_hub.domain.console import MAX_VIEWERS, Console, ConsoleKind, Viewer, ViewerMode
from cloche_hub.errors import TooLarge


class AttachMode(StrEnum):
    """What somebody attaches for."""

    DRIVE = "drive"
    """To drive if nobody does, else to watch."""
    WATCH = "watch"
    TAKE = "take"
    """To drive, whoever does so now."""


class Move(Enum):
    """What a viewer can do about who drives."""

    ATTACH = "attach"
    ASK = "ask"
    TAKE = "take"
    GIVE = "give"


class Drives(Enum):
    """Who drives when a move is made, as seen by who makes it."""

    NOBODY = "nobody"
    SELF = "self"
    ANOTHER = "another"
    LOST = "lost"
    """Another, whose link is lost."""
    OWN_LOST = "own lost"
    """Another, whose link is lost, with the token of who moves: most likely a client that was killed."""


class Outcome(Enum):
    """What a move comes to."""

    BEGINS = "begins"
    """Who moves drives what nobody drove."""
    TAKES = "takes"
    """Who moves drives in another's place."""
    GIVES = "gives"
    """The viewer who is named drives."""
    ASKS = "asks"
    """The driver is asked."""
    NOTHING = "nothing"
    REFUSED = "refused"
    """Only the driver gives."""


RULES: Mapping[tuple[Move, Drives], Outcome] = MappingProxyType(
    {
        (Move.ATTACH, Drives.NOBODY): Outcome.BEGINS,
        (Move.ATTACH, Drives.SELF): Outcome.NOTHING,
        (Move.ATTACH, Drives.ANOTHER): Outcome.NOTHING,
        (Move.ATTACH, Drives.LOST): Outcome.NOTHING,
        (Move.ATTACH, Drives.OWN_LOST): Outcome.TAKES,
        (Move.ASK, Drives.NOBODY): Outcome.BEGINS,
        (Move.ASK, Drives.SELF): Outcome.NOTHING,
        (Move.ASK, Drives.ANOTHER): Outcome.ASKS,
        (Move.ASK, Drives.LOST): Outcome.TAKES,
        (Move.ASK, Drives.OWN_LOST): Outcome.TAKES,
        (Move.TAKE, Drives.NOBODY): Outcome.BEGINS,
        (Move.TAKE, Drives.SELF): Outcome.NOTHING,
        (Move.TAKE, Drives.ANOTHER): Outcome.TAKES,
        (Move.TAKE, Drives.LOST): Outcome.TAKES,
        (Move.TAKE, Drives.OWN_LOST): Outcome.TAKES,
        (Move.GIVE, Drives.NOBODY): Outcome.REFUSED,
        (Move.GIVE, Drives.SELF): Outcome.GIVES,
        (Move.GIVE, Drives.ANOTHER): Outcome.REFUSED,
        (Move.GIVE, Drives.LOST): Outcome.REFUSED,
        (Move.GIVE, Drives.OWN_LOST): Outcome.REFUSED,
    }
)
"""Every move in every situation."""


class How(StrEnum):
    """How the wheel came to another."""

    FREE = "free"
    """Nobody drove."""
    GIVEN = "given"
    TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class HandOver:
    """Somebody drives who did not before."""

    driver: Viewer
    before: Viewer | None
    how: How

    @property
    def notice(self) -> str:
        """What all viewers are told."""
        return f"{self.driver.name} drives now" + ("" if self.how is How.FREE else f" ({self.how})")


@dataclass(frozen=True, slots=True)
class Step:
    """What a move comes to: the console afterwards, and what to say of it."""

    console: Console
    hand_over: HandOver | None = None
    """Told to everybody, recorded, marked in the recording."""
    asked: Viewer | None = None
    """Who wants to drive: told to the driver."""
    refusal: str | None = None
    """Told to who made the move."""
    is_resized: bool = False
    """The console has another size."""


def attach(console: Console, viewer: Viewer, mode: AttachMode, *, is_driver_lost: bool = False) -> Step:
    """Somebody comes.

    Args:
        console: as it is.
        viewer: who comes; its own mode is of no matter.
        mode: what for.
        is_driver_lost: whether there is no link to who drives.

    Raises:
        TooLarge: there are as many viewers as there may be.
    """
    if len(console.viewers) >= MAX_VIEWERS:
        raise TooLarge(f"console {console.label} has {MAX_VIEWERS} viewers, which is the most there may be")
    viewer = replace(viewer, mode=ViewerMode.WATCHING)
    joined = replace(console, viewers=(*console.viewers, viewer))
    if mode is AttachMode.WATCH or console.kind is ConsoleKind.BOOT:
        return Step(joined)
    move = Move.TAKE if mode is AttachMode.TAKE else Move.ATTACH
    return _move(joined, viewer, move, is_driver_lost=is_driver_lost)


def detach(console: Console, viewer_id: str) -> Step:
    """A viewer leaves; of one who is not there nothing changes."""
    left = tuple(viewer for viewer in console.viewers if viewer.id != viewer_id)
    driver = None if console.driver == viewer_id else console.driver
    return Step(replace(console, viewers=left, driver=driver))


def ask(console: Console, viewer_id: str, *, is_driver_lost: bool = False) -> Step:
    """A viewer wants to drive; `is_driver_lost` as of `attach`."""
    return _move(console, _mover(console, viewer_id), Move.ASK, is_driver_lost=is_driver_lost)


def take(console: Console, viewer_id: str) -> Step:
    """A viewer drives from now on, whoever did."""
    return _move(console, _mover(console, viewer_id), Move.TAKE)


def give(console: Console, viewer_id: str, to: str) -> Step:
    """A viewer wants another one to drive."""
    return _move(console, _mover(console, viewer_id), Move.GIVE, to=console.viewer(to))


def resize(console: Console, viewer_id: str, *, rows: int, cols: int) -> Step:
    """A viewer's window has another size."""
    resized = replace(_mover(console, viewer_id), rows=rows, cols=cols)
    return _fitted(_with(console, resized))


def _mover(console: Console, viewer_id: str) -> Viewer:
    viewer = console.viewer(viewer_id)
    assert viewer is not None, "only those who are there move"
    return viewer


def _move(
    console: Console, viewer: Viewer, move: Move, *, to: Viewer | None = None, is_driver_lost: bool = False
) -> Step:
    if console.kind is ConsoleKind.BOOT:
        return Step(console, refusal="a boot console can be watched only")
    match RULES[move, _drives(console, viewer, is_driver_lost=is_driver_lost)]:
        case Outcome.BEGINS:
            return _hand_over(console, viewer, How.FREE)
        case Outcome.TAKES:
            return _hand_over(console, viewer, How.TAKEN)
        case Outcome.ASKS:
            return Step(console, asked=viewer)
        case Outcome.REFUSED:
            return Step(
                console, refusal="you do not drive, so you cannot let others drive: ask, or take over"
            )
        case Outcome.NOTHING:
            return Step(console)
    # To give is left.
    if to is None:
        return Step(console, refusal="whom you want to drive is not here any more")
    if to.id == viewer.id:
        return Step(console)
    return _hand_over(console, to, How.GIVEN)


def _drives(console: Console, viewer: Viewer, *, is_driver_lost: bool) -> Drives:
    driver = console.viewer(console.driver)
    if driver is None:
        return Drives.NOBODY
    if driver.id == viewer.id:
        return Drives.SELF
    if not is_driver_lost:
        return Drives.ANOTHER
    return Drives.OWN_LOST if driver.token == viewer.token else Drives.LOST


def _hand_over(console: Console, to: Viewer, how: How) -> Step:
    before = console.viewer(console.driver)
    driver = replace(to, mode=ViewerMode.DRIVING)
    if before is not None:
        console = _with(console, replace(before, mode=ViewerMode.WATCHING))
    fitted = _fitted(replace(_with(console, driver), driver=driver.id))
    return replace(fitted, hand_over=HandOver(driver, before, how))


def _with(console: Console, viewer: Viewer) -> Console:
    viewers = tuple(viewer if one.id == viewer.id else one for one in console.viewers)
    return replace(console, viewers=viewers)


def _fitted(console: Console) -> Step:
    """The console at its driver's size."""
    driver = console.viewer(console.driver)
    if driver is None or (driver.rows, driver.cols) == (console.rows, console.cols):
        return Step(console)
    return Step(replace(console, rows=driver.rows, cols=driver.cols), is_resized=True)
