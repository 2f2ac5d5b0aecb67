"""The request `events`: the current state, then what changes.

Rule: a client that reads slowly gets the newest state of each thing, never a backlog: what it costs the hub is bounded
by how many things there are. Of approvals that wait it holds ids, until each is told.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cloche_hub.domain.approval import Approval
from cloche_hub.domain.console import Console
from cloche_hub.domain.events import Event, EventFilter, Told, Topic, parse_event_filter, topic_of
from cloche_hub.domain.references import check_reference
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.domain.tokens import Token, visible_owner
from cloche_hub.server.handlers.context import Services
from cloche_hub.server.messages import approval_message, console_message, sandbox_message, usage_message
from cloche_hub.services.wanted import while_wanted
from cloche_wire.aio import Channel


async def events(services: Services, token: Token, channel: Channel) -> None:
    """`events`: never ends by itself."""
    wanted = await _wanted(services, token, channel)
    told = Told(wanted)

    def concerns(value: object) -> bool:
        return isinstance(value, Event) and wanted.concerns(value)

    # Subscribed first: what changes while the current state is told is told again, and nothing is missed.
    with (
        services.changes.subscribed(of=token.id, concerns=concerns) as news,
        contextlib.ExitStack() as stack,
    ):
        channel.accept()
        if Topic.USAGE in wanted.topics:
            stack.enter_context(services.usage.wanted())
        async with while_wanted(channel):
            for value in _current(services, wanted):
                await _tell(channel, value, told.change(value, is_current=True))
            await channel.send_message({"topic": "current_end"})
            while True:
                newest = (await news.next()).value
                if isinstance(newest, Event):
                    await _tell(channel, newest, told.change(newest))


async def _wanted(services: Services, token: Token, channel: Channel) -> EventFilter:
    asked = parse_event_filter(channel.params)
    owner = visible_owner(token, channel.kind)
    if asked.sandbox is not None:
        reference = check_reference(asked.sandbox)
        found = await services.sandboxes.find(reference, owner=owner, caller=token.owner)
        asked = replace(asked, sandbox=found.id)
    return asked.seen_by(owner)


def _current(services: Services, wanted: EventFilter) -> Iterator[Event]:
    if Topic.SANDBOX in wanted.topics:
        yield from services.sandboxes.live(owner=wanted.owner)
    if Topic.CONSOLE in wanted.topics:
        yield from services.consoles.list(owner=wanted.owner, sandbox_id=wanted.sandbox)
    if Topic.APPROVAL in wanted.topics:
        # Those that wait: what was decided before is a list, not a state.
        for approval_id in services.approvals.pending():
            # It may have been decided while those before it were told: that is told as a change.
            approval = services.approvals.get_pending(approval_id)
            if approval is not None:
                yield approval
    if Topic.USAGE in wanted.topics:
        yield from services.usage.latest


async def _tell(channel: Channel, value: Event, change: str | None) -> None:
    if change is not None:
        topic = topic_of(value)
        await channel.send_message({"topic": str(topic), "change": change, "value": _message(value)})


def _message(value: Event) -> dict[str, Any]:
    match value:
        case Sandbox():
            return sandbox_message(value)
        case Approval():
            return approval_message(value)
        case Console():
            return console_message(value)
    return usage_message(value)
