"""Tokens: checked against the store, made, listed and revoked.

Rules:
- What is done to a token and its audit event are one transaction.
- A token that is revoked, or is about to be, lets nobody in, also where its row was read just before.
- A token's text is given out once, and kept nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.token_requests import (
    TokenOrder,
    find_token,
    require_another_admin,
    require_free_name,
)
from cloche_hub.domain.tokens import Scope, Token, authenticate, id_of, mint
from cloche_hub.errors import Unauthenticated
from cloche_hub.ports import Store, Transaction
from cloche_hub.services.clock import Clock
from cloche_hub.services.held import HUB


class Tokens:
    """Checks and makes tokens.

    Args:
        store: where they are kept, hashed.
        clock: now.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        # Ids of those that this hub has revoked, or is about to.
        self._revoked: set[str] = set()
        self._enders: list[Callable[[str], None]] = []

    def on_revoked(self, end: Callable[[str], None]) -> None:
        """Has `end` called with the id of each token whose clients must go; it must not block and must not raise."""
        self._enders.append(end)

    async def authenticate(self, text: str) -> Token:
        """The token whose text a client presents. Between the check and the return nobody else has a turn.

        Raises:
            Unauthenticated: there is none, or it is revoked.
        """
        token = authenticate(text, await self._store.token(id_of(text)))
        # SAFETY: the row may be older than a revocation that ended this token's sessions while it was read.
        if token.id in self._revoked:
            raise Unauthenticated(f"token {token.id} was revoked just now; ask for another")
        return token

    async def is_good(self, text: str) -> bool:
        """Whether a text is a token of this hub's."""
        try:
            await self.authenticate(text)
        except Unauthenticated:
            return False
        return True

    async def mint_admin(self, *, owner: str) -> str:
        """Makes an admin token and returns its text, which nobody can recover later."""
        token, text = mint(name="first admin", owner=owner, scope=Scope.ADMIN, at=self._clock.now())

        def change(transaction: Transaction) -> None:
            transaction.insert_token(token)
            transaction.append_audit(AuditName.TOKEN_CREATED, actor=HUB, detail=_detail(token))

        await self._store.write(change)
        return text

    async def create(self, order: TokenOrder, *, actor: str) -> tuple[Token, str]:
        """Makes a token; returns it and its text, which nobody can recover later.

        Raises:
            Conflict: there is a good token of that name.
            NoSpace: it cannot be recorded.
        """
        token, text = mint(name=order.name, owner=order.owner, scope=order.scope, at=self._clock.now())

        def change(transaction: Transaction) -> None:
            require_free_name(token.name, transaction.tokens())
            transaction.insert_token(token)
            transaction.append_audit(AuditName.TOKEN_CREATED, actor=actor, detail=_detail(token))

        await self._store.write(change)
        return token, text

    async def every(self) -> Sequence[Token]:
        """All tokens: the good ones first, of each kind the newest first."""
        newest_first = reversed(await self._store.tokens())
        return sorted(newest_first, key=lambda token: token.revoked_at is not None)

    async def find(self, reference: str) -> Token:
        """The token meant by an id, a name, or the beginning of one.

        Raises:
            NotFound, BadRequest: none is meant, or several.
        """
        return find_token(reference, await self._store.tokens())

    async def revoke(self, token: Token, *, actor: str) -> Token:
        """Ends a token for good; from the call on nobody comes in with it. Its clients stay until `expel`.

        Cancelling does not undo it.

        Raises:
            WrongState: it was revoked already, or it is the last good admin token.
            NoSpace: it cannot be recorded; the token stays good.
        """
        # Looked at before anybody is kept out, and once more in the transaction: two may go at once.
        require_another_admin(token, await self._store.tokens())

        def change(transaction: Transaction) -> Token:
            revoked = transaction.revoke_token(token.id, at=self._clock.now())
            require_another_admin(revoked, transaction.tokens())
            transaction.append_audit(AuditName.TOKEN_REVOKED, actor=actor, detail=_detail(revoked))
            return revoked

        was_good = token.id not in self._revoked
        self._revoked.add(token.id)
        try:
            revoked = await self._store.write(change)
        except Exception:
            # Not when cancelled: then it is written all the same.
            if was_good:
                self._revoked.discard(token.id)
            raise
        self._revoked.add(token.id)
        assert isinstance(revoked, Token)
        return revoked

    def expel(self, token_id: str) -> None:
        """Ends what the clients of a revoked token do, and their links. Waits for nothing; idempotent."""
        if token_id in self._revoked:
            for end in self._enders:
                end(token_id)


def _detail(token: Token) -> dict[str, Json]:
    return {"token": token.id, "scope": str(token.scope), "owner": token.owner, "name": token.name}
