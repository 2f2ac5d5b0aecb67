"""What the hub answers about tokens, as typed values. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from cloche.answers import Answer


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """What the hub knows of a token: everything but its text, which nobody can recover."""

    id: str
    """`tok_…`: who acted, in the audit."""
    name: str
    owner: str
    """Whose sandboxes it makes, and sees unless its scope is wider."""
    scope: str
    """admin, operator or owner."""
    created_at: datetime
    revoked_at: datetime | None
    """None while it is good."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("token", value)
        return cls(
            id=read.text("id"),
            name=read.text("name"),
            owner=read.text("owner"),
            scope=read.text("scope"),
            created_at=read.moment("created_at"),
            revoked_at=read.optional("revoked_at", read.moment),
        )
