"""The request `console.screen`."""

from __future__ import annotations

from cloche_hub.domain.fields import Fields
from cloche_hub.domain.tokens import Token
from cloche_hub.server.handlers.consoles import find_console
from cloche_hub.server.handlers.context import Services
from cloche_wire.aio import Channel


async def screen(services: Services, token: Token, channel: Channel) -> None:
    """`console.screen`: what a console shows, as text in messages on stream 0."""
    fields = Fields.of(channel.params, ("sandbox", "console", "follow"))
    follow = fields.flag("follow", default=False)
    console = await find_console(services, token, channel.kind, fields)
    await services.console_looks.send(channel, console, follow=follow)
