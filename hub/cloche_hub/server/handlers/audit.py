"""Requests about the audit chain."""

from __future__ import annotations

import contextlib

from cloche_hub.domain.audit import MAX_WHOLE, Verifier
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.tokens import Token, visible_owner
from cloche_hub.errors import BadRequest
from cloche_hub.server.handlers.context import Services, no_fields
from cloche_hub.server.messages import audit_message
from cloche_hub.services.wanted import while_wanted
from cloche_wire.aio import Channel

MAX_TAIL = 500
"""Events of the past in one answer."""
MAX_READ = 500
"""Events that are read by their numbers in one request."""
_READ_AT_ONCE = 100


async def tail(services: Services, token: Token, channel: Channel) -> None:
    """`audit.tail`: the newest events as messages on stream 0, then, if asked, those that come."""
    fields = Fields.of(channel.params, ("sandbox", "limit", "follow"))
    limit = fields.whole("limit", default=50, least=1, most=MAX_TAIL)
    follow = fields.flag("follow", default=False)
    sandbox = await _sandbox_id(services, token, channel, fields)
    channel.accept()
    async with while_wanted(channel):
        seen = await _send_past(services, channel, limit=limit, sandbox=sandbox)
        if follow:
            async with contextlib.aclosing(services.audit.follow(after=seen, sandbox=sandbox)) as events:
                async for event in events:
                    await channel.send_message(audit_message(event))
    channel.close({})


async def _send_past(services: Services, channel: Channel, *, limit: int, sandbox: str | None) -> int:
    """Sends the newest events; returns the number of the last, after which those that come are to be told."""
    seen = 0
    for event in await services.audit.tail(limit=limit, sandbox=sandbox):
        seen = event.seq
        await channel.send_message(audit_message(event))
    return seen


async def _sandbox_id(services: Services, token: Token, channel: Channel, fields: Fields) -> str | None:
    reference = fields.optional_text("sandbox")
    owner = visible_owner(token, channel.kind)
    if reference is not None:
        return (await services.sandboxes.find_ever(reference, owner=owner, caller=token.owner)).id
    if owner is not None:
        raise BadRequest("sandbox is missing: this token sees the events of its own sandboxes only; name one")
    return None


async def read(services: Services, token: Token, channel: Channel) -> None:
    """`audit.read`: the events with certain numbers as messages on stream 0; those the token may not see are left out."""
    fields = Fields.of(channel.params, ("numbers",))
    wanted = fields.wholes("numbers", most=MAX_READ, least=1, largest=MAX_WHOLE)
    owner = visible_owner(token, channel.kind)
    spoken_of: set[str] = set()
    channel.accept()
    async with while_wanted(channel):
        # Some at a time, and no faster than the client reads: an event may have a quarter of a megabyte.
        for at in range(0, len(wanted), _READ_AT_ONCE):
            for event in await services.audit.events(wanted[at : at + _READ_AT_ONCE], owner=owner):
                spoken_of |= {event.actor, event.sandbox or event.actor}
                await channel.send_message(audit_message(event))
        names = await services.audit.names(sorted(spoken_of))
    channel.close({"names": names})


async def verify(services: Services, _token: Token, channel: Channel) -> None:
    """`audit.verify`."""
    no_fields(channel)
    verified = await services.audit.verify()
    channel.close({"events": verified.events, "head": verified.head})


async def export(services: Services, _token: Token, channel: Channel) -> None:
    """`audit.export`: the chain as it is now, every event as a message on stream 0, verified on the way."""
    no_fields(channel)
    end = services.audit.head
    verifier = Verifier()
    channel.accept()
    async with while_wanted(channel):
        # A page at a time, and no faster than the client reads: a long chain takes no more memory than a short one.
        while verifier.head.seq < end.seq and (events := await services.audit.page(after=verifier.head.seq)):
            for event in events[: end.seq - verifier.head.seq]:
                verifier.check(event)
                await channel.send_message(audit_message(event))
    verified = verifier.finish(end)
    channel.close({"events": verified.events, "head": verified.head})
