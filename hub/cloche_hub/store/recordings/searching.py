"""Recordings looked through for a text, one after another, until there are hits enough or the time is over.

Blocking: for threads. Who waits for it no longer says so by `is_over`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from cloche_hub.errors import NotFound, StoreFailed
from cloche_hub.ports import Found, Hit
from cloche_hub.store.recordings.reading import text_lines
from cloche_hub.store.recordings.shown import shown_lines

EXCERPT_CHARS = 240
"""Of a line that is longer."""


class Wanted:
    """A text to look for: whatever its case, unless it has capitals."""

    def __init__(self, text: str) -> None:
        flags = re.NOFLAG if any(map(str.isupper, text)) else re.IGNORECASE
        self._pattern = re.compile(re.escape(text), flags)

    def excerpt(self, line: str) -> str | None:
        """The line, or of a long one what is around the text; None where it is not in it."""
        found = self._pattern.search(line)
        if found is None or len(line) <= EXCERPT_CHARS:
            return line if found else None
        spare = max(0, EXCERPT_CHARS - (found.end() - found.start()))
        start = max(0, min(found.start() - spare // 2, len(line) - EXCERPT_CHARS))
        end = start + EXCERPT_CHARS
        return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def search_files(
    wanted: Wanted, files: Sequence[tuple[str, Path, bool]], *, limit: int, is_over: Callable[[], bool]
) -> Found:
    """The lines of recordings that are wanted, in the order of the recordings. Blocking.

    Args:
        wanted: what to look for.
        files: each recording's id, its file, and whether it is finished.
        limit: at most so many hits.
        is_over: asked again and again whether the time is.
    """
    hits: list[Hit] = []
    for number, (recording_id, path, is_finished) in enumerate(files):
        if is_over() or len(hits) >= limit:
            return Found(tuple(hits), len(files) - number)
        with closing(text_lines(path, is_finished=is_finished)) as cast_lines:
            try:
                for shown in shown_lines(cast_lines):
                    if shown is None:
                        # Lets the event loop in at once, which would otherwise wait for its turn of the interpreter.
                        time.sleep(0)
                        if is_over():
                            return Found(tuple(hits), len(files) - number)
                    elif (line := wanted.excerpt(shown[1])) is not None:
                        if len(hits) >= limit:
                            return Found(tuple(hits), len(files) - number)
                        hits.append(Hit(recording_id, shown[0], line))
            except (NotFound, StoreFailed, ValueError):
                # It was removed meanwhile, or is damaged: the others are worth having.
                continue
    return Found(tuple(hits), 0)
