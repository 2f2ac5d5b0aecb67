"""Requests about the hub itself."""

from __future__ import annotations

import os

from cloche_hub.domain.times import to_text
from cloche_hub.domain.tokens import Token
from cloche_hub.errors import CodedError
from cloche_hub.server.handlers.context import Services, no_fields
from cloche_wire.aio import Channel
from cloche_wire.aio.bounds import within

_ANSWER_S = 1.0


async def status(services: Services, _token: Token, channel: Channel) -> None:
    """`hub.status`."""
    no_fields(channel)
    hypervisor = await services.hypervisor.status()
    channel.close(
        {
            "version": services.version,
            "pid": os.getpid(),
            "address": services.address,
            "accelerator": hypervisor.accelerator,
            "accelerator_reason": hypervisor.reason,
            "hypervisor_version": hypervisor.version,
            "arch": hypervisor.arch,
            "machines": services.sandboxes.machines,
            "started_at": to_text(services.started_at),
        }
    )


async def stop(services: Services, _token: Token, channel: Channel) -> None:
    """`hub.stop`: answered first, then the hub ends its machines and itself."""
    no_fields(channel)
    channel.close({})
    try:
        # Whether or not the answer arrives: who asked may be gone already.
        async with within(_ANSWER_S):
            await channel.wait_confirmed()
    except (CodedError, TimeoutError):
        pass
    finally:
        services.stop()
