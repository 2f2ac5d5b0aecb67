"""Recordings of a hub without machines: in memory, with times that are counted and not measured."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from cloche_wire.aio import Channel
from cloche_wire.errors import BadRequest, NotFound
from tests.support.scripted_hub import Handler

THEN = "2026-01-02T03:04:05.678901Z"
_STEP_S = 0.25


class LocalRecording:
    """One recording; each event comes a quarter of a second after the one before.

    Attributes:
        fields: as clients are told of it.
        text: the asciicast so far.
    """

    def __init__(self, **fields: Any) -> None:
        self.fields: dict[str, Any] = {
            "kind": "console",
            "sandbox_name": "box",
            "owner": "admin",
            "title": "",
            "rows": 24,
            "cols": 80,
            "term": "xterm-256color",
            "command": None,
            "started_at": THEN,
            "ended_at": None,
            "duration_s": None,
            "size_bytes": None,
            "text_bytes": None,
            "sha256": None,
            "is_cut": False,
            **fields,
        }
        header = {"version": 2, "width": self.fields["cols"], "height": self.fields["rows"]}
        self.text = json.dumps(header).encode() + b"\n"
        self._at = 0.0

    def output(self, data: bytes) -> None:
        self._event("o", data.decode(errors="replace"))

    def resize(self, rows: int, cols: int) -> None:
        self._event("r", f"{cols}x{rows}")

    def finish(self) -> None:
        self.fields |= {
            "ended_at": THEN,
            "duration_s": self._at,
            "size_bytes": len(self.text),
            "text_bytes": len(self.text),
            "sha256": hashlib.sha256(self.text).hexdigest(),
        }

    def lines(self) -> list[tuple[float, str]]:
        """What was shown, line by line, with when."""
        shown = [json.loads(line) for line in self.text.splitlines()[1:]]
        return [(at, line) for at, code, data in shown if code == "o" for line in data.splitlines()]

    def _event(self, code: str, data: str) -> None:
        self._at += _STEP_S
        self.text += json.dumps([self._at, code, data]).encode() + b"\n"


class LocalRecordings:
    """`recording.…`, for whatever recordings a test or a console has made.

    Attributes:
        recordings: by their ids, in order.
    """

    def __init__(self) -> None:
        self.recordings: dict[str, LocalRecording] = {}
        self.handlers: dict[str, Handler] = {
            "recording.list": self._list,
            "recording.show": self._show,
            "recording.read": self._read,
            "recording.search": self._search,
        }

    def add(self, **fields: Any) -> LocalRecording:
        """A recording that begins."""
        name = f"rec_{len(self.recordings) + 1:04}"
        made = self.recordings[name] = LocalRecording(id=name, **fields)
        return made

    def _of(self, params: dict[str, Any]) -> list[LocalRecording]:
        sandbox = params.get("sandbox")
        newest = list(self.recordings.values())[::-1]
        return [one for one in newest if sandbox in (None, one.fields["sandbox"], one.fields["sandbox_name"])]

    def _find(self, reference: str) -> LocalRecording:
        for name, recording in self.recordings.items():
            if name.startswith(reference):
                return recording
        raise NotFound(f"no recording {reference!r}; `cloche record ls` lists them", recording=reference)

    async def _list(self, channel: Channel) -> None:
        found = [one.fields for one in self._of(channel.params)]
        limit = channel.params["limit"]
        channel.close({"recordings": found[:limit], "omitted": max(0, len(found) - limit)})

    async def _show(self, channel: Channel) -> None:
        channel.close(self._find(channel.params["recording"]).fields)

    async def _read(self, channel: Channel) -> None:
        text = self._find(channel.params["recording"]).text
        channel.accept()
        await channel.write(1, text)
        channel.close({"size_bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()})

    async def _search(self, channel: Channel) -> None:
        wanted = channel.params["text"]
        if not wanted:
            raise BadRequest("there is nothing to look for")
        hits = [
            {"recording": one.fields["id"], "at_s": at, "line": line}
            for one in self._of(channel.params)
            for at, line in one.lines()
            if wanted in line
        ]
        channel.close({"hits": hits[: channel.params["limit"]], "omitted": 0})
