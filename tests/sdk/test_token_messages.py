"""What the hub answers about tokens, as typed values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cloche.errors import InternalError
from cloche.token_messages import TokenInfo

TOLD: dict[str, Any] = {
    "id": "tok_7k2m9qx4tn0c",
    "name": "laptop",
    "owner": "ann",
    "scope": "owner",
    "created_at": "2026-01-02T03:04:05.678901Z",
    "revoked_at": None,
}
AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def test_a_token_is_read_as_it_is_told() -> None:
    expected = TokenInfo("tok_7k2m9qx4tn0c", "laptop", "ann", "owner", AT, None)
    assert TokenInfo.parse({**TOLD, "newer": 1}) == expected
    assert TokenInfo.parse({**TOLD, "revoked_at": TOLD["created_at"]}).revoked_at == AT


@pytest.mark.parametrize("field", ["id", "name", "owner", "scope", "created_at"])
def test_what_is_missing_is_named(field: str) -> None:
    with pytest.raises(InternalError, match=f"token has {field} "):
        TokenInfo.parse({**TOLD, field: None})
