"""What is written of a sandbox: in the columns of a list, in a few lines of detail, and before it is destroyed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from cloche import SandboxInfo
from cloche_tui.model import figures
from cloche_tui.model.roles import Line, Role, Span, line
from cloche_tui.model.sandbox_rows import Attention, Row, labels_text

BARS = 8
"""Places of a sparkline in a list."""
_LEAST_S = 0.005
"""What a step of its making took at least, to be told."""
MOST_NAMED = 10
"""Sandboxes that are named one by one before they are destroyed."""

_STATES: Mapping[str, tuple[str, Role]] = {
    "creating": ("◐", Role.ACCENT),
    "running": ("●", Role.GOOD),
    "removing": ("◌", Role.WARNING),
    "failed": ("✗", Role.BAD),
    "removed": ("○", Role.MUTED),
}
_BUSY, _FULL = 50.0, 90.0
"""Percents of one processor from which a sandbox is busy, or uses all it can."""


def state_span(state: str) -> Span:
    """A state, as a symbol and a word."""
    symbol, role = _STATES.get(state, ("?", Role.PLAIN))
    return Span(f"{symbol} {state}", role)


def cells(row: Row, now: datetime) -> Mapping[str, Line]:
    """What stands in the columns, by their keys."""
    info = row.info
    return {
        "mark": line("✓" if row.is_marked else ""),
        "state": line(Span("○ gone", Role.MUTED) if row.is_gone else state_span(info.state)),
        "name": line(info.name),
        "waits": waits(row.attention),
        "cpu": (_load(row),),
        "cpu_bars": (Span(figures.spark(row.cpu, BARS, top=max(100.0, *row.cpu[-BARS:], 0.0)), Role.MUTED),),
        "memory": line(figures.size(row.usage.memory_pss_bytes) if row.usage else Span(figures.NOTHING, Role.MUTED)),
        "memory_bars": (Span(figures.spark(row.memory, BARS, top=figures.round_top(row.memory)), Role.MUTED),),
        "age": line(figures.age(info.created_at, now)),
        "lease": (figures.time_left(info.expires_at if info.ended_at is None else None, now),),
        "accelerator": line(info.accelerator or Span(figures.NOTHING, Role.MUTED)),
        "viewers": _viewers(row.attention),
        "recipe": line(info.recipe, Span(f"/{info.flavor}", Role.MUTED)),
        "owner": line(info.owner),
        "labels": line(labels_text(info)),
    }  # fmt: skip


def _load(row: Row) -> Span:
    percent = row.usage.cpu_percent if row.usage is not None else None
    if percent is None:
        return Span(figures.NOTHING, Role.MUTED)
    if percent >= _FULL:
        return Span(f"!{figures.percent(percent)}", Role.WARNING)
    return Span(figures.percent(percent), Role.PLAIN if percent >= _BUSY else Role.MUTED)


def waits(attention: Attention) -> Line:
    """What waits for a person."""
    found: list[str | Span] = []
    if attention.approvals:
        found.append(Span(f"⚑ {attention.approvals}", Role.WARNING))
    if attention.asks:
        found.append(Span(f"{' ' if found else ''}? {', '.join(attention.asks)}", Role.ACCENT))
    return line(*found)


def _viewers(attention: Attention) -> Line:
    if not attention.viewers:
        return line(Span(figures.NOTHING, Role.MUTED))
    if not attention.drivers:
        return line(Span(str(attention.viewers), Role.WATCHING))
    return line(f"{attention.viewers} ", Span(f"▶ {', '.join(attention.drivers)}", Role.WARNING))


def details(row: Row, now: datetime) -> list[Line]:
    """All that is known of a sandbox, the most important first."""
    info, attention = row.info, row.attention
    state: list[str | Span] = [
        Span(info.name, Role.ACCENT),
        "  ",
        Span("○ gone", Role.MUTED) if row.is_gone else state_span(info.state),
    ]
    if info.end_reason:
        state += [
            ": ",
            Span(" ".join(info.end_reason.split()), Role.BAD if info.state == "failed" else Role.PLAIN),
        ]
    found = [
        line(*state),
        _facts(
            ("id", info.id),
            ("recipe", f"{info.recipe}/{info.flavor}"),
            ("on", info.accelerator),
            ("owner", info.owner),
        ),
        _facts(
            *_end(info, now),
            ("created", figures.ago(info.created_at, now)),
            ("lease", figures.span(info.lease_s)),
            ("written", figures.size(row.usage.disk_bytes) if row.usage else None),
        ),
        _facts(
            ("consoles", str(attention.consoles)),
            ("driven by", ", ".join(attention.drivers) or None),
            ("calls that wait", str(attention.approvals) if attention.approvals else None),
            ("ask to drive", ", ".join(attention.asks) or None),
        ),
        _facts(("labels", labels_text(info) or None), ("env", ", ".join(info.env_names) or None)),
        _facts(("image", info.image and info.image[:12]), ("took", _timings(info.timings))),
    ]  # fmt: skip
    return [each for each in found if each]


def _timings(timings: Mapping[str, float]) -> str | None:
    told = [f"{step} {seconds:.2f}" for step, seconds in timings.items() if seconds >= _LEAST_S]
    return f"{' + '.join(told)} s" if told else None


def _end(info: SandboxInfo, now: datetime) -> Iterable[tuple[str, str | None]]:
    if info.ended_at is not None:
        yield "ended", figures.ago(info.ended_at, now)
    elif info.expires_at is not None:
        yield "expires in", figures.span((info.expires_at - now).total_seconds())


def _facts(*facts: tuple[str, str | None]) -> Line:
    """`owner ann   lease 1h00m`; what is not known is left out."""
    spans: list[str | Span] = []
    for name, value in facts:
        if value is not None:
            spans += [Span(f"{'   ' if spans else ''}{name} ", Role.MUTED), value]
    return line(*spans)


def losses(rows: Sequence[Row]) -> list[Line]:
    """What is lost when these are destroyed, a line each; more than `MOST_NAMED` are summed up at the end."""
    found = [_loss(row) for row in rows[:MOST_NAMED]]
    if others := rows[MOST_NAMED:]:
        found.append(
            line(f"and {len(others)} more: ", figures.cut(", ".join(row.info.name for row in others), 200))
        )
    consoles = sum(row.attention.consoles for row in rows)
    approvals = sum(row.attention.approvals for row in rows)
    if len(rows) > 1 and (consoles or approvals):
        told = [figures.count(consoles, "open console")] if consoles else []
        told += [figures.count(approvals, "waiting call")] if approvals else []
        found.append(line(Span(f"in all {' and '.join(told)}", Role.WARNING)))
    return found


def _loss(row: Row) -> Line:
    info, attention = row.info, row.attention
    lost = []
    if attention.consoles:
        lost.append(figures.count(attention.consoles, "open console"))
    if attention.drivers:
        lost.append(f"driven by {', '.join(attention.drivers)}")
    if attention.approvals:
        lost.append(figures.count(attention.approvals, "waiting call"))
    told: list[str | Span] = [
        Span(info.name, Role.ACCENT),
        " ",
        state_span(info.state),
        Span(f"  of {info.owner}", Role.MUTED),
    ]
    if lost:
        told.append(Span(f"  {', '.join(lost)}", Role.WARNING))
    return line(*told)
