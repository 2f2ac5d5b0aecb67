"""The hub's tokens from Python."""

from __future__ import annotations

import asyncio

import pytest

from cloche.aio import Hub
from cloche.errors import InternalError, Unauthenticated, WrongState
from cloche.token_messages import TokenInfo
from cloche_wire.aio import Channel
from tests.sdk.test_token_messages import TOLD
from tests.support.local_hub import LocalHub
from tests.support.scripted_hub import answer, refuse


async def test_a_token_is_made_and_told_with_its_text(hub: LocalHub, client: Hub) -> None:
    hub.handlers["token.create"] = answer({"token": TOLD, "text": "clt_x_y"})
    assert await client.tokens.create("laptop") == (TokenInfo.parse(TOLD), "clt_x_y")
    await client.tokens.create("ci", owner="bob", scope="operator")
    assert [params for _, params in hub.asked] == [
        {"name": "laptop", "scope": "owner"},
        {"name": "ci", "owner": "bob", "scope": "operator"},
    ]


async def test_an_answer_without_the_text_is_odd(hub: LocalHub, client: Hub) -> None:
    hub.handlers["token.create"] = answer({"token": TOLD})
    with pytest.raises(InternalError, match="new token has text"):
        await client.tokens.create("laptop")


async def test_tokens_are_listed_and_revoked(hub: LocalHub, client: Hub) -> None:
    hub.handlers["token.list"] = answer({"tokens": [TOLD], "omitted": 0})
    hub.handlers["token.revoke"] = answer({**TOLD, "revoked_at": TOLD["created_at"]})
    assert await client.tokens.list() == [TokenInfo.parse(TOLD)]
    assert (await client.tokens.revoke("lap")).revoked_at is not None
    assert hub.asked[-1] == ("token.revoke", {"token": "lap"})


async def test_a_refusal_is_its_own_error(hub: LocalHub, client: Hub) -> None:
    hub.handlers["token.revoke"] = refuse(WrongState("the last good admin token"))
    with pytest.raises(WrongState):
        await client.tokens.revoke("first admin")


async def test_a_client_whose_token_is_revoked_gets_that_from_everything(hub: LocalHub, client: Hub) -> None:
    asked = asyncio.Event()

    async def never(_channel: Channel) -> None:
        asked.set()
        await asyncio.Event().wait()

    hub.handlers["hub.status"] = never
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(_refusal(client))
        await asked.wait()
        # As a hub does that has revoked it: the session is gone, and the token opens nothing.
        hub.token = "another"
        hub.forget()
        hub.cut()
        assert (await waiting).code == "unauthenticated"
        assert (await _refusal(client)).code == "unauthenticated"


async def _refusal(client: Hub) -> Unauthenticated:
    with pytest.raises(Unauthenticated) as raised:
        await client.status()
    return raised.value
