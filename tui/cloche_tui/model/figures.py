"""How times, sizes and shares are written: one way in every view. Pure.

Rule: rounded down where time is left, so that nobody is promised a second too many. Every figure has its unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from cloche_tui.model.roles import Role, Span

NOTHING = "–"
"""Stands where there is no figure."""
LEVELS = "▁▂▃▄▅▆▇█"

_SOON_S, _NOW_S = 60.0, 15.0
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_SHORT_ID = 12


def span(seconds: float) -> str:
    """A duration, in its two largest units: `45s`, `3m`, `2h14m`, `1d3h`."""
    whole = max(int(seconds), 0)
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if days:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if hours:
        return f"{hours}h{minutes % 60:02}m"
    return f"{minutes}m" if minutes else f"{whole}s"


def clock_span(seconds: float) -> str:
    """A duration to the second, as a clock shows it: `0:07`, `4:59`, `1:00:03`."""
    whole = max(int(seconds), 0)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def age(since: datetime, now: datetime) -> str:
    """How long ago: `3m`."""
    return span((now - since).total_seconds())


def ago(since: datetime, now: datetime) -> str:
    """How long ago, for a sentence: `3m ago`."""
    return f"{age(since, now)} ago"


def countdown(until: datetime, now: datetime) -> Span:
    """What is left before a deadline, with a symbol that changes as it comes near."""
    left = (until - now).total_seconds()
    if left <= 0:
        return Span("✗ 0:00", Role.BAD)
    if left < _NOW_S:
        return Span(f"‼ {clock_span(left)}", Role.BAD)
    if left < _SOON_S:
        return Span(f"! {clock_span(left)}", Role.WARNING)
    return Span(f"◷ {clock_span(left)}")


def time_left(until: datetime | None, now: datetime) -> Span:
    """What is left of a lease: `2h14m`; the last minute stands out."""
    if until is None:
        return Span(NOTHING, Role.MUTED)
    left = (until - now).total_seconds()
    if left <= 0:
        return Span("! over", Role.WARNING)
    return Span(f"! {span(left)}", Role.WARNING) if left < _SOON_S else Span(span(left))


def clock(moment: datetime) -> str:
    """A moment as the clock on this host shows it: `14:03:21`."""
    return moment.astimezone().strftime("%H:%M:%S")


def size(count: float) -> str:
    """Bytes: `312 B`, `1.2 GiB`, `64 MiB`."""
    amount, unit = float(count), 0
    # 1023.96 KiB would be written as 1024.
    while amount >= 1023.5 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    digits = 1 if unit and amount < 9.95 else 0
    return f"{amount:.{digits}f} {_UNITS[unit]}"


def percent(share: float | None) -> str:
    """A share of one processor, or of the whole: `37%`."""
    return NOTHING if share is None else f"{share:.0f}%"


def count(number: int, one: str, several: str | None = None) -> str:
    """How many of a thing: `1 console`, `3 consoles`."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def spark(values: Sequence[float], width: int, *, top: float | None = None) -> str:
    """The newest values as a row of bars, a place each, the newest at the right.

    Args:
        values: the oldest first.
        width: places; what is not known yet is blank.
        top: what a whole bar stands for; else the largest of what is shown.
    """
    shown = values[-width:] if width > 0 else ()
    most = top if top is not None else max(shown, default=0.0)
    return "".join(_bar(value, most) for value in shown).rjust(max(width, 0))


def round_top(values: Sequence[float]) -> float:
    """What a whole bar of bytes stands for: a power of two, so that what stays as it is does not look like all there is."""
    largest, top = max(values, default=0.0), float(256 << 20)
    while top < largest:
        top *= 2
    return top


def _bar(value: float, most: float) -> str:
    if most <= 0 or value <= 0:
        return LEVELS[0]
    return LEVELS[min(int(value / most * len(LEVELS)), len(LEVELS) - 1)]


def short_id(of: str) -> str:
    """The beginning of an id: enough to name it on a command line, as far as that goes."""
    return of if len(of) <= _SHORT_ID else of[:_SHORT_ID]


def cut(text: str, most: int) -> str:
    """A text of at most so many characters; what is cut ends with `…`. Columns of a table cut by themselves."""
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}…"
