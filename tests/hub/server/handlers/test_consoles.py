"""The request `console.open`: what is refused before anything runs. What consoles do is proven with the services."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import BadRequest, NotFound
from tests.support.hub import running_hub


@pytest.mark.parametrize(
    "params",
    [{"argv": []}, {"rows": 0}, {"cols": 1001}, {"term": "a b"}, {"cwd": "relative"}, {"user": "root;"}],
)
async def test_a_senseless_console_is_refused_and_not_recorded(
    tmp_path: Path, params: dict[str, object]
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        with pytest.raises(BadRequest, match=next(iter(params))):
            await client.call("console.open", sandbox="a", **params)
        assert hub.machine.agent.consoles == []
        assert await hub.events(AuditName.CONSOLE_OPENED) == []


async def test_a_console_in_no_sandbox_or_anothers_is_refused(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        with pytest.raises(NotFound):
            await client.call("console.open", sandbox="nothing")
        async with hub.client(await hub.mint("bob")) as bob:
            with pytest.raises(NotFound):
                await bob.call("console.open", sandbox="a")
        assert hub.machine.agent.consoles == []
