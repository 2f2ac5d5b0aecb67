"""The table of requests: each is somebody's, each refuses what it does not know, and owners are kept apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.domain.tokens import POWERS, Reach, Scope
from cloche_hub.errors import BadRequest, Forbidden, NotFound, Unsupported
from cloche_hub.server.handlers import HANDLERS
from tests.support.hub import Client, running_hub

ABOUT_ONE_SANDBOX = [
    kind
    for kind, reach in POWERS[Scope.OWNER].items()
]


def params_of(kind: str, sandbox: str) -> dict[str, object]:
    """What a request about a sandbox needs."""
    path = {"path": "x"} if kind.startswith("file.") else {}
    return {"sandbox": sandbox, **path, **_NEEDED.get(kind, {})}


_NEEDED: dict[str, dict[str, object]] = {
    "exec": {"argv": ["true"]},
    "file.rename": {"to": "y"},
    "file.set_mode": {"mode": 0o600},
    "file.link": {"target": "y"},
}


def test_every_request_is_allowed_to_somebody_and_every_power_is_a_request() -> None:
    powers = {kind for kind in POWERS[Scope.ADMIN] if not kind.startswith("token.")}
    assert set(HANDLERS) == powers


def test_every_request_about_one_sandbox_is_known_here() -> None:
    assert ABOUT_ONE_SANDBOX == [
        "sandbox.show",
        "sandbox.remove",
        "sandbox.boot_log",
        "exec",
        "console.open",
        "file.read",
        "file.write",
        "file.stat",
        "file.list",
        "file.make_dir",
        "file.remove",
        "file.rename",
        "file.set_mode",
        "file.link",
        "audit.tail",
    ]


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
    with pytest.raises(NotFound) as raised:
        await client.call(kind, **params_of(kind, sandbox))
    return raised.value.message.replace(sandbox, "…")


async def test_another_owners_sandbox_does_not_exist(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client(await hub.mint("alice")) as alice:
        made = await alice.create(name="secret-plan")
        async with hub.client(await hub.mint("bob")) as bob:
            for kind in ABOUT_ONE_SANDBOX:
                for reference in ("secret-plan", made["id"], made["id"][:8]):
                    # The very words with which something is refused that there never was.
                    assert await refusal(bob, kind, reference) == await refusal(bob, kind, "nothing")
            for every in (False, True):
                assert (await bob.call("sandbox.list", all=every))["sandboxes"] == []
        assert (await alice.run("secret-plan", "true")).result["exit_code"] == 0


async def test_an_operator_reaches_everybodys_sandboxes(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client(await hub.mint("alice")) as alice:
        await alice.create(name="a")
        async with hub.client(await hub.mint("ops", Scope.OPERATOR)) as operator:
            assert (await operator.run("a", "echo", "hi")).stdout == b"hi\n"
            assert [one["owner"] for one in (await operator.call("sandbox.list"))["sandboxes"]] == ["alice"]
            assert (await operator.call("sandbox.remove", sandbox="a"))["state"] == "removed"
