"""Who a client is: tokens checked against the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.domain.tokens import Scope, id_of
from cloche_hub.errors import Unauthenticated
from cloche_hub.services.tokens import Tokens
from cloche_hub.store.store import open_store
from tests.support.hub import Time


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
