"""The table of requests: each is somebody's, each refuses what it does not know, and owners are kept apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.domain.tokens import POWERS, Reach, Scope
from cloche_hub.errors import BadRequest, Forbidden, NotFound, Unsupported
from cloche_hub.server.handlers import HANDLERS
from tests.support.hub import Client, running_hub

ABOUT_NO_SANDBOX = {
    "sandbox.create": "makes one",
    "sandbox.list": "lists the owner's own, which a test of its own looks at",
    "approval.show": "names an approval, which its own tests look at",
    "recording.show": "names a recording, which its own tests look at",
    "recording.read": "the same",
    "audit.read": "names events; test_audit_search has what owners get",
    "audit.search": "finds the owner's own, as the same test shows",
}
"""Requests that touch what an owner has and name no sandbox, and why."""

ABOUT_ONE_SANDBOX = [
    kind
    for kind, reach in POWERS[Scope.OWNER].items()
    if reach is Reach.OWN and kind in HANDLERS and kind not in ABOUT_NO_SANDBOX
]

SAMPLES: dict[str, object] = {
    "argv": ["true"],
    "path": "x",
    "to": "y",
    "target": "z",
    "mode": 0o600,
    "rows": 24,
    "cols": 80,
    "methods": ["*"],
    "registration": "r",
    "topics": ["sandbox"],
    "text": "x",
}
"""What a field of a request may hold; one that is required and not here is an error of the test, which says so."""


def test_every_request_is_allowed_to_somebody_and_every_power_is_a_request() -> None:
    assert set(HANDLERS) == set(POWERS[Scope.ADMIN])


async def test_a_request_nobody_knows_is_unsupported(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        with pytest.raises(Unsupported, match=r"knows no request 'sandbox\.levitate'"):
            await client.call("sandbox.levitate")
        with pytest.raises(Unsupported) as raised:
            await client.call("x" * 100_000)
        assert len(raised.value.message) < 300


async def test_a_field_nobody_knows_is_refused_by_every_request(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        for kind in HANDLERS:
            with pytest.raises(BadRequest, match="unknown field 'nonsense'"):
                await client.call(kind, nonsense=1)
        assert not hub.stop.is_set()


async def test_a_scope_is_refused_what_it_may_not_do_before_anything_is_looked_at(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        for scope in Scope:
            async with hub.client(await hub.mint("somebody", scope)) as client:
                for kind in HANDLERS.keys() - POWERS[scope].keys():
                    with pytest.raises(Forbidden, match=f"does not allow {kind}"):
                        await client.call(kind, nonsense=1)
                for kind in HANDLERS.keys() & POWERS[scope].keys():
                    with pytest.raises(BadRequest):
                        await client.call(kind, nonsense=1)


async def refusal(client: Client, kind: str, sandbox: str) -> str:
    """How a request about a sandbox is refused, given whatever else it asks for."""
    params: dict[str, object] = {"sandbox": sandbox}
    while True:
        try:
            answer = await client.call(kind, **params)
        except NotFound as error:
            return error.message.replace(sandbox, "…")
        except BadRequest as error:
            # It begins with the field that is missing.
            field = error.message.split()[0]
            if field not in SAMPLES.keys() - params.keys():
                raise
            params[field] = SAMPLES[field]
        else:
            pytest.fail(f"{kind} was answered: {answer}")


@pytest.mark.parametrize("kind", ABOUT_ONE_SANDBOX)
async def test_another_owners_sandbox_does_not_exist(tmp_path: Path, kind: str) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client(await hub.mint("alice")) as alice:
        made = await alice.create(name="secret-plan")
        async with hub.client(await hub.mint("bob")) as bob:
            for reference in ("secret-plan", made["id"], made["id"][:8]):
                # The very words with which something is refused that there never was.
                assert await refusal(bob, kind, reference) == await refusal(bob, kind, "nothing")
        assert (await alice.run("secret-plan", "true")).result["exit_code"] == 0


async def test_another_owners_sandboxes_are_in_no_list(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client(await hub.mint("alice")) as alice:
        await alice.create(name="secret-plan")
        async with hub.client(await hub.mint("bob")) as bob:
            for every in (False, True):
                assert (await bob.call("sandbox.list", all=every))["sandboxes"] == []


async def test_an_operator_reaches_everybodys_sandboxes(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client(await hub.mint("alice")) as alice:
        await alice.create(name="a")
        async with hub.client(await hub.mint("ops", Scope.OPERATOR)) as operator:
            assert (await operator.run("a", "echo", "hi")).stdout == b"hi\n"
            assert [one["owner"] for one in (await operator.call("sandbox.list"))["sandboxes"]] == ["alice"]
            assert (await operator.call("sandbox.remove", sandbox="a"))["state"] == "removed"
