"""The request `console.open`."""

from __future__ import annotations

from cloche_hub.domain.console_requests import parse_console
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.tokens import Token
from cloche_hub.server.handlers.context import Services, find_sandbox
from cloche_wire.aio import Channel


async def open_(services: Services, token: Token, channel: Channel) -> None:
    """`console.open`: the channel is spliced to the guest's and carries the terminal's bytes."""
    request = parse_console(channel.params)
    sandbox = await find_sandbox(services, token, channel.kind, Fields(channel.params))
    await services.consoles.open(channel, request, sandbox, actor=token.id)
