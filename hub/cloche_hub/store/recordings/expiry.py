"""Which recordings go: those that are too old, then the oldest until the others fit. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from cloche_hub.ports import RecordingRow, Removed

AGE, SPACE = "age", "space"


def expired(
    oldest_first: Iterable[RecordingRow], *, before: datetime, excess_bytes: int
) -> Iterator[Removed]:
    """The recordings to delete, up to the first that may stay.

    Args:
        oldest_first: finished recordings, in the order in which they ended.
        before: what ended earlier is too old.
        excess_bytes: how much more all of them take than they may.
    """
    for row in oldest_first:
        is_old = row.ended_at is not None and row.ended_at < before
        if not is_old and excess_bytes <= 0:
            return
        excess_bytes -= row.size_bytes or 0
        yield Removed(row, AGE if is_old else SPACE)
