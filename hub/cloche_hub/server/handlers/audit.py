"""Requests about the audit chain."""

from __future__ import annotations

import contextlib

from cloche_hub.domain.fields import Fields
from cloche_hub.domain.tokens import Token, visible_owner
from cloche_hub.errors import BadRequest
from cloche_hub.server.handlers.context import Services, no_fields
from cloche_hub.server.messages import audit_message
from cloche_wire.aio import Channel

MAX_TAIL = 1000
"""Events of the past in one answer."""


async def tail(services: Services, token: Token, channel: Channel) -> None:
    """`audit.tail`: the newest events as messages on stream 0, then, if asked, those that come."""
    fields = Fields.of(channel.params, ("sandbox", "limit", "follow"))
    limit = fields.whole("limit", default=50, least=1, most=MAX_TAIL)
    sandbox = await _sandbox_id(services, token, channel, fields)
    channel.accept()
    # Read before the tail, so that what comes between the two is told once and not missed.
    seen = services.audit.head.seq
    for event in await services.audit.tail(limit=limit, sandbox=sandbox):
        seen = max(seen, event.seq)
        await channel.send_message(audit_message(event))
    if fields.flag("follow", default=False):
        async with contextlib.aclosing(services.audit.follow(after=seen, sandbox=sandbox)) as events:
            async for event in events:
                await channel.send_message(audit_message(event))
    channel.close({})


async def _sandbox_id(services: Services, token: Token, channel: Channel, fields: Fields) -> str | None:
    reference = fields.optional_text("sandbox")
    if reference is None:
        if visible_owner(token, channel.kind) is not None:
            raise BadRequest(
                "sandbox is missing: this token sees the events of its own sandboxes only; name one"
            )
        return None
    owner = visible_owner(token, channel.kind)
    return (await services.sandboxes.find_ever(reference, owner=owner, caller=token.owner)).id


async def verify(services: Services, _token: Token, channel: Channel) -> None:
    """`audit.verify`."""
    no_fields(channel)
    verified = await services.audit.verify()
    channel.close({"events": verified.events, "head": verified.head})
