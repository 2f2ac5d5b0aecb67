"""Who a client is: tokens checked against the store, and the first one made."""

from __future__ import annotations

from cloche_hub.domain.audit_events import AuditName
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

    async def authenticate(self, text: str) -> Token:
        """The token whose text a client presents.

        Raises:
            Unauthenticated: there is none, or it is revoked.
        """
        return authenticate(text, await self._store.token(id_of(text)))

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
        detail = {"token": token.id, "scope": str(token.scope), "owner": owner, "name": token.name}

        def change(transaction: Transaction) -> None:
            transaction.insert_token(token)
            transaction.append_audit(AuditName.TOKEN_CREATED, actor=HUB, detail=detail)

        await self._store.write(change)
        return text
