"""Who may use a hub: its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloche.answers import Answer
from cloche.token_messages import TokenInfo

if TYPE_CHECKING:
    from cloche.link import Link


class Tokens:
    """The hub's tokens; `Hub.tokens` has them. Needs a token of scope admin."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def create(
        self, name: str, *, owner: str | None = None, scope: str = "owner"
    ) -> tuple[TokenInfo, str]:
        """Makes a token; returns it and its text, which is told this once and kept nowhere.

        Args:
            name: what it is for; no two good tokens have the same.
            owner: whose sandboxes it makes; the owner of the token that asks, if not given.
            scope: owner (its owner's sandboxes), operator (everybody's), or admin (everything).

        Raises:
            Conflict: there is a good token of that name.
            BadRequest: a name, an owner or a scope will not do.
            Forbidden: this token is no admin's.
        """
        params = {"name": name, "scope": scope}
        if owner is not None:
            params["owner"] = owner
        made = await self._link.call("token.create", params)
        answer = Answer("new token", made)
        return TokenInfo.parse(made.get("token")), answer.text("text")

    async def list(self) -> list[TokenInfo]:
        """Every token: the good ones first, then those that were revoked."""
        return Answer("list", await self._link.call("token.list")).each("tokens", TokenInfo.parse)

    async def revoke(self, token: str) -> TokenInfo:
        """Ends a token for good, at once: its connections are ended, and what runs over them.

        Args:
            token: an id, a name, or the beginning of one.

        Raises:
            NotFound, BadRequest: none is meant, or several.
            WrongState: it was revoked already, or it is the last good admin token.
        """
        return TokenInfo.parse(await self._link.call("token.revoke", {"token": token}))
