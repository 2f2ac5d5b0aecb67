"""The request `console.screen`: what it takes. What it tells is in `services/consoles/test_looks`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cloche_hub.errors import BadRequest
from tests.support.hub import running_hub


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "sandbox is missing"),
        ({"sandbox": "a", "follow": 1}, "follow must be true or false"),
        ({"sandbox": "a", "console": ""}, "console must be a name or an id"),
        ({"sandbox": "a", "rows": 24}, "unknown field 'rows'"),
    ],
)
async def test_a_request_that_will_not_do_is_refused_by_the_fields_name(
    tmp_path: Path, params: dict[str, Any], said: str
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        with pytest.raises(BadRequest, match=said):
            await client.call("console.screen", **params)
