"""The requests about files: what is refused before the guest hears of it. What they do is proven with the services."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import BadRequest, NotFound
from tests.support.hub import running_hub

NEEDED: dict[str, dict[str, object]] = {
    "read": {},
    "write": {},
    "stat": {},
    "list": {},
    "make_dir": {},
    "remove": {},
    "rename": {"to": "g"},
    "set_mode": {"mode": 0o600},
    "link": {"target": "g"},
}


@pytest.mark.parametrize("kind", NEEDED)
async def test_a_senseless_request_is_refused_by_the_fields_name(tmp_path: Path, kind: str) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        before = dict(hub.machine.agent.files.tree)
        for wrong in ({"path": ""}, {"path": "a\0"}, {"path": "x" * 4096}, {"path": 5}, {"user": "a b"}):
            with pytest.raises(BadRequest, match=next(iter(wrong))):
                await client.call(f"file.{kind}", **{"sandbox": "a", "path": "f", **NEEDED[kind], **wrong})
        with pytest.raises(BadRequest, match="sandbox is missing"):
            await client.call(f"file.{kind}", path="f", **NEEDED[kind])
        assert hub.machine.agent.files.tree == before
        assert await hub.events(AuditName.FILE_FAILED) == []


@pytest.mark.parametrize("kind", NEEDED)
async def test_files_of_a_sandbox_that_is_not_there_or_anothers_do_not_exist(
    tmp_path: Path, kind: str
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        async with hub.client(await hub.mint("bob")) as bob:
            with pytest.raises(NotFound) as foreign:
                await bob.call(f"file.{kind}", sandbox="a", path="f", **NEEDED[kind])
            with pytest.raises(NotFound) as nothing:
                await bob.call(f"file.{kind}", sandbox="b", path="f", **NEEDED[kind])
        assert foreign.value.message.replace("'a'", "'b'") == nothing.value.message
