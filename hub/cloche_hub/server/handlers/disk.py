"""Requests about what the hub holds on disk."""

from __future__ import annotations

import contextlib

from cloche_hub.domain.tokens import Token
from cloche_hub.server.handlers.context import Services, no_fields
from cloche_hub.server.messages import cache_use_message
from cloche_wire.aio import Channel


async def usage(services: Services, _token: Token, channel: Channel) -> None:
    """`disk.usage`."""
    no_fields(channel)
    uses = [*await services.images.uses(), *await services.hypervisor.uses()]
    free_bytes: int | None = None
    with contextlib.suppress(OSError):
        free_bytes = services.free_bytes()
    channel.close(
        {
            "cache": services.cache,
            "entries": [cache_use_message(use) for use in uses],
            "free_bytes": free_bytes,
        }
    )


async def prune(services: Services, token: Token, channel: Channel) -> None:
    """`disk.prune`."""
    no_fields(channel)
    freed = await services.hypervisor.prune() + await services.images.prune()
    await services.image_service.note_pruned(freed, actor=token.id)
    channel.close({"freed_bytes": freed})
