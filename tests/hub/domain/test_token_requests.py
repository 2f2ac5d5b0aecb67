"""What is asked about tokens: which one to make, which one is meant, and which one may not go."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from cloche_hub.domain.token_requests import (
    TokenOrder,
    find_token,
    parse_token_order,
    require_another_admin,
    require_free_name,
)
from cloche_hub.domain.tokens import Scope, Token
from cloche_hub.errors import BadRequest, Conflict, NotFound, WrongState
from tests.hub.domain.examples import MOMENT


def token(
    number: str, name: str = "laptop", *, scope: Scope = Scope.OWNER, is_revoked: bool = False
) -> Token:
    at = MOMENT + timedelta(days=1) if is_revoked else None
    return Token(f"tok_{number}", name, "ann", scope, "0" * 64, MOMENT, at)


def test_an_order_says_name_owner_and_scope() -> None:
    order = parse_token_order({"name": "ci runner", "owner": "bob", "scope": "operator"}, caller="ann")
    assert order == TokenOrder("ci runner", "bob", Scope.OPERATOR)


def test_an_order_that_says_little_is_for_the_caller_and_for_the_least_scope() -> None:
    # Whatever the hub calls its user is good enough for that user.
    assert parse_token_order({"name": "x"}, caller="dom\\ann") == TokenOrder("x", "dom\\ann", Scope.OWNER)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "name is missing"),
        ({"name": ""}, "name '' will not do"),
        ({"name": "x" * 65}, "will not do"),
        ({"name": " x"}, "no spaces at its ends"),
        ({"name": "a\nb"}, "on one line"),
        ({"name": "tok_x"}, "does not start like an id"),
        ({"name": "clt_x"}, "does not start like an id"),
        ({"name": "x", "scope": "root"}, "scope must be one of admin, operator, owner, not 'root'"),
        ({"name": "x", "owner": "*"}, "owner '\\*' will not do"),
        ({"name": "x", "owner": "a b"}, "will not do"),
        ({"name": "x", "owner": "x" * 65}, "will not do"),
        ({"name": "x", "power": 1}, "unknown field 'power'"),
    ],
)
def test_an_order_that_will_not_do_is_told_why(params: dict[str, object], words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        parse_token_order(params, caller="ann")


TOKENS = [
    token("aaa1", "laptop"),
    token("aab2", "ci"),
    token("abc3", "laptop", is_revoked=True),
    token("bbb4", "laptop-old", is_revoked=True),
]


@pytest.mark.parametrize(
    ("reference", "number"),
    [
        ("tok_aab2", "aab2"),
        ("laptop", "aaa1"),
        ("ci", "aab2"),
        ("c", "aab2"),
        ("tok_aaa", "aaa1"),
        ("laptop-", "bbb4"),
        ("tok_abc3", "abc3"),
        ("tok_b", "bbb4"),
    ],
)
def test_a_token_is_meant_by_id_name_or_beginning_and_good_ones_first(reference: str, number: str) -> None:
    assert find_token(reference, TOKENS).id == f"tok_{number}"


def test_several_tokens_are_listed_and_not_all_of_many() -> None:
    with pytest.raises(BadRequest, match=r"any of: laptop \(tok_aaa1\), ci \(tok_aab2\); give") as raised:
        find_token("tok_aa", TOKENS)
    assert raised.value.details["candidates"] == ["tok_aaa1", "tok_aab2"]
    with pytest.raises(BadRequest, match="and 4 more; give"):
        find_token("tok_", [token(f"{number:04}") for number in range(12)])


def test_nothing_means_nothing() -> None:
    with pytest.raises(BadRequest, match="must not be empty"):
        find_token("", TOKENS)
    with pytest.raises(NotFound, match="cloche token ls"):
        find_token("nosuch", TOKENS)


def test_a_tokens_text_given_by_mistake_is_not_repeated() -> None:
    with pytest.raises(NotFound) as raised:
        find_token("clt_7k2m9qx4tn0c_" + "z" * 52, TOKENS)
    assert "z" not in raised.value.message


def test_only_a_good_tokens_name_is_taken() -> None:
    require_free_name("laptop-old", TOKENS)
    with pytest.raises(Conflict, match=r"'ci' already \(tok_aab2\)"):
        require_free_name("ci", TOKENS)


def test_the_last_good_admin_token_stays() -> None:
    admin, other = token("adm1", "first admin", scope=Scope.ADMIN), token("adm2", "x", scope=Scope.ADMIN)
    require_another_admin(admin, [admin, other])
    require_another_admin(TOKENS[0], TOKENS)
    for others in ([], [replace(other, revoked_at=MOMENT)], TOKENS):
        with pytest.raises(WrongState, match=r"first admin \(tok_adm1\) is the last good admin token"):
            require_another_admin(admin, [admin, *others])
