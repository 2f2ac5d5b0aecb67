"""Which recordings go, and why."""

from __future__ import annotations

from datetime import timedelta

from cloche_hub.ports import RecordingRow
from cloche_hub.store.recordings.expiry import expired
from tests.support.casts import STARTED, header

ROWS = [
    RecordingRow(header(id=f"rec_{day}"), ended_at=STARTED + timedelta(days=day), size_bytes=100)
    for day in range(5)
]


def gone(*, days: int, excess: int) -> list[tuple[str, str]]:
    before = STARTED + timedelta(days=days)
    return [(one.row.id, one.reason) for one in expired(ROWS, before=before, excess_bytes=excess)]


def test_what_is_young_and_fits_stays() -> None:
    assert gone(days=0, excess=0) == []
    assert gone(days=-9, excess=-1000) == []


def test_what_ended_too_long_ago_goes() -> None:
    assert gone(days=2, excess=0) == [("rec_0", "age"), ("rec_1", "age")]


def test_the_oldest_go_until_the_others_fit() -> None:
    assert gone(days=0, excess=1) == [("rec_0", "space")]
    assert gone(days=0, excess=100) == [("rec_0", "space")]
    assert gone(days=0, excess=101) == [("rec_0", "space"), ("rec_1", "space")]


def test_what_goes_for_its_age_makes_room() -> None:
    assert gone(days=1, excess=150) == [("rec_0", "age"), ("rec_1", "space")]
