"""Recordings for tests: headers, and asciicast text judged by what its format says.

The format: https://docs.asciinema.org/manual/asciicast/v2/
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from cloche_hub.ports import Header, RecordingKind

STARTED = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def header(**changes: Any) -> Header:
    """A recording's header; what is not given is some good value."""
    fields: dict[str, Any] = {
        "id": "rec_7k2m9qx4tn0c",
        "kind": RecordingKind.CONSOLE,
        "of": "con_7k2m9qx4tn0c",
        "sandbox": "sb_1",
        "sandbox_name": "mossy-acorn",
        "owner": "ann",
        "title": "shell",
        "rows": 24,
        "cols": 80,
        "term": "xterm-256color",
        "command": None,
        "started_at": STARTED,
    }
    return Header(**fields | changes)


def parse_cast(text: bytes) -> tuple[dict[str, Any], list[tuple[float, str, str]]]:
    """The header and the events of an asciicast v2; asserts everything the format says of them."""
    assert text.endswith(b"\n")
    first, *lines = text.decode("utf-8").removesuffix("\n").split("\n")
    told = json.loads(first)
    assert (type(told), told["version"]) == (dict, 2)
    assert type(told["width"]) is type(told["height"]) is type(told["timestamp"]) is int
    assert all(isinstance(told.get(name, ""), str) for name in ("command", "title"))
    assert all(isinstance(value, str) for value in told["env"].values())
    events: list[tuple[float, str, str]] = []
    for line in lines:
        # Readers that end lines where Unicode does must find the same ones.
        assert len(line.splitlines()) == 1
        at_s, code, data = json.loads(line)
        assert isinstance(at_s, int | float)
        assert at_s >= (events[-1][0] if events else 0)
        assert code in ("o", "r", "m")
        assert isinstance(data, str)
        assert code != "r" or re.fullmatch(r"[1-9]\d*x[1-9]\d*", data)
        events.append((float(at_s), code, data))
    return told, events


def shown(text: bytes) -> str:
    """All that an asciicast shows."""
    return "".join(data for _, code, data in parse_cast(text)[1] if code == "o")
