"""Tokens: how they are spelt, how they are checked, and what each scope may do.

A token reads `clt_<12 letters>_<52 letters>`: the first part finds its row, the second is 260 random bits.
Only sha256 of the whole text is stored: with that many random bits, a slow hash would protect nothing.

Rule: what a scope may do is the table `POWERS`; an action that is not in it is nobody's.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from types import MappingProxyType

from cloche_hub.domain.ids import ALPHABET, ID_LENGTH, new_id, random_letters
from cloche_hub.errors import Forbidden, Unauthenticated

SECRET_LENGTH = 52
"""Letters of 5 bits each: 260 bits."""

_FORM = re.compile(rf"clt_([{ALPHABET}]{{{ID_LENGTH}}})_[{ALPHABET}]{{{SECRET_LENGTH}}}")
# What a wrong id is compared with, so that it takes as long as a wrong secret.
_NOBODY = "0" * 64


class Scope(StrEnum):
    """How far a token reaches."""

    ADMIN = "admin"
    """Everything, tokens and the hub itself included."""
    OPERATOR = "operator"
    """Every sandbox of everybody, but neither tokens nor the hub's own life and disk."""
    OWNER = "owner"
    """Its owner's sandboxes."""


class Reach(Enum):
    """Whose things an action may touch."""

    OWN = "own"
    ANY = "any"


_OF_OWNERS = {
    "hub.status": Reach.ANY,
    "sandbox.create": Reach.OWN,
    "sandbox.list": Reach.OWN,
    "sandbox.show": Reach.OWN,
    "sandbox.remove": Reach.OWN,
    "sandbox.boot_log": Reach.OWN,
    "exec": Reach.OWN,
    "console.create": Reach.OWN,
    "console.list": Reach.OWN,
    "console.close": Reach.OWN,
    "console.attach": Reach.OWN,
    "console.screen": Reach.OWN,
    "recording.list": Reach.OWN,
    "recording.show": Reach.OWN,
    "recording.read": Reach.OWN,
    "recording.search": Reach.OWN,
    "file.read": Reach.OWN,
    "file.write": Reach.OWN,
    "file.stat": Reach.OWN,
    "file.list": Reach.OWN,
    "file.make_dir": Reach.OWN,
    "file.remove": Reach.OWN,
    "file.rename": Reach.OWN,
    "file.set_mode": Reach.OWN,
    "file.link": Reach.OWN,
    "callback.serve": Reach.OWN,
    "approval.list": Reach.OWN,
    "approval.show": Reach.OWN,
    "image.build": Reach.ANY,
    "image.list": Reach.ANY,
    "audit.tail": Reach.OWN,
    "audit.read": Reach.OWN,
    "audit.search": Reach.OWN,
    "events": Reach.OWN,
}
_OF_OPERATORS = {
    **dict.fromkeys(_OF_OWNERS, Reach.ANY),
    "sandbox.create": Reach.OWN,
    "approval.approve": Reach.ANY,
    "approval.deny": Reach.ANY,
    "disk.usage": Reach.ANY,
    "audit.verify": Reach.ANY,
    "audit.export": Reach.ANY,
    "policy.show": Reach.ANY,
    "policy.check": Reach.ANY,
}
_OF_ADMINS = {
    **_OF_OPERATORS,
    "hub.stop": Reach.ANY,
    "image.remove": Reach.ANY,
    "disk.prune": Reach.ANY,
    "policy.reload": Reach.ANY,
    "token.create": Reach.ANY,
    "token.list": Reach.ANY,
    "token.revoke": Reach.ANY,
}
POWERS: Mapping[Scope, Mapping[str, Reach]] = MappingProxyType(
    {
        Scope.ADMIN: MappingProxyType(_OF_ADMINS),
        Scope.OPERATOR: MappingProxyType(_OF_OPERATORS),
        Scope.OWNER: MappingProxyType(_OF_OWNERS),
    }
)
"""Scope → action (the kind of a request) → whose things it may touch."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token as the store knows it: everything but its secret."""

    id: str
    """`tok_…`; the actor in audit events."""
    name: str
    """What it is for, in its maker's words."""
    owner: str
    """Whose sandboxes it makes."""
    scope: Scope
    secret_hash: str
    """sha256 hex of the token's whole text."""
    created_at: datetime
    revoked_at: datetime | None = None


def mint(*, name: str, owner: str, scope: Scope, at: datetime) -> tuple[Token, str]:
    """A fresh token: what to store, and the text to hand out, which nobody can recover later."""
    token_id = new_id("tok")
    text = f"clt_{token_id.removeprefix('tok_')}_{random_letters(SECRET_LENGTH)}"
    return Token(token_id, name, owner, scope, _hash(text), at), text


def id_of(text: str) -> str:
    """The id of the row to look up for a token's text.

    Raises:
        Unauthenticated: it is not a token at all.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise Unauthenticated(
            "that is no token: one looks like clt_…; set CLOCHE_TOKEN, or use the hub's admin.token"
        )
    return f"tok_{form[1]}"


def authenticate(text: str, stored: Token | None) -> Token:
    """The token whose text was presented.

    Args:
        text: what the client sent.
        stored: the row of `id_of(text)`, if there is one.

    Raises:
        Unauthenticated: there is no such token, or it has been revoked.
    """
    # SAFETY: a stranger chooses the text; whole digests are compared in constant time, whether there is a row or not,
    # and one message serves a wrong id and a wrong secret.
    known = stored.secret_hash if stored is not None else _NOBODY
    if not hmac.compare_digest(_hash(text), known) or stored is None:
        raise Unauthenticated("this hub does not know that token; is it another hub's?")
    if stored.revoked_at is not None:
        raise Unauthenticated(
            f"token {stored.id} was revoked on {stored.revoked_at:%Y-%m-%d}; ask for another"
        )
    return stored


def allows(token: Token, action: str, *, owner: str | None = None) -> bool:
    """Whether a token may do something.

    Args:
        token: an authenticated one.
        action: the kind of the request.
        owner: whose thing it touches; None if it touches nobody's in particular.
    """
    reach = POWERS[token.scope].get(action)
    return reach is Reach.ANY or (reach is Reach.OWN and owner in (None, token.owner))


def require(token: Token, action: str, *, owner: str | None = None) -> None:
    """Refuses what `allows` does not allow.

    Raises:
        Forbidden: says what is missing.
    """
    if allows(token, action, owner=owner):
        return
    able = [str(scope) for scope in Scope if action in POWERS[scope]]
    if str(token.scope) in able:
        raise Forbidden(f"{action} is allowed for what {token.owner} owns only; this belongs to {owner}")
    needed = f"it takes scope {' or '.join(able)}" if able else "no scope allows it"
    raise Forbidden(f"token {token.id} has scope {token.scope}, which does not allow {action}: {needed}")


def visible_owner(token: Token, action: str) -> str | None:
    """Whose things a token sees when it does something: one owner's, or everybody's (None).

    Raises:
        Forbidden: it may not do this at all.
    """
    require(token, action)
    return None if POWERS[token.scope][action] is Reach.ANY else token.owner


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
