"""Which panes there are, what each shows, which of them are on the screen, and which has the focus. Pure.

    beside    one pane next to the list          grid    up to four, the list is covered
    split     two of them next to the list       full    one, the list is covered

Rules:
- A console is in one pane at most: opening it again goes there.
- Opening takes a free pane of the layout; where there is none, the focused pane's console makes room, unless we drive it.
- A pane that is not on the screen keeps its console: another layout shows it again. The focused one is always shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Any

from cloche import ConsoleInfo

MOST_PANES = 4
_BOOT = "boot"


class Layout(StrEnum):
    """How the panes are arranged."""

    BESIDE = "beside"
    SPLIT = "split"
    GRID = "grid"
    FULL = "full"


ROOM: Mapping[Layout, int] = {Layout.BESIDE: 1, Layout.SPLIT: 2, Layout.GRID: MOST_PANES, Layout.FULL: 1}
"""How many panes are shown at once."""
_COVERING = frozenset({Layout.GRID, Layout.FULL})
_ROUND = (Layout.BESIDE, Layout.SPLIT, Layout.GRID)


@dataclass(frozen=True, slots=True)
class Pane:
    """One pane."""

    key: int
    """Never another pane's."""
    sandbox: str
    console: str | None
    """A console's id; None: the sandbox's newest, if it ever has one."""


@dataclass(frozen=True, slots=True)
class Panes:
    """All panes. Each move makes another one of these."""

    all: tuple[Pane, ...] = ()
    focus: int = 0
    """The place in `all` of the focused one, also while the list has the focus."""
    layout: Layout = Layout.BESIDE
    before: Layout = Layout.BESIDE
    """The layout that shows the list, to go back to."""
    next_key: int = 1

    @property
    def focused(self) -> Pane | None:
        """The pane that has the focus, or had it last."""
        return self.all[self.focus] if self.all else None

    @property
    def shown(self) -> tuple[Pane, ...]:
        """Those on the screen, in order."""
        room = ROOM[self.layout]
        first = self.focus // room * room
        return self.all[first : first + room]

    @property
    def covers(self) -> bool:
        """Whether there is no room for the list."""
        return bool(self.all) and self.layout in _COVERING

    def pane(self, key: int) -> Pane | None:
        """The pane of a key."""
        return next((pane for pane in self.all if pane.key == key), None)

    # What is in them.

    def opened(
        self, sandbox: str, console: str | None, *, driven: Collection[int] = (), is_new: bool = False
    ) -> Panes:
        """A console is to be shown; its pane has the focus then.

        Args:
            sandbox: the id of the one it is in.
            console: its id; None: the sandbox has none yet.
            driven: the keys of panes whose console we drive: they keep it as long as there is another way.
            is_new: whether it is another one than all there are, which has no id yet.
        """
        for place, pane in enumerate(self.all):
            if (pane.sandbox, pane.console) == (sandbox, console) and not is_new:
                return replace(self, focus=place)
        fresh = Pane(self.next_key, sandbox, console)
        grown = replace(self, next_key=self.next_key + 1)
        is_free = len(self.all) < ROOM[self.layout]
        if is_free or (self.all[self.focus].key in driven and len(self.all) < MOST_PANES):
            return replace(grown, all=(*self.all, fresh), focus=len(self.all))
        undriven = (place for place, pane in enumerate(self.all) if pane.key not in driven)
        place = self.focus if self.all[self.focus].key not in driven else next(undriven, self.focus)
        return replace(grown, all=_with(self.all, place, fresh), focus=place)

    def together(self, consoles: Mapping[str, str | None]) -> Panes:
        """Several sandboxes are to be shown at once: a pane of each, as far as there are panes, and nothing else.

        Args:
            consoles: of each sandbox, by its id, which console is shown if none of it is yet; None: it has none.
        """
        panes = replace(self, all=(), focus=0)
        for sandbox, console in islice(consoles.items(), MOST_PANES):
            known = next((pane for pane in self.all if pane.sandbox == sandbox), None)
            pane = known or Pane(panes.next_key, sandbox, console)
            panes = replace(panes, all=(*panes.all, pane), next_key=panes.next_key + (known is None))
        return panes.arranged(next(layout for layout in _ROUND if ROOM[layout] >= len(panes.all)))

    def showing(self, key: int, console: str | None) -> Panes:
        """A pane shows another console of its sandbox now."""
        changed = (replace(pane, console=console) if pane.key == key else pane for pane in self.all)
        return replace(self, all=tuple(changed))

    def closed(self, key: int) -> Panes:
        """A pane is taken away; the one behind it has the focus, else the one before."""
        left = tuple(pane for pane in self.all if pane.key != key)
        place = next((place for place, pane in enumerate(self.all) if pane.key == key), len(self.all))
        focus = self.focus - (place < self.focus)
        return replace(self, all=left, focus=max(min(focus, len(left) - 1), 0))

    # Which are shown, and which has the focus.

    def focusing(self, key: int) -> Panes:
        """A pane has the focus; of one that is gone nothing changes."""
        place = next((place for place, pane in enumerate(self.all) if pane.key == key), self.focus)
        return replace(self, focus=place)

    def stepped(self, by: int, *, at_list: bool) -> tuple[Panes, bool]:
        """The focus goes on through the list and the panes on the screen, and around.

        With one console over all the list, it goes through all panes instead.

        Args:
            by: 1 or -1.
            at_list: whether the list has the focus now.

        Returns:
            The panes, and whether the list has the focus then.
        """
        if not self.all:
            return self, True
        around = self.all if self.layout is Layout.FULL else self.shown
        stops: list[Pane | None] = [*around] if self.covers else [None, *around]
        here = None if at_list and not self.covers else self.focused
        there = stops[(stops.index(here) + by) % len(stops)]
        return (self, True) if there is None else (self.focusing(there.key), False)

    def arranged(self, layout: Layout) -> Panes:
        """Another layout."""
        before = self.layout if self.layout not in _COVERING else self.before
        return replace(self, layout=layout, before=layout if layout not in _COVERING else before)

    def turned(self) -> Panes:
        """The next layout: one, two, four, one."""
        here = self.before if self.layout is Layout.FULL else self.layout
        return self.arranged(_ROUND[(_ROUND.index(here) + 1) % len(_ROUND)])

    def filled(self) -> Panes:
        """The focused pane takes the whole screen, or gives it back."""
        return self.uncovered() if self.layout is Layout.FULL else self.arranged(Layout.FULL)

    def uncovered(self) -> Panes:
        """The list is there again."""
        return self.arranged(self.before) if self.layout in _COVERING else self


def room_note(panes: Panes, more: str) -> str:
    """What is to be said of a layout that has room for consoles that are not there; empty: nothing.

    Args:
        panes: as they are arranged now.
        more: what opens another console.
    """
    if len(panes.all) != 1 or ROOM[panes.layout] == 1:
        return ""
    return f"room for {ROOM[panes.layout]}, but one console is open: {more}"


def _with(panes: tuple[Pane, ...], place: int, pane: Pane) -> tuple[Pane, ...]:
    return (*panes[:place], pane, *panes[place + 1 :])


# Which console of a sandbox is meant.


def newest_console(consoles: Iterable[ConsoleInfo]) -> ConsoleInfo | None:
    """What is looked into when a sandbox is: its newest open console, else what its machine says.

    Args:
        consoles: the sandbox's.
    """
    open_ones = in_order(consoles)
    return next(reversed(closable(open_ones) or open_ones), None)


def next_console(consoles: Iterable[ConsoleInfo], current: str | None) -> ConsoleInfo | None:
    """The open console of a sandbox behind this one, around; None: there is no other."""
    there = in_order(consoles)
    ids = [console.id for console in there]
    if not ids or ids == [current]:
        return None
    return there[(ids.index(current) + 1) % len(ids)] if current in ids else there[-1]


def closable(consoles: Iterable[ConsoleInfo]) -> list[ConsoleInfo]:
    """The open ones in which a program runs that can be ended, oldest first."""
    return [console for console in in_order(consoles) if not is_boot(console)]


def in_order(consoles: Iterable[ConsoleInfo]) -> list[ConsoleInfo]:
    """The open ones, oldest first."""
    return sorted(
        (console for console in consoles if console.is_open),
        key=lambda console: (console.created_at, console.id),
    )


def is_boot(console: ConsoleInfo) -> bool:
    """Whether it is the machine's own, which nobody drives."""
    return console.kind == _BOOT


# What the next dashboard finds again.


def to_plain(panes: Panes) -> dict[str, Any]:
    """What is remembered, as values that every format has."""
    return {
        "layout": str(panes.before if panes.layout is Layout.FULL else panes.layout),
        "panes": [{"sandbox": pane.sandbox, "console": pane.console} for pane in panes.all],
        "focus": panes.focus,
    }


def from_plain(value: object, *, is_there: Callable[[str], bool]) -> Panes:
    """What was remembered; what cannot be understood counts as forgotten.

    Args:
        value: from `to_plain`, or anything a person has made of it.
        is_there: whether there is a sandbox of this id; the panes of others are left out.
    """
    told = value if isinstance(value, Mapping) else {}
    layout = told.get("layout")
    panes = Panes().arranged(Layout(layout) if layout in list(Layout) else Layout.BESIDE)
    pairs = _pairs(told.get("panes"))
    there = tuple(
        Pane(key, sandbox, console)
        for key, (sandbox, console) in enumerate(
            islice((pair for pair in pairs if is_there(pair[0])), MOST_PANES), start=1
        )
    )
    focus = told.get("focus")
    place = focus if isinstance(focus, int) and 0 <= focus < len(there) else 0
    return replace(panes, all=there, focus=place, next_key=len(there) + 1)


def _pairs(value: object) -> Iterable[tuple[str, str | None]]:
    """Each pair of a sandbox and a console once."""
    found: dict[tuple[str, str | None], None] = {}
    for pane in value if isinstance(value, list) else []:
        sandbox = pane.get("sandbox") if isinstance(pane, Mapping) else None
        console = pane.get("console") if isinstance(pane, Mapping) else None
        if isinstance(sandbox, str):
            found[sandbox, console if isinstance(console, str) else None] = None
    return found
