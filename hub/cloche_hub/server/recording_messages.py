"""Recordings as clients get them: plain msgpack maps. See `messages`."""

from __future__ import annotations

from typing import Any

from cloche_hub.domain.times import to_text
from cloche_hub.ports import Hit, RecordingRow


def recording_message(row: RecordingRow) -> dict[str, Any]:
    """A recording."""
    header = row.header
    return {
        "id": row.id,
        "kind": str(header.kind),
        "of": header.of,
        "sandbox": header.sandbox,
        "sandbox_name": header.sandbox_name,
        "owner": header.owner,
        "title": header.title,
        "rows": header.rows,
        "cols": header.cols,
        "term": header.term,
        "command": None if header.command is None else list(header.command),
        "started_at": to_text(header.started_at),
        "ended_at": row.ended_at and to_text(row.ended_at),
        "duration_s": row.duration_s,
        "size_bytes": row.size_bytes,
        "text_bytes": row.text_bytes,
        "sha256": row.sha256,
        "is_cut": row.is_cut,
    }


def hit_message(hit: Hit) -> dict[str, Any]:
    """A line that a search has found."""
    return {"recording": hit.recording, "at_s": hit.at_s, "line": hit.line}
