"""The request `audit.search`: which events are wanted, the newest first, then those that come.

Rule: it holds one part's numbers for a client that does not read, and takes turns with the other searches of its token.
Rule: to whoever sees all and wants all, nothing is searched: it is told how far the chain reaches.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from cloche_hub.domain.audit_filter import Term, parse_terms
from cloche_hub.domain.audit_walk import Walk
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.tokens import Token, visible_owner
from cloche_hub.server.handlers.context import Services
from cloche_hub.services.wanted import while_wanted
from cloche_wire.aio import Channel

NEWS_S = 0.1
"""The least time between two looks at what has come."""


async def search(services: Services, token: Token, channel: Channel) -> None:
    """`audit.search`: parts of the chain as messages on stream 0, each with what is wanted in it."""
    fields = Fields.of(channel.params, ("filter", "follow"))
    terms = parse_terms(fields.values.get("filter"))
    follow = fields.flag("follow", default=False)
    owner = visible_owner(token, channel.kind)
    # Each of them looks at the table whenever something happens, which costs its client nothing.
    with services.audit_followers.taken(token.id) if follow else contextlib.nullcontext():
        channel.accept()
        async with while_wanted(channel):
            if not terms and owner is None:
                await _tell_of_all(services, channel, follow=follow)
            else:
                await _tell_of_some(services, token, channel, terms, owner=owner, follow=follow)
    channel.close({})


async def _tell_of_some(
    services: Services,
    token: Token,
    channel: Channel,
    terms: Sequence[Term],
    *,
    owner: str | None,
    follow: bool,
) -> None:
    now_s = asyncio.get_running_loop().time
    walk = Walk(services.audit.head.seq)
    while True:
        part = walk.next(services.audit.head.seq)
        if part is not None:
            async with services.audit_searches.turn(token.id):
                began_s = now_s()
                found = await services.audit.numbers(terms, first=part[0], last=part[1], owner=owner)
                walk.took(now_s() - began_s)
            await _tell(services, channel, part, found)
        elif follow:
            await services.audit.wait_beyond(walk.last)
            await asyncio.sleep(NEWS_S)
        else:
            return


async def _tell_of_all(services: Services, channel: Channel, *, follow: bool) -> None:
    told = 0
    while True:
        head = services.audit.head.seq
        await _tell(services, channel, (told + 1, head), None)
        told = head
        if not follow:
            return
        await services.audit.wait_beyond(told)
        await asyncio.sleep(NEWS_S)


async def _tell(
    services: Services, channel: Channel, part: tuple[int, int], numbers: Sequence[int] | None
) -> None:
    first, last = part
    await channel.send_message(
        {"first": first, "last": last, "numbers": numbers, "head": services.audit.head.seq}
    )
