"""The request `exec`: what is refused before anything runs. What commands do is proven with the services."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import BadRequest, NotFound
from tests.support.hub import running_hub


@pytest.mark.parametrize(
    "params",
    [
        {"argv": []},
        {"argv": "true"},
        {"argv": ["true"], "cwd": "relative"},
        {"argv": ["true"], "user": "root;"},
        {"argv": ["true"], "timeout_s": 0},
        {"argv": ["true"], "env": {"A=B": "c"}},
        {"argv": ["a\0b"]},
    ],
)
async def test_a_senseless_command_is_refused_and_not_recorded(
    tmp_path: Path, params: dict[str, object]
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        with pytest.raises(BadRequest):
            await client.call("exec", sandbox="a", **params)
        assert hub.machine.agent.execs == []
        assert await hub.events(AuditName.EXEC_STARTED) == []


async def test_a_command_for_no_sandbox_is_refused(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        with pytest.raises(NotFound):
            await client.call("exec", sandbox="nothing", argv=["true"])
        with pytest.raises(BadRequest, match="sandbox"):
            await client.call("exec", argv=["true"])
