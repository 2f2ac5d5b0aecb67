"""What the table modules share: running a statement, and maps in a column."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

Values: TypeAlias = Mapping[str, object] | Sequence[object]
"""Bound parameters: by name or by position."""


class Executes(Protocol):
    """Whatever runs a statement inside a change."""

    def execute(self, sql: str, values: Values = (), /) -> sqlite3.Cursor:
        """Runs one statement."""
        ...


class Fetches(Protocol):
    """Whatever reads what is committed."""

    async def fetch(self, sql: str, values: Values = ()) -> Sequence[sqlite3.Row]:
        """The rows of one query."""
        ...


def map_to_text(values: Mapping[str, object]) -> str:
    """A map as a column holds it."""
    return json.dumps(dict(values), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def text_to_map(text: str) -> Mapping[str, Any]:
    """A map from a column; read-only, as it is part of a frozen value."""
    return MappingProxyType(json.loads(text))
