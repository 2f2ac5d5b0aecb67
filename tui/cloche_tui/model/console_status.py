"""How a console stands to the person who looks at it, and how that is said: its heading, its last line. Pure.

    OPENING ──► ATTACHING ──► LIVE ──► ENDED
                    ▲           │              NONE: the sandbox has no console
                    └── AWAY ◄──┘              FAILED: there is nothing to be shown

Rules:
- Whoever drives sees it in a word, and sees the way out, always.
- What matters most comes first, since what does not fit is cut at the end.
- Names, titles and notices are the guest's and other people's: all of it is made printable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from cloche import ConsoleInfo
from cloche.console_messages import LONGEST_SIDE, MOST_CELLS
from cloche.printable import printable
from cloche_tui.model.cells import glyphs_in
from cloche_tui.model.clipboard import CopyRequest
from cloche_tui.model.clipboard_text import ways_to_ask
from cloche_tui.model.console_panes import is_boot
from cloche_tui.model.roles import Line, Role, Span, line, plain_text

_BETWEEN = Span(" · ", Role.MUTED)


class Phase(StrEnum):
    """How far it is."""

    NONE = "none"
    OPENING = "opening"
    """A program is being started."""
    ATTACHING = "attaching"
    LIVE = "live"
    AWAY = "away"
    """The hub is not there: what is shown is old, and nothing can be typed."""
    ENDED = "ended"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Keys:
    """What the keys are called that are named in a console's last line."""

    drive: str = "enter"
    ask: str = "a"
    take: str = "t"
    give: str = "g"
    clipboard: str = "Y"
    hide: str = "x"
    way_out: str = "ctrl+]"


@dataclass(frozen=True, slots=True)
class Size:
    """Of a pane or a console."""

    rows: int
    cols: int

    def __str__(self) -> str:
        return f"{self.cols}×{self.rows}"

    def bounded(self) -> Size:
        """The nearest size that a console can have."""
        cols = min(max(self.cols, 1), LONGEST_SIDE)
        return Size(min(max(self.rows, 1), LONGEST_SIDE, MOST_CELLS // cols), cols)


@dataclass(frozen=True, slots=True)
class ConsoleStatus:
    """All there is to be said of one console and its pane."""

    phase: Phase
    info: ConsoleInfo | None = None
    """As it was last told; None before it is known."""
    viewer: str | None = None
    """Who we are among its viewers."""
    is_driving: bool = False
    has_keys: bool = False
    """Keys are the console's: we drive, or shall any moment, or did when the hub went away."""
    asking: str | None = None
    """The name of who asks us to drive."""
    copying: CopyRequest | None = None
    """What its program wants on our clipboard."""
    reason: str = ""
    """Why it has ended or failed."""
    can_drive: bool = True
    """Whether this dashboard may change anything."""
    is_machine_up: bool = True
    """Whether its sandbox runs, as far as is known, so that a shell could be opened."""
    is_scrolled: bool = False
    """Whether older lines are shown."""

    @property
    def driver(self) -> str | None:
        """The name of who else drives."""
        if self.info is None or self.info.driver in (None, self.viewer):
            return None
        return next((one.name for one in self.info.viewers if one.id == self.info.driver), "somebody")

    @property
    def role(self) -> Role:
        """What its border means."""
        if self.phase in (Phase.AWAY, Phase.FAILED):
            return Role.BAD
        if self.phase is Phase.ENDED:
            return Role.MUTED
        return Role.DRIVING if self.has_keys else Role.WATCHING


def label(info: ConsoleInfo) -> str:
    """How people name a console: `box/1`."""
    return f"{info.sandbox_name}/{info.name}"


def heading(status: ConsoleStatus, name: str) -> Line:
    """The first line: how we stand to it, in a word, and which it is.

    Args:
        status: how it is.
        name: what to call it as long as it is not known.
    """
    title = status.info.title if status.info is not None else ""
    return line(
        Span(f" {_WORDS.get(status.phase) or _live_word(status)} ", status.role),
        Span(f" {name if status.info is None else label(status.info)} ", Role.HEADING),
        *((Span(f"{title} ", Role.MUTED),) if title else ()),
    )


_WORDS = {
    Phase.NONE: "· no console",
    Phase.OPENING: "… opening a shell",
    Phase.ATTACHING: "… looking in",
    Phase.AWAY: "✗ NOT CONNECTED",
    Phase.ENDED: "■ ended",
    Phase.FAILED: "✗ not shown",
}


def _live_word(status: ConsoleStatus) -> str:
    if status.is_driving:
        return "▶ DRIVING"
    return "▶ driving…" if status.has_keys else "○ watching"


def foot(status: ConsoleStatus, window: Size, keys: Keys, *, notice: str = "") -> Line:
    """The last line: who drives, what can be done about it, who looks on, its size.

    Args:
        status: how it is.
        window: the size of its pane.
        keys: what the keys are called.
        notice: something that is told for a moment, in the place of all but the way out.
    """
    spans: list[Span] = []
    for number, part in enumerate(_fitted(status, window, keys, notice)):
        spans += ([_BETWEEN] if number else []) + list(part)
    return line(*spans)


def tells_of_copying(status: ConsoleStatus, window: Size, keys: Keys, *, notice: str = "") -> bool:
    """Whether the last line says what its program wants copied; as `foot`."""
    told = _fitted(status, window, keys, notice)
    return any(way in told for way in _ways_to_ask(status, keys))


def _fitted(status: ConsoleStatus, window: Size, keys: Keys, notice: str) -> Sequence[Line]:
    parts: list[Line] = []
    # What a program wants is said in so many words that it takes no room from the rest, if that can be.
    for way in _ways_to_ask(status, keys) or [()]:
        parts = [part for part in _parts(status, window, keys, way) if part]
        if _length(parts) <= window.cols:
            break
    if notice:
        parts = [*parts[: status.has_keys], (Span(notice, Role.WARNING),)]
    while len(parts) > 1 and _length(parts) > window.cols:
        # Rather not said than half.
        parts.pop()
    return parts


def _length(parts: Sequence[Line]) -> int:
    words = sum(_cells(plain_text(part)) for part in parts)
    return words + len(_BETWEEN.text) * (len(parts) - 1)


def _cells(text: str) -> int:
    return len(text) if text.isascii() else sum(glyph.cells for glyph in glyphs_in(printable(text)))


def _ways_to_ask(status: ConsoleStatus, keys: Keys) -> Sequence[Line]:
    if status.copying is None or status.info is None or status.phase not in (Phase.LIVE, Phase.ENDED):
        return ()
    key = f"{keys.way_out}, then {keys.clipboard}" if status.has_keys else keys.clipboard
    return ways_to_ask(status.copying, label(status.info), key)


def _parts(status: ConsoleStatus, window: Size, keys: Keys, copying: Line) -> Iterator[Line]:
    if status.has_keys:
        yield _key(keys.way_out, "leaves")
    match status.phase:
        case Phase.NONE:
            yield (Span("nothing runs here"), *_goes_on(status, keys, "opens a shell"))
        case Phase.AWAY:
            yield (Span("no keys until the hub is back", Role.BAD),)
        case Phase.ENDED | Phase.FAILED:
            yield (Span(status.reason or "it has ended", Role.WARNING),)
            yield _goes_on(status, keys, "opens another")[1:]
            yield copying
        case Phase.LIVE:
            yield _who_drives(status, keys)
            yield _who_asks(status, keys)
            yield copying
            if status.is_scrolled:
                yield (Span("older lines", Role.ACCENT),)
            yield _who_watches(status)
            yield _size(status, window)


def _who_drives(status: ConsoleStatus, keys: Keys) -> Line:
    info = status.info
    if status.has_keys or info is None:
        return ()
    if is_boot(info):
        return (Span("what the machine says"), *_drives_next(status, keys, "opens a shell"))
    if status.driver is None:
        return (Span("nobody drives"), *_drives_next(status, keys, "drives"))
    if not status.can_drive:
        return (Span(f"{status.driver} drives"),)
    ways = (*_key(keys.ask, "asks"), Span(", "), *_key(keys.take, "takes over"))
    return (Span(f"{status.driver} drives", Role.WARNING), Span(": "), *ways)


def _drives_next(status: ConsoleStatus, keys: Keys, what: str) -> Line:
    return (Span(": "), *_key(keys.drive, what)) if status.can_drive else ()


def _goes_on(status: ConsoleStatus, keys: Keys, what: str) -> Line:
    """What can be done where nothing can be shown any more."""
    if not status.is_machine_up:
        return (Span(": "), *_key(keys.hide, "hides"))
    return _drives_next(status, keys, what)


def _who_asks(status: ConsoleStatus, keys: Keys) -> Line:
    if status.asking is None or not status.can_drive:
        return ()
    key = f"{keys.way_out} {keys.give}" if status.has_keys else keys.give
    return (Span(f"{status.asking} asks to drive", Role.WARNING), Span(": "), *_key(key, "lets them"))


def _who_watches(status: ConsoleStatus) -> Line:
    if status.info is None:
        return ()
    others = [one for one in status.info.viewers if one.id not in (status.viewer, status.info.driver)]
    match others:
        case []:
            return ()
        case [one]:
            return (Span(f"{one.name} watches"),)
    return (Span(f"{len(others)} watch"),)


def _size(status: ConsoleStatus, window: Size) -> Line:
    if status.info is None:
        return ()
    size = Size(status.info.rows, status.info.cols)
    if size == window or status.has_keys:
        return (Span(str(size), Role.MUTED),)
    return (Span(f"{size} (pane {window})", Role.MUTED),)


def _key(key: str, what: str) -> Line:
    return (Span(key, Role.ACCENT), Span(f" {what}"))


def told(notice: str, info: ConsoleInfo, viewer: str) -> str | None:
    """A notice of the hub as we read it: of itself nobody reads its own name, nor what the heading says.

    Args:
        notice: what all viewers are told.
        info: the console as it is now.
        viewer: who we are.

    Returns:
        None: there is nothing to be told.
    """
    name = next((one.name for one in info.viewers if one.id == viewer), None)
    begin = f"{name} drives now"
    if name is not None and info.driver == viewer and notice.startswith(begin):
        how = notice.removeprefix(begin)
        return f"you drive now{how}" if how else None
    return notice


def how_it_ended(exit_code: int | None, signal: str | None, reason: str | None) -> str:
    """Why a console shows nothing more, in a few words.

    Args:
        exit_code: its program's, if it has one.
        signal: what ended its program, such as `KILL`.
        reason: what the hub says of it.
    """
    if reason:
        return reason
    if signal is not None:
        return f"its program was ended by SIG{signal}"
    if exit_code is None:
        return "it has ended; nobody knows how"
    return f"its program has ended with {exit_code}"
