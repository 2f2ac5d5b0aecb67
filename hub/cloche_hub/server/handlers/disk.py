"""Requests about what the hub holds on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from cloche_hub.domain.tokens import Token
from cloche_hub.ports import CacheUse
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
            "entries": await _told(services, uses),
            "free_bytes": free_bytes,
        }
    )


async def _told(services: Services, uses: Sequence[CacheUse]) -> list[dict[str, Any]]:
    """What is on disk, with the names that recipes and sandboxes have."""
    recipes = {image.digest: image.recipe for image in await services.images.list()}
    sandboxes = {sandbox.id: sandbox for sandbox in services.sandboxes.live(owner=None)}

    def told(use: CacheUse) -> dict[str, Any]:
        title = recipe = use.recipe
        if use.kind == "template":
            # Its name is how its image's digest begins, and its flavor.
            begins, _, flavor = use.name.partition(" ")
            recipe = next((recipes[digest] for digest in recipes if digest.startswith(begins)), None)
            title = recipe and f"{recipe}/{flavor}"
        elif use.name in sandboxes:
            title, recipe = sandboxes[use.name].name, sandboxes[use.name].recipe
        return cache_use_message(use, title=title or use.name, recipe=recipe)

    return [told(use) for use in uses]


async def prune(services: Services, token: Token, channel: Channel) -> None:
    """`disk.prune`."""
    no_fields(channel)
    freed = await services.hypervisor.prune() + await services.images.prune()
    await services.image_service.note_pruned(freed, actor=token.id)
    channel.close({"freed_bytes": freed})
