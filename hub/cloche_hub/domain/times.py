"""Points in time as text: UTC, always six digits of a second, always `Z`.

One spelling a moment: texts sort like their moments, and the audit chain hashes them (`audit`).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


def to_text(moment: datetime) -> str:
    """`2026-01-02T03:04:05.678901Z`.

    Raises:
        ValueError: the moment has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def from_text(text: str) -> datetime:
    """The moment `to_text` wrote.

    Raises:
        ValueError: the text is not in exactly that form.
    """
    if not _FORM.fullmatch(text):
        raise ValueError(f"{text!r} is not a time like 2026-01-02T03:04:05.678901Z")
    return datetime.fromisoformat(text)
