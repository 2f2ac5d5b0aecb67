"""Recordings as clients get them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from cloche_hub.ports import Header, Hit, RecordingKind, RecordingRow
from cloche_hub.server.recording_messages import hit_message, recording_message
from tests.hub.domain.examples import MOMENT

ROW = RecordingRow(
    Header(
        id="rec_1",
        kind=RecordingKind.CONSOLE,
        of="con_1",
        sandbox="sb_1",
        sandbox_name="a",
        owner="ann",
        title="a/1",
        rows=24,
        cols=80,
        term="xterm",
        command=("vim", "x"),
        started_at=MOMENT,
    ),
    ended_at=MOMENT + timedelta(seconds=2),
    duration_s=1.5,
    size_bytes=100,
    text_bytes=200,
    sha256="ab",
    is_cut=True,
)


def test_a_recording_is_told_with_all_its_fields() -> None:
    assert recording_message(ROW) == {
        "id": "rec_1",
        "kind": "console",
        "of": "con_1",
        "sandbox": "sb_1",
        "sandbox_name": "a",
        "owner": "ann",
        "title": "a/1",
        "rows": 24,
        "cols": 80,
        "term": "xterm",
        "command": ["vim", "x"],
        "started_at": "2026-01-02T03:04:05.678901Z",
        "ended_at": "2026-01-02T03:04:07.678901Z",
        "duration_s": 1.5,
        "size_bytes": 100,
        "text_bytes": 200,
        "sha256": "ab",
        "is_cut": True,
    }


def test_a_recording_of_a_shell_that_is_under_way_says_only_what_is_known() -> None:
    told = recording_message(RecordingRow(replace(ROW.header, command=None)))
    assert {name for name, value in told.items() if value is None} == {
        *("command", "ended_at", "duration_s", "size_bytes", "text_bytes", "sha256")
    }
    assert told["is_cut"] is False


def test_a_hit_says_where_and_when() -> None:
    assert hit_message(Hit("rec_1", 1.5, "$ make")) == {"recording": "rec_1", "at_s": 1.5, "line": "$ make"}
