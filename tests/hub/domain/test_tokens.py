"""Tokens: spelling, checking, and what each scope may do."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from cloche_hub.domain.ids import ALPHABET
from cloche_hub.domain.tokens import (
    POWERS,
    Reach,
    Scope,
    Token,
    allows,
    authenticate,
    id_of,
    mint,
    require,
    visible_owner,
)
from cloche_hub.errors import Forbidden, Unauthenticated
from tests.hub.domain.examples import MOMENT


def token(scope: Scope = Scope.OWNER, owner: str = "ann") -> Token:
    return mint(name="laptop", owner=owner, scope=scope, at=MOMENT)[0]


def test_a_minted_tokens_text_leads_to_its_row_and_proves_it() -> None:
    stored, text = mint(name="laptop", owner="ann", scope=Scope.OWNER, at=MOMENT)
    assert id_of(text) == stored.id
    assert authenticate(text, stored) is stored
    assert stored == Token(stored.id, "laptop", "ann", Scope.OWNER, stored.secret_hash, MOMENT)


def test_only_the_hash_of_a_token_is_stored() -> None:
    stored, text = mint(name="laptop", owner="ann", scope=Scope.OWNER, at=MOMENT)
    secret = text.rpartition("_")[2]
    assert stored.secret_hash == hashlib.sha256(text.encode()).hexdigest()
    assert secret not in repr(stored)


def test_a_tokens_secret_has_at_least_256_bits() -> None:
    secret = mint(name="laptop", owner="ann", scope=Scope.OWNER, at=MOMENT)[1].rpartition("_")[2]
    assert set(secret) <= set(ALPHABET)
    assert len(secret) * 5 >= 256


@pytest.mark.parametrize(
    "text", ["", "clt_", "clt_x_y", "tok_000000000000", "clt_" + "0" * 12 + "_" + "0" * 51, "x" * 99999]
)
def test_what_is_no_token_is_refused_without_a_look_into_the_store(text: str) -> None:
    with pytest.raises(Unauthenticated, match="that is no token"):
        id_of(text)


def test_a_token_with_a_line_end_is_no_token() -> None:
    with pytest.raises(Unauthenticated):
        id_of(mint(name="laptop", owner="ann", scope=Scope.OWNER, at=MOMENT)[1] + "\n")


def test_an_unknown_id_and_a_wrong_secret_are_refused_in_the_same_words() -> None:
    stored, text = mint(name="laptop", owner="ann", scope=Scope.OWNER, at=MOMENT)
    wrong = text[:-1] + ("0" if text[-1] != "0" else "1")
    with pytest.raises(Unauthenticated) as unknown:
        authenticate(text, None)
    with pytest.raises(Unauthenticated) as mismatch:
        authenticate(wrong, stored)
    assert unknown.value.message == mismatch.value.message


def test_a_revoked_token_is_refused_and_told_so_only_with_the_right_secret() -> None:
    stored, text = mint(name="laptop", owner="ann", scope=Scope.OWNER, at=MOMENT)
    revoked = replace(stored, revoked_at=MOMENT)
    with pytest.raises(Unauthenticated, match=f"{stored.id} was revoked on 2026-01-02"):
        authenticate(text, revoked)
    with pytest.raises(Unauthenticated, match="does not know"):
        authenticate(text[:-2] + "zz", revoked)


def test_each_scope_may_do_all_the_smaller_one_may() -> None:
    assert POWERS[Scope.OWNER].keys() < POWERS[Scope.OPERATOR].keys() < POWERS[Scope.ADMIN].keys()


def test_only_an_admin_may_touch_the_hub_its_disk_its_policy_and_tokens() -> None:
    admins = POWERS[Scope.ADMIN].keys() - POWERS[Scope.OPERATOR].keys()
    tokens = {"token.create", "token.list", "token.revoke"}
    assert admins == {"hub.stop", "image.remove", "disk.prune", "policy.reload"} | tokens


def test_an_owner_may_use_its_own_sandboxes_only() -> None:
    anns = token(Scope.OWNER, "ann")
    assert allows(anns, "exec", owner="ann")
    assert not allows(anns, "exec", owner="bob")
    with pytest.raises(Forbidden, match="exec is allowed for what ann owns only; this belongs to bob"):
        require(anns, "exec", owner="bob")


@pytest.mark.parametrize("scope", [Scope.ADMIN, Scope.OPERATOR])
def test_admin_and_operator_may_use_anybodys_sandboxes(scope: Scope) -> None:
    require(token(scope, "ann"), "exec", owner="bob")


@pytest.mark.parametrize("scope", Scope)
def test_nobody_makes_sandboxes_in_anothers_name(scope: Scope) -> None:
    assert allows(token(scope, "ann"), "sandbox.create", owner="ann")
    assert not allows(token(scope, "ann"), "sandbox.create", owner="bob")


def test_a_refusal_says_which_scope_it_takes() -> None:
    with pytest.raises(
        Forbidden, match=r"has scope owner, which does not allow hub\.stop: it takes scope admin"
    ):
        require(token(Scope.OWNER), "hub.stop")
    with pytest.raises(Forbidden, match="it takes scope admin or operator"):
        require(token(Scope.OWNER), "audit.verify")


@pytest.mark.parametrize("scope", Scope)
def test_an_action_nobody_knows_is_allowed_to_nobody(scope: Scope) -> None:
    with pytest.raises(Forbidden, match="no scope allows it"):
        require(token(scope), "hub.explode")


def test_an_owner_sees_its_own_and_the_others_see_everything() -> None:
    assert visible_owner(token(Scope.OWNER, "ann"), "sandbox.list") == "ann"
    assert visible_owner(token(Scope.OPERATOR, "ann"), "sandbox.list") is None
    with pytest.raises(Forbidden):
        visible_owner(token(Scope.OWNER), "disk.usage")


def test_every_power_has_a_reach() -> None:
    assert {reach for powers in POWERS.values() for reach in powers.values()} == set(Reach)
