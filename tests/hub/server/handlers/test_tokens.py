"""Requests about tokens, through a whole hub on fakes: made, listed, and gone at once when they are revoked."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.tokens import Scope, Token
from cloche_hub.errors import CodedError, NotFound, Unauthenticated, WrongState
from tests.support.fake_images import FakeImages
from tests.support.hub import Client, RunningHub, running_hub, until, within


async def test_a_token_is_made_and_its_text_told_once(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as admin:
        made = await admin.call("token.create", name="laptop", owner="ann", scope="operator")
        row = await hub.token(made["text"])
        assert made["token"] == {
            "id": row.id,
            "name": "laptop",
            "owner": "ann",
            "scope": "operator",
            "created_at": made["token"]["created_at"],
            "revoked_at": None,
        }
        async with hub.client(made["text"]) as client:
            await client.call("hub.status")
        listed = await admin.call("token.list")
        assert [one["name"] for one in listed["tokens"]] == ["laptop", "first admin"]
        assert made["text"][-52:] not in str([listed, hub.logs, await hub.events()])


async def test_a_token_nobody_said_the_owner_of_is_its_makers(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client(await hub.mint("ann", Scope.ADMIN)) as admin:
        made = (await admin.call("token.create", name="x"))["token"]
        assert (made["owner"], made["scope"]) == ("ann", "owner")


async def test_a_list_that_no_frame_can_hold_says_how_many_are_missing(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", max_frame_bytes=4096) as hub, hub.client() as admin:
        for number in range(50):
            await hub.mint(f"owner-{number}")
        listed = await admin.call("token.list")
        assert 0 < len(listed["tokens"]) == 51 - listed["omitted"]


async def lost(client: Client) -> CodedError:
    """Why a client's link has ended."""
    error = await within(client.ended)
    assert isinstance(error, CodedError)
    return error


async def test_a_revoked_tokens_client_is_told_and_what_it_runs_ends(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as admin:
        text = await hub.mint("ann")
        token_id = (await hub.token(text)).id
        async with hub.client(text) as ann:
            await ann.create(name="a")
            await ann.exec("a", "cat", stdin=True)
            revoked = await admin.call("token.revoke", token=token_id)
            assert (revoked["name"], revoked["revoked_at"] is None) == ("test", False)
            error = await lost(ann)
            assert (error.code, "was revoked" in error.message) == ("unauthenticated", True)
            assert (await hub.happened(AuditName.EXEC_FAILED)).actor == token_id
            with pytest.raises(Unauthenticated, match="was revoked"):
                await ann.link()
        # The sandbox is its owner's, not the token's.
        assert (await admin.call("sandbox.show", sandbox="a"))["state"] == "running"


async def test_what_a_revoked_tokens_request_does_is_given_up(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", images=FakeImages(built=())) as hub, hub.client() as admin:
        text = await hub.mint("ann")
        hub.images.build_gate.clear()
        async with hub.client(text) as ann:
            ann.open("image.build", recipe="python")
            await until(lambda: hub.images.building)
            await admin.call("token.revoke", token=(await hub.token(text)).id)
            await until(lambda: not hub.images.building)


async def test_a_session_that_waits_for_its_client_ends_too(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", resume_grace_s=3600) as hub, hub.client() as admin:
        text = await hub.mint("ann")
        async with hub.client(text) as ann:
            await ann.create(name="a")
            await ann.exec("a", "cat", stdin=True)
            await ann.cut()
            await admin.call("token.revoke", token=(await hub.token(text)).id)
            await hub.happened(AuditName.EXEC_FAILED)
            with pytest.raises(Unauthenticated):
                await ann.link()


async def test_every_one_of_many_links_ends_and_nobody_elses(tmp_path: Path) -> None:
    async with (
        running_hub(tmp_path / "home") as hub,
        hub.client() as admin,
        contextlib.AsyncExitStack() as stack,
    ):
        text, other = await hub.mint("ann"), await hub.mint("bob")
        clients = [await stack.enter_async_context(hub.client(text)) for _ in range(24)]
        bob = await stack.enter_async_context(hub.client(other))
        await admin.call("token.revoke", token=(await hub.token(text)).id)
        assert {(await lost(client)).code for client in clients} == {"unauthenticated"}
        await bob.call("hub.status")


async def test_whoever_connects_while_its_token_is_revoked_is_out_afterwards(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as admin:
        for turns in range(0, 60, 5):
            text = await hub.mint("ann")
            row = await hub.token(text)
            async with asyncio.TaskGroup() as tasks:
                entering = tasks.create_task(_enter(hub, text))
                for _ in range(turns):
                    await asyncio.sleep(0)
                await admin.call("token.revoke", token=row.id)
            assert entering.result() == "unauthenticated"


async def _enter(hub: RunningHub, text: str) -> str:
    """Comes in and stays until it is out; returns why it is."""
    try:
        async with hub.client(text) as client:
            return (await lost(client)).code
    except CodedError as error:
        return error.code


async def test_a_row_read_before_the_revocation_begins_no_session_after_it(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as admin:
        text = await hub.mint("ann")
        row = await hub.token(text)
        real, has_read, gate = hub.store.token, asyncio.Event(), asyncio.Event()

        async def slowly(token_id: str) -> Token | None:
            found = await real(token_id)
            has_read.set()
            await gate.wait()
            return found

        hub.store.token = slowly  # type: ignore[method-assign]
        async with asyncio.TaskGroup() as tasks:
            entering = tasks.create_task(_enter(hub, text))
            await within(has_read.wait())
            await admin.call("token.revoke", token=row.id)
            gate.set()
            assert await within(entering) == "unauthenticated"


async def test_who_revokes_its_own_token_is_answered_and_then_out(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        text = await hub.mint("ann", Scope.ADMIN)
        async with hub.client(text) as admin, hub.client(text) as other:
            row = await hub.token(text)
            assert (await admin.call("token.revoke", token=row.id))["id"] == row.id
            assert {(await lost(client)).code for client in (admin, other)} == {"unauthenticated"}


async def test_the_last_admin_token_is_not_revoked(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as admin:
        await hub.mint("ann", Scope.OPERATOR)
        with pytest.raises(WrongState, match="cloche token create NAME --scope admin"):
            await admin.call("token.revoke", token="first admin")
        with pytest.raises(NotFound):
            await admin.call("token.revoke", token="nosuch")
        await admin.call("hub.status")


async def test_a_hub_whose_admin_token_was_revoked_makes_another_one_when_it_starts(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        was = hub.admin
        async with hub.client(await hub.mint("ann", Scope.ADMIN)) as admin:
            await admin.call("token.revoke", token="first admin")
    async with running_hub(tmp_path / "home") as hub, hub.client() as admin:
        assert hub.admin != was
        await admin.call("hub.status")
