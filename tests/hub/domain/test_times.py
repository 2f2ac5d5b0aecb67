"""A moment has one spelling, and the spelling sorts like the moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.times import from_text, to_text

moments = st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - the zone is added


@given(moments)
def test_a_moment_reads_back_as_it_was_written(moment: datetime) -> None:
    assert from_text(to_text(moment)) == moment


@given(moments, moments)
def test_texts_sort_like_their_moments(one: datetime, other: datetime) -> None:
    assert (to_text(one) < to_text(other)) == (one < other)


def test_a_moment_of_another_zone_is_written_in_utc() -> None:
    there = timezone(timedelta(hours=2))
    assert to_text(datetime(2026, 1, 2, 3, 4, 5, tzinfo=there)) == "2026-01-02T01:04:05.000000Z"


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        to_text(datetime(2026, 1, 2))  # noqa: DTZ001 - the point of the test


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05.678901+00:00",
        "2026-01-02 03:04:05.678901Z",
        "2026-13-02T03:04:05.678901Z",
        "2026-01-02T03:04:05.678901Z\n",
        "٢026-01-02T03:04:05.678901Z",
        "",
    ],
)
def test_any_other_spelling_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_text(text)
