"""Requests about consoles."""

from __future__ import annotations

import asyncio

from cloche_hub.domain.console import Console
from cloche_hub.domain.console_requests import (
    parse_attach,
    parse_console_reference,
    parse_create_console,
)
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.tokens import Token, visible_owner
from cloche_hub.errors import CodedError
from cloche_hub.server.handlers.context import Services, close_with_those_that_fit, find_sandbox
from cloche_hub.server.messages import console_message
from cloche_hub.services.wanted import while_wanted
from cloche_wire.aio import Channel


async def create(services: Services, token: Token, channel: Channel) -> None:
    """`console.create`. A client that is not there any more leaves no console behind."""
    request = parse_create_console(channel.params)
    sandbox = await find_sandbox(services, token, channel.kind, Fields(channel.params))
    made: Console | None = None
    try:
        channel.accept()
        async with while_wanted(channel):
            made = await services.consoles.create(request, sandbox, token=token)
        channel.close(console_message(made))
    except (CodedError, asyncio.CancelledError):
        if made is not None:
            services.consoles.abandon(made.id)
        raise


async def list_(services: Services, token: Token, channel: Channel) -> None:
    """`console.list`, newest first."""
    fields = Fields.of(channel.params, ("sandbox", "ended"))
    owner = visible_owner(token, channel.kind)
    sandbox_id = None
    if fields.optional_text("sandbox") is not None:
        sandbox_id = (await find_sandbox(services, token, channel.kind, fields)).id
    found = services.consoles.list(
        owner=owner, sandbox_id=sandbox_id, ended=fields.flag("ended", default=False)
    )
    close_with_those_that_fit(channel, "consoles", [console_message(console) for console in found])


async def close(services: Services, token: Token, channel: Channel) -> None:
    """`console.close`."""
    fields = Fields.of(channel.params, ("sandbox", "console"))
    console = await find_console(services, token, channel.kind, fields)
    ended = await services.consoles.close(console, actor=token.id)
    channel.close(console_message(ended))


async def attach(services: Services, token: Token, channel: Channel) -> None:
    """`console.attach`: open until the console has ended or the client leaves."""
    request = parse_attach(channel.params)
    console = await find_console(services, token, channel.kind, Fields(channel.params))
    await services.consoles.attach(channel, console, request, token=token)


async def find_console(services: Services, token: Token, kind: str, fields: Fields) -> Console:
    """The console a request is about, if this token may touch it.

    Raises:
        NotFound, BadRequest: none is meant that it may see, or several.
    """
    sandbox = await find_sandbox(services, token, kind, fields)
    return services.consoles.find(sandbox.id, parse_console_reference(fields))
