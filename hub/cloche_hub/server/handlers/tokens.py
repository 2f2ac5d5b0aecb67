"""Requests about tokens."""

from __future__ import annotations

from cloche_hub.domain.fields import Fields
from cloche_hub.domain.token_requests import parse_token_order
from cloche_hub.domain.tokens import Token
from cloche_hub.errors import CodedError
from cloche_hub.server.handlers.context import Services, close_with_those_that_fit, no_fields
from cloche_hub.server.messages import token_message
from cloche_wire.aio import Channel
from cloche_wire.aio.bounds import within

_ANSWER_S = 1.0


async def create(services: Services, token: Token, channel: Channel) -> None:
    """`token.create`: the only answer that ever holds a token's text."""
    order = parse_token_order(channel.params, caller=token.owner)
    made, text = await services.tokens.create(order, actor=token.id)
    channel.close({"token": token_message(made), "text": text})


async def list_(services: Services, _token: Token, channel: Channel) -> None:
    """`token.list`: the good ones first."""
    no_fields(channel)
    found = [token_message(one) for one in await services.tokens.every()]
    close_with_those_that_fit(channel, "tokens", found)


async def revoke(services: Services, token: Token, channel: Channel) -> None:
    """`token.revoke`: its clients go before the answer; who revokes its own token is answered first."""
    fields = Fields.of(channel.params, ("token",))
    meant = await services.tokens.find(fields.text("token"))
    try:
        revoked = await services.tokens.revoke(meant, actor=token.id)
        if revoked.id == token.id:
            await _answer_last(channel, revoked)
    finally:
        # Also when this was cancelled: it is written all the same.
        services.tokens.expel(meant.id)
    if not channel.is_answered:
        channel.close(token_message(revoked))


async def _answer_last(channel: Channel, revoked: Token) -> None:
    """Answers, and waits a moment for that to arrive: the link ends next."""
    channel.close(token_message(revoked))
    try:
        async with within(_ANSWER_S):
            await channel.wait_confirmed()
    except (CodedError, TimeoutError):
        pass
