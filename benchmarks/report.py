"""What a run of the benchmarks says: rows, a table for people, a file for programs. Pure but for `write_report`."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

Tell = Callable[[str], None]
"""Told, in a few words, what is measured now."""

RESULTS = Path(__file__).parent / "results" / "latest.json"


@dataclass(frozen=True, slots=True)
class Goal:
    """What a row's figure should be: a bound for the ratio to bare, or for our own figure where there is no bare."""

    most: float | None = None
    least: float | None = None

    def is_met(self, figure: float) -> bool:
        """Whether a figure satisfies it."""
        return (self.most is None or figure <= self.most) and (self.least is None or figure >= self.least)

    def __str__(self) -> str:
        return f"≤ {self.most:g}" if self.most is not None else f"≥ {self.least:g}"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: medians of ours and bare, their ratio, and the verdict."""

    name: str
    unit: str
    ours: float
    bare: float | None
    ratio: float | None
    goal: str | None
    met: bool | None
    n: int


def row(
    name: str, unit: str, ours: Sequence[float], bare: Sequence[float] = (), *, goal: Goal | None = None
) -> Row:
    """A row from samples.

    Args:
        name: what was measured.
        unit: of the samples.
        ours: samples of Cloche.
        bare: samples of the bare limit, taken in turns with ours; none where there is nothing to compare with.
        goal: judged on the ratio, or on our median where there is no bare.
    """
    our_median = statistics.median(ours)
    bare_median = statistics.median(bare) if bare else None
    ratio = our_median / bare_median if bare_median else None
    judged = our_median if ratio is None else ratio
    return Row(
        name=name,
        unit=unit,
        ours=round(our_median, 4),
        bare=None if bare_median is None else round(bare_median, 4),
        ratio=None if ratio is None else round(ratio, 3),
        goal=None if goal is None else str(goal),
        met=None if goal is None else goal.is_met(judged),
        n=len(ours),
    )


def milliseconds(seconds: Sequence[float]) -> list[float]:
    """Samples in seconds as samples in milliseconds."""
    return [1000 * sample for sample in seconds]


def overheads(ours: Sequence[float], bare: Sequence[float]) -> list[float]:
    """By how much ours are above bare, quantile by quantile."""
    return [a - b for a, b in zip(sorted(ours), sorted(bare), strict=True)]


def table(rows: Sequence[Row]) -> str:
    """The rows for people."""
    header = ("", "unit", "ours", "bare", "ratio", "goal", "", "n")
    lines = [header] + [
        (
            one.name,
            one.unit,
            f"{one.ours:.4g}",
            "" if one.bare is None else f"{one.bare:.4g}",
            "" if one.ratio is None else f"{one.ratio:.2f}",
            one.goal or "",
            {True: "met", False: "MISSED", None: ""}[one.met],
            str(one.n),
        )
        for one in rows
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in (0, 1, 6) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def write_report(host: dict[str, object], rows: Sequence[Row], path: Path = RESULTS) -> None:
    """Writes `{"host": …, "rows": […]}`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"host": host, "rows": [asdict(one) for one in rows]}, indent=2) + "\n")
