"""Requests about sandboxes."""

from __future__ import annotations

import asyncio

from cloche_hub.domain.fields import Fields
from cloche_hub.domain.requests import parse_create
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.domain.tokens import Token, visible_owner
from cloche_hub.errors import CodedError
from cloche_hub.server.handlers.context import (
    Services,
    close_with_those_that_fit,
    find_sandbox,
    with_progress,
)
from cloche_hub.server.messages import sandbox_message
from cloche_wire.aio import Channel

MAX_BOOT_LOG = 512 << 10
"""Bytes of a boot log in one answer."""


async def create(services: Services, token: Token, channel: Channel) -> None:
    """`sandbox.create`, with progress on stream 0. A client that is not there any more leaves no sandbox behind."""
    request = parse_create(
        channel.params, default_lease_s=services.default_lease_s, max_lease_s=services.max_lease_s
    )
    made: Sandbox | None = None
    try:
        async with with_progress(channel) as progress:
            made = await services.sandboxes.create(
                request, owner=token.owner, actor=token.id, progress=progress
            )
        channel.close(sandbox_message(made))
    except (CodedError, asyncio.CancelledError):
        if made is not None:
            services.sandboxes.abandon(made.id, actor=token.id)
        raise


async def list_(services: Services, token: Token, channel: Channel) -> None:
    """`sandbox.list`, newest first."""
    fields = Fields.of(channel.params, ("all",))
    owner = visible_owner(token, channel.kind)
    if fields.flag("all", default=False):
        found = await services.sandboxes.every(owner=owner)
    else:
        found = services.sandboxes.live(owner=owner)
    close_with_those_that_fit(channel, "sandboxes", [sandbox_message(sandbox) for sandbox in found])


async def show(services: Services, token: Token, channel: Channel) -> None:
    """`sandbox.show`."""
    fields = Fields.of(channel.params, ("sandbox",))
    owner = visible_owner(token, channel.kind)
    found = await services.sandboxes.find_ever(fields.text("sandbox"), owner=owner, caller=token.owner)
    channel.close(sandbox_message(found))


async def remove(services: Services, token: Token, channel: Channel) -> None:
    """`sandbox.remove`."""
    fields = Fields.of(channel.params, ("sandbox",))
    sandbox = await find_sandbox(services, token, channel.kind, fields)
    removed = await services.sandboxes.remove(sandbox.id, actor=token.id)
    await services.consoles.forget(sandbox.id)
    channel.close(sandbox_message(removed))


async def boot_log(services: Services, token: Token, channel: Channel) -> None:
    """`sandbox.boot_log`."""
    fields = Fields.of(channel.params, ("sandbox", "max_bytes"))
    sandbox = await find_sandbox(services, token, channel.kind, fields)
    max_bytes = fields.whole("max_bytes", default=64 << 10, least=1, most=MAX_BOOT_LOG)
    channel.close({"log": await services.sandboxes.boot_log(sandbox.id, max_bytes=max_bytes)})
