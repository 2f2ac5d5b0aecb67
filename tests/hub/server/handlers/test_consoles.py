"""Requests about consoles: what is refused before anything happens. What consoles do is proven with the services."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import BadRequest, NotFound
from tests.support.consoles import create
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
            await client.call("console.create", sandbox="a", **params)
        assert hub.machine.agent.consoles == []
        assert await hub.events(AuditName.CONSOLE_OPENED) == []


@pytest.mark.parametrize("kind", ["console.create", "console.close", "console.attach"])
async def test_a_console_in_no_sandbox_or_anothers_is_refused(tmp_path: Path, kind: str) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        with pytest.raises(NotFound):
            await client.call(kind, sandbox="nothing")
        async with hub.client(await hub.mint("bob")) as bob:
            with pytest.raises(NotFound):
                await bob.call(kind, sandbox="a")
        assert len(hub.machine.agent.consoles) == 1


@pytest.mark.parametrize(
    ("kind", "params", "words"),
    [
        ("console.list", {"sandbox": "a", "all": True}, "unknown field 'all'"),
        ("console.list", {"ended": 1}, "ended must be true or false"),
        ("console.close", {"sandbox": "a", "console": ""}, "console must be"),
        ("console.attach", {"sandbox": "a", "mode": "steal"}, "mode"),
        ("console.attach", {"sandbox": "a", "scrollback": -1}, "scrollback"),
    ],
)
async def test_a_senseless_request_is_refused(
    tmp_path: Path, kind: str, params: dict[str, object], words: str
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        with pytest.raises(BadRequest, match=words):
            await client.call(kind, **params)


@pytest.mark.parametrize("kind", ["console.close", "console.attach"])
async def test_a_console_that_is_not_there_is_not_found(tmp_path: Path, kind: str) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        with pytest.raises(NotFound, match="no console 'nope'"):
            await client.call(kind, sandbox="a", console="nope")
