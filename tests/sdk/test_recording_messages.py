"""What the hub says of recordings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cloche.errors import InternalError
from cloche.recording_messages import RecordingHit, RecordingInfo

AT = "2026-01-02T03:04:05.678901Z"
THEN = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
RECORDING: dict[str, Any] = {
    "id": "rec_1", "kind": "exec", "of": "ex_1", "sandbox": "sb_1", "sandbox_name": "box", "owner": "ann",
    "title": "make", "rows": 24, "cols": 80, "term": "xterm", "command": ["make"], "started_at": AT, "ended_at": AT,
    "duration_s": 2, "size_bytes": 10, "text_bytes": 20, "sha256": "ab", "is_cut": True,
}  # fmt: skip
LATER = ("command", "ended_at", "duration_s", "size_bytes", "text_bytes", "sha256")


def test_a_recording_is_read_field_by_field() -> None:
    assert RecordingInfo.parse({**RECORDING, "novelty": 1}) == RecordingInfo(
        "rec_1", "exec", "ex_1", "sb_1", "box", "ann", "make", 24, 80, "xterm", ("make",), THEN, THEN, 2.0, 10, 20,
        "ab", True,
    )  # fmt: skip


def test_one_under_way_has_no_end_yet() -> None:
    young = RecordingInfo.parse({**RECORDING, **dict.fromkeys(LATER)})
    assert [getattr(young, name) for name in LATER] == [None] * len(LATER)


@pytest.mark.parametrize("key", sorted(RECORDING))
def test_a_field_of_another_type_is_named(key: str) -> None:
    with pytest.raises(InternalError, match=key):
        RecordingInfo.parse({**RECORDING, key: b"x"})


def test_a_hit_has_its_recording_its_time_and_its_line() -> None:
    assert RecordingHit.parse({"recording": "rec_1", "at_s": 3, "line": "x"}) == RecordingHit(
        "rec_1", 3.0, "x"
    )
    with pytest.raises(InternalError, match="line"):
        RecordingHit.parse({"recording": "rec_1", "at_s": 3})
