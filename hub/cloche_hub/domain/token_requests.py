"""What is asked about tokens: which one to make, which one is meant, and which one may not go.

Pure. Rule: the first of these steps that matches anything decides, and one match is an answer, several are not:
an id in full; a good token of that name; a good one whose id or name begins so; a revoked one by any of these.
Rule: a hub always has a good admin token, or nobody could make another one before it starts again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cloche_hub.domain.fields import Fields
from cloche_hub.domain.tokens import Scope, Token
from cloche_hub.errors import BadRequest, Conflict, NotFound, WrongState

MAX_TOKEN_NAME = 64
"""Characters of a token's name, and of an owner's."""
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*", re.ASCII)
_LISTED = 8
# A token's text up to its secret.
_SHOWN = 16


@dataclass(frozen=True, slots=True)
class TokenOrder:
    """A token somebody wants made."""

    name: str
    owner: str
    scope: Scope


def parse_token_order(params: object, *, caller: str) -> TokenOrder:
    """The order in a request's parameters.

    Args:
        params: name; owner (else the caller's), scope (else owner, the least there is).
        caller: the owner who asks.

    Raises:
        BadRequest: a field is missing, or will not do.
    """
    fields = Fields.of(params, ("name", "owner", "scope"))
    scope = fields.text("scope", Scope.OWNER)
    if scope not in list(Scope):
        raise BadRequest(f"scope must be one of {', '.join(Scope)}, not {scope[:40]!r}")
    owner = fields.text("owner", caller)
    # What the hub itself calls its user may be of another form; it may go on being that.
    if owner != caller and not (len(owner) <= MAX_TOKEN_NAME and _OWNER.fullmatch(owner)):
        raise BadRequest(
            f"owner {owner[: MAX_TOKEN_NAME + 1]!r} will not do: an owner has up to {MAX_TOKEN_NAME} of "
            "a-z, A-Z, 0-9 and '._@+-', and starts with a letter or a digit"
        )
    return TokenOrder(_checked_name(fields.text("name")), owner, Scope(scope))


def _checked_name(name: str) -> str:
    # A name is shown in lines of tables, and must not pass for an id or for a token's text.
    if (
        not 0 < len(name) <= MAX_TOKEN_NAME
        or not name.isprintable()
        or name != name.strip()
        or name.startswith(("tok_", "clt_"))
    ):
        raise BadRequest(
            f"name {name[: MAX_TOKEN_NAME + 1]!r} will not do: a token's name has 1 to {MAX_TOKEN_NAME} characters on "
            "one line, no spaces at its ends, and does not start like an id"
        )
    return name


def require_free_name(name: str, tokens: Sequence[Token]) -> None:
    """Refuses the name of a good token.

    Raises:
        Conflict: says which has it.
    """
    for token in tokens:
        if token.name == name and token.revoked_at is None:
            raise Conflict(
                f"there is a token {name!r} already ({token.id}); choose another name, or revoke it"
            )


def find_token(reference: str, tokens: Sequence[Token]) -> Token:
    """The token meant.

    Raises:
        BadRequest: several are (the message lists them), or the reference is empty.
        NotFound: none is.
    """
    if not reference:
        raise BadRequest("token must not be empty: give an id, a name, or the beginning of one")
    for step in _steps(reference):
        matches = [token for token in tokens if step(token)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise _ambiguous(reference, matches)
    # SAFETY: it may be a token's whole text, given by mistake: no answer and no log may hold its secret.
    raise NotFound(f"no token {reference[:_SHOWN]!r}; `cloche token ls` lists them")


def _steps(reference: str) -> tuple[Callable[[Token], bool], ...]:
    def begins(token: Token) -> bool:
        return token.id.startswith(reference) or token.name.startswith(reference)

    return (
        lambda token: token.id == reference,
        lambda token: token.revoked_at is None and token.name == reference,
        lambda token: token.revoked_at is None and begins(token),
        begins,
    )


def _ambiguous(reference: str, matches: list[Token]) -> BadRequest:
    listed = ", ".join(f"{token.name} ({token.id})" for token in matches[:_LISTED])
    more = f" and {len(matches) - _LISTED} more" if len(matches) > _LISTED else ""
    return BadRequest(
        f"{reference!r} could be any of: {listed}{more}; give more of it, or the id",
        candidates=[token.id for token in matches[:_LISTED]],
    )


def require_another_admin(token: Token, tokens: Sequence[Token]) -> None:
    """Refuses to lose the last good admin token.

    Raises:
        WrongState: it is that one; says what to do first.
    """
    others = (other for other in tokens if other.scope is Scope.ADMIN and other.id != token.id)
    if token.scope is Scope.ADMIN and all(other.revoked_at is not None for other in others):
        raise WrongState(
            f"{token.name} ({token.id}) is the last good admin token; make another one first: "
            "cloche token create NAME --scope admin"
        )
