"""Requests about images."""

from __future__ import annotations

from cloche_hub.domain.fields import Fields
from cloche_hub.domain.requests import parse_recipe
from cloche_hub.domain.tokens import Token
from cloche_hub.server.handlers.context import Services, no_fields, with_progress
from cloche_hub.server.messages import image_message
from cloche_wire.aio import Channel


async def build(services: Services, token: Token, channel: Channel) -> None:
    """`image.build`, with progress on stream 0."""
    fields = Fields.of(channel.params, ("recipe", "rebuild"))
    recipe, rebuild = parse_recipe(fields), fields.flag("rebuild", default=False)

    async with with_progress(channel) as progress:
        image = await services.image_service.build(recipe, rebuild=rebuild, actor=token.id, progress=progress)
    channel.close(image_message(image))


async def list_(services: Services, _token: Token, channel: Channel) -> None:
    """`image.list`."""
    no_fields(channel)
    channel.close({"images": [image_message(image) for image in await services.images.list()]})


async def remove(services: Services, token: Token, channel: Channel) -> None:
    """`image.remove`."""
    fields = Fields.of(channel.params, ("digest",))
    await services.image_service.remove(fields.text("digest"), actor=token.id)
    channel.close({})
