"""Who a client is: tokens checked against the store, made and revoked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche_hub.domain.token_requests import TokenOrder
from cloche_hub.domain.tokens import Scope, Token, id_of
from cloche_hub.errors import Conflict, NoSpace, Unauthenticated, WrongState
from cloche_hub.services.tokens import Tokens
from cloche_hub.store.store import open_store
from tests.support.hub import FlakyStore, Time, until, within

ORDER = TokenOrder("laptop", "ann", Scope.OPERATOR)


async def test_the_first_admin_token_opens_the_hub_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    time = Time()
    async with open_store(tmp_path / "home") as store:
        tokens = Tokens(store, time.clock)
        text = await tokens.mint_admin(owner="me")
        token = await tokens.authenticate(text)
        assert (token.scope, token.owner, token.created_at) == (Scope.ADMIN, "me", time.now)
        assert await tokens.is_good(text)
        (event,) = await store.audit.tail(limit=5)
        assert (event.event, event.actor, event.detail["token"]) == ("token.created", "hub", token.id)
        assert text[-20:] not in str([token, event])


@pytest.mark.parametrize("text", ["", "clt_x", "clt_" + "0" * 12 + "_" + "0" * 52, "clt_" + "é" * 12])
async def test_what_is_no_token_of_this_hub_is_refused(tmp_path: Path, text: str) -> None:
    async with open_store(tmp_path / "home") as store:
        tokens = Tokens(store, Time().clock)
        with pytest.raises(Unauthenticated):
            await tokens.authenticate(text)
        assert not await tokens.is_good(text)


async def test_a_revoked_token_is_refused(tmp_path: Path) -> None:
    time = Time()
    async with open_store(tmp_path / "home") as store:
        tokens = Tokens(store, time.clock)
        text = await tokens.mint_admin(owner="me")
        await store.write(lambda transaction: transaction.revoke_token(id_of(text), at=time.now))
        with pytest.raises(Unauthenticated, match="revoked"):
            await tokens.authenticate(text)


class Told:
    """Tokens on a store that can fail, and what was told of those revoked."""

    def __init__(self, store: FlakyStore) -> None:
        self.store, self.time = store, Time()
        self.tokens = Tokens(store, self.time.clock)
        self.expelled: list[str] = []
        self.tokens.on_revoked(self.expelled.append)

    async def make(self, order: TokenOrder = ORDER) -> tuple[Token, str]:
        return await self.tokens.create(order, actor="tok_admin")


@contextlib.asynccontextmanager
async def told(folder: Path) -> AsyncIterator[Told]:
    async with open_store(folder / "home") as store:
        yield Told(FlakyStore(store))


async def test_a_token_that_is_made_opens_the_hub_and_is_audited_without_its_secret(tmp_path: Path) -> None:
    async with told(tmp_path) as hub:
        token, text = await hub.make()
        assert await hub.tokens.authenticate(text) == token
        (event,) = await hub.store.audit.tail(limit=5)
        assert (event.event, event.actor) == ("token.created", "tok_admin")
        assert event.detail == {"token": token.id, "name": "laptop", "owner": "ann", "scope": "operator"}
        assert text[-20:] not in str([token, event])


async def test_a_name_is_free_again_once_its_token_is_revoked(tmp_path: Path) -> None:
    async with told(tmp_path) as hub:
        token, _ = await hub.make()
        with pytest.raises(Conflict):
            await hub.make()
        await hub.tokens.revoke(token, actor="tok_admin")
        again, _ = await hub.make()
        assert [one.id for one in await hub.tokens.every()] == [again.id, token.id], "the good one first"


async def test_a_token_that_cannot_be_recorded_is_not_made(tmp_path: Path) -> None:
    async with told(tmp_path) as hub:
        hub.store.refuses = NoSpace("the disk is full")
        with pytest.raises(NoSpace):
            await hub.make()
        assert await hub.tokens.every() == []


async def test_a_revoked_token_opens_nothing_more_and_is_audited(tmp_path: Path) -> None:
    async with told(tmp_path) as hub:
        token, text = await hub.make()
        revoked = await hub.tokens.revoke(await hub.tokens.find("lap"), actor="tok_admin")
        assert (revoked.id, revoked.revoked_at) == (token.id, hub.time.now)
        with pytest.raises(Unauthenticated, match="was revoked on"):
            await hub.tokens.authenticate(text)
        event = (await hub.store.audit.tail(limit=1))[0]
        assert (event.event, event.actor, event.detail["token"]) == ("token.revoked", "tok_admin", token.id)
        with pytest.raises(WrongState, match="was revoked already"):
            await hub.tokens.revoke(token, actor="tok_admin")
        assert len(await hub.store.audit.tail(limit=5)) == 2, "what failed is not in the audit"


async def test_only_a_revoked_tokens_clients_are_expelled(tmp_path: Path) -> None:
    async with told(tmp_path) as hub:
        token, _ = await hub.make()
        hub.tokens.expel(token.id)
        assert hub.expelled == []
        await hub.tokens.revoke(token, actor="tok_admin")
        hub.tokens.expel(token.id)
        assert hub.expelled == [token.id]


async def test_a_revocation_that_cannot_be_recorded_leaves_the_token_good(tmp_path: Path) -> None:
    async with told(tmp_path) as hub:
        token, text = await hub.make()
        hub.store.refuses = NoSpace("the disk is full")
        with pytest.raises(NoSpace):
            await hub.tokens.revoke(token, actor="tok_admin")
        hub.tokens.expel(token.id)
        assert hub.expelled == []
        assert await hub.tokens.is_good(text)


async def test_a_row_read_before_a_revocation_lets_nobody_in_after_it(tmp_path: Path) -> None:
    async with told(tmp_path) as hub:
        token, text = await hub.make()
        real, has_read, gate = hub.store.token, asyncio.Event(), asyncio.Event()

        async def slowly(token_id: str) -> Token | None:
            row = await real(token_id)
            has_read.set()
            await gate.wait()
            return row

        hub.store.token = slowly  # type: ignore[method-assign]
        async with asyncio.TaskGroup() as tasks:
            entering = tasks.create_task(hub.tokens.is_good(text))
            await within(has_read.wait())
            await hub.tokens.revoke(token, actor="tok_admin")
            gate.set()
            assert not await within(entering)


async def test_a_revocation_whose_client_goes_away_is_carried_out_all_the_same(tmp_path: Path) -> None:
    async with told(tmp_path) as hub:
        await hub.make(TokenOrder("admin", "ann", Scope.ADMIN))
        token, text = await hub.make()
        hub.store.gate.clear()
        async with asyncio.TaskGroup() as tasks:
            revoking = tasks.create_task(hub.tokens.revoke(token, actor="tok_admin"))
            await until(lambda: hub.store.waiting)
            assert not await hub.tokens.is_good(text), "nobody comes in from the call on"
            revoking.cancel()
        assert not await hub.tokens.is_good(text)
        hub.tokens.expel(token.id)
        assert hub.expelled == [token.id]


async def test_of_two_last_admins_who_revoke_each_other_one_stays(tmp_path: Path) -> None:
    async with told(tmp_path) as hub:
        one, _ = await hub.make(TokenOrder("one", "ann", Scope.ADMIN))
        other, _ = await hub.make(TokenOrder("other", "ann", Scope.ADMIN))
        hub.store.gate.clear()
        async with asyncio.TaskGroup() as tasks:
            outcomes = tasks.create_task(_both(hub, one, other))
            await until(lambda: hub.store.waiting == 2)
            hub.store.gate.set()
        assert sorted(type(outcome).__name__ for outcome in outcomes.result()) == ["Token", "WrongState"]
        last, gone = await hub.tokens.every()
        assert (last.revoked_at, gone.revoked_at) == (None, hub.time.now)
        with pytest.raises(WrongState, match="the last good admin token"):
            await hub.tokens.revoke(last, actor="tok_admin")


async def _both(hub: Told, one: Token, other: Token) -> tuple[Token | BaseException, Token | BaseException]:
    return await asyncio.gather(
        hub.tokens.revoke(one, actor=other.id),
        hub.tokens.revoke(other, actor=one.id),
        return_exceptions=True,
    )
