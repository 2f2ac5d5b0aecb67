"""The table of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from cloche_hub.domain.tokens import Scope, mint
from cloche_hub.errors import NotFound, WrongState
from cloche_hub.store import tokens
from tests.hub.domain.examples import MOMENT
from tests.hub.store.memory import Memory, memory

TOKEN, TEXT = mint(name="laptop", owner="ann", scope=Scope.OWNER, at=MOMENT)
LATER = MOMENT + timedelta(days=1)


@pytest.fixture
def database() -> Iterator[Memory]:
    with memory() as opened:
        yield opened


async def test_a_token_reads_back_as_it_was_written(database: Memory) -> None:
    revoked = replace(TOKEN, id="tok_x", created_at=LATER, revoked_at=LATER)
    tokens.insert(database, revoked)
    tokens.insert(database, TOKEN)
    assert await tokens.fetch_one(database, TOKEN.id) == TOKEN
    assert await tokens.fetch_all(database) == [TOKEN, revoked]
    assert tokens.every(database) == [TOKEN, revoked]


async def test_an_unknown_token_is_nobody(database: Memory) -> None:
    assert await tokens.fetch_one(database, "tok_x") is None


async def test_a_secret_is_nowhere_in_the_database(database: Memory) -> None:
    tokens.insert(database, TOKEN)
    assert TEXT.rpartition("_")[2] not in "\n".join(database.connection.iterdump())


async def test_a_token_is_revoked_once(database: Memory) -> None:
    tokens.insert(database, TOKEN)
    assert tokens.revoke(database, TOKEN.id, at=MOMENT) == replace(TOKEN, revoked_at=MOMENT)
    with pytest.raises(WrongState, match="was revoked already, on 2026-01-02"):
        tokens.revoke(database, TOKEN.id, at=LATER)
    assert await tokens.fetch_one(database, TOKEN.id) == replace(TOKEN, revoked_at=MOMENT)


def test_only_a_token_that_exists_can_be_revoked(database: Memory) -> None:
    with pytest.raises(NotFound, match="no token 'tok_x'"):
        tokens.revoke(database, "tok_x", at=MOMENT)
