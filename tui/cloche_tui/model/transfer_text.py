"""What is written of transfers: how far, how fast, until when, and how they ended. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from cloche.transfer import Copied
from cloche_tui.model import figures
from cloche_tui.model.roles import Line, Role, Span, line, plain_text
from cloche_tui.model.transfers import Direction, Pace, State, Transfer, Transfers

BAR = 10
"""Places of a bar."""
MOST_SKIPPED = 3
"""Things that were left out and are named."""
_LONGEST_S = 99 * 3600.0
"""What would take longer is not said to the second."""

_STATES: Mapping[State, tuple[str, Role]] = {
    State.WAITING: ("◌ waits", Role.MUTED),
    State.RUNNING: ("● copies", Role.ACCENT),
    State.DONE: ("✓ done", Role.GOOD),
    State.FAILED: ("✗ failed", Role.BAD),
    State.CANCELLED: ("– given up", Role.MUTED),
}


def cells(transfer: Transfer, pace: Pace | None) -> Mapping[str, Line]:
    """What stands in the columns, by their keys."""
    symbol, role = _STATES[transfer.state]
    if transfer.copied is not None and transfer.copied.skipped:
        symbol, role = "! in part", Role.WARNING
    return {
        "state": line(Span(symbol, role)),
        "what": what(transfer),
        "bar": line(Span(_bar(transfer), Role.ACCENT)),
        "figures": _figures(transfer, pace),
    }


def what(transfer: Transfer) -> Line:
    """What goes where: `↓ data.tar  box → /home/ann`."""
    wanted = transfer.wanted
    if wanted.direction is Direction.UP:
        way, where = "↑ ", f"  → {transfer.sandbox_name}:{wanted.folder}"
    else:
        way, where = "↓ ", f"  {transfer.sandbox_name} → {wanted.folder}"
    return line(Span(way, Role.ACCENT), wanted.name, Span(where, Role.MUTED))


def story(transfer: Transfer, pace: Pace | None) -> str:
    """All that is known of it, on one line."""
    parts = (plain_text(cell) for key, cell in cells(transfer, pace).items() if key != "bar")
    return "  ".join(part.strip() for part in parts if part)


def share(transfer: Transfer) -> float | None:
    """How much of it is copied, of 1; None: nobody knows yet."""
    if transfer.state is State.DONE:
        return 1.0
    if transfer.total_bytes is None:
        return None
    return transfer.done_bytes / transfer.total_bytes if transfer.total_bytes else 0.0


def _bar(transfer: Transfer) -> str:
    part = share(transfer)
    if part is None or transfer.is_over:
        return ""
    full = min(math.floor(part * BAR), BAR)
    return "█" * full + "░" * (BAR - full)


def _figures(transfer: Transfer, pace: Pace | None) -> Line:
    match transfer.state:
        case State.DONE if transfer.copied is not None:
            return _outcome(transfer.copied)
        case State.FAILED:
            return line(Span(" ".join(transfer.message.split()), Role.BAD))
        case State.RUNNING if transfer.total_bytes is None:
            return line(Span("looking through it", Role.MUTED))
        case State.RUNNING:
            return _progress(transfer, pace)
    return ()


def _progress(transfer: Transfer, pace: Pace | None) -> Line:
    assert transfer.total_bytes is not None
    part = share(transfer) or 0.0
    # What matters most is first: a narrow column has no room for all of it.
    told: list[str | Span] = [f"{part:4.0%}"]
    if pace is not None and pace.left_s is None:
        told.append(Span("  nothing moves", Role.WARNING))
    elif pace is not None and pace.left_s is not None:
        if pace.left_s < _LONGEST_S:
            told.append(f"  {figures.clock_span(math.ceil(pace.left_s))} left")
        told.append(f"  {figures.size(pace.bytes_per_s)}/s")
    sizes = f"  {figures.size(transfer.done_bytes)} of {figures.size(transfer.total_bytes)}"
    told.append(Span(sizes, Role.MUTED))
    if transfer.path:
        told.append(Span(f"  {transfer.path}", Role.MUTED))
    return line(*told)


def _outcome(copied: Copied) -> Line:
    took = f"{copied.duration_s:.1f} s" if copied.duration_s < 10 else figures.span(copied.duration_s)
    told: list[str | Span] = [
        f"{figures.count(copied.files, 'file')}, {figures.size(copied.bytes)} in {took}"
    ]
    if copied.skipped:
        names = "; ".join(f"{one.path}: {one.reason}" for one in copied.skipped[:MOST_SKIPPED])
        more = len(copied.skipped) - MOST_SKIPPED
        names += f"; and {more} more" if more > 0 else ""
        told.append(Span(f"  left out {len(copied.skipped)}: {names}", Role.WARNING))
    return line(*told)


def summary(transfers: Transfers) -> tuple[str, bool]:
    """All of them in a few words, with why the newest failed, and whether all went well: `2 to go, 1 failed: …`."""
    known = [one for one in map(transfers.get, transfers.order) if one is not None]
    states = Counter(one.state for one in known)
    told = (
        (states[State.RUNNING] + states[State.WAITING], "to go"),
        (states[State.DONE], "done"),
        (states[State.FAILED], "failed"),
        (states[State.CANCELLED], "given up"),
    )
    is_whole = all(one.copied is None or not one.copied.skipped for one in known)
    text = ", ".join(f"{count} {word}" for count, word in told if count)
    failed = next((one for one in known if one.state is State.FAILED), None)
    if failed is not None:
        text += f": {plain_text(_figures(failed, None))}"
    return text, failed is None and is_whole
