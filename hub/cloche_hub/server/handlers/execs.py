"""The request `exec`."""

from __future__ import annotations

from cloche_hub.domain.fields import Fields
from cloche_hub.domain.requests import parse_exec
from cloche_hub.domain.tokens import Token
from cloche_hub.server.handlers.context import Services, find_sandbox
from cloche_wire.aio import Channel


async def exec_(services: Services, token: Token, channel: Channel) -> None:
    """`exec`: the channel is spliced to the guest's and carries the command's streams."""
    request = parse_exec(channel.params)
    sandbox = await find_sandbox(services, token, channel.kind, Fields(channel.params))
    await services.execs.run(channel, request, sandbox, actor=token.id)
