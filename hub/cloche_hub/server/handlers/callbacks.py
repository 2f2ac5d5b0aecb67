"""The request `callback.serve`: a client that answers callbacks, for as long as it keeps the channel open."""

from __future__ import annotations

import asyncio

from cloche_hub.domain.callback import ServeRequest, parse_serve
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.tokens import Token, visible_owner
from cloche_hub.errors import Cancelled
from cloche_hub.server.handlers.context import Services, find_sandbox
from cloche_hub.services.callback_handlers import Answer, HandlerCall, Registration
from cloche_hub.services.callbacks import KIND
from cloche_wire.aio import Channel


async def serve(services: Services, token: Token, channel: Channel) -> None:
    """`callback.serve`: accepted once calls can come, and ended by the client."""
    request = parse_serve(channel.params)
    owner = visible_owner(token, channel.kind)
    sandbox = None
    if request.sandbox is not None:
        sandbox = (await find_sandbox(services, token, channel.kind, Fields(channel.params))).id
    registration = Registration(
        token=token.id,
        owner=owner,
        sandbox=sandbox,
        methods=request.methods,
        answer=_answer_on(channel, request),
    )
    with services.callback_handlers.registered(registration):
        channel.accept({}, window=0)
        # Raises when the client gives it up, or is gone for good.
        await channel.wait_confirmed()


def _answer_on(channel: Channel, request: ServeRequest) -> Answer:
    """Has the client behind a channel answer calls, each on a channel of its own."""

    async def answer(call: HandlerCall) -> object:
        params = {
            "registration": request.registration,
            "callback": call.callback,
            "sandbox": call.sandbox,
            "sandbox_name": call.sandbox_name,
            "owner": call.owner,
            "labels": dict(call.labels),
            "method": call.method,
            "params": call.params.encode(),
            "approval": call.approval,
        }
        asked = channel.open_beside(KIND, params, window=0)
        try:
            return (await asked.result()).get("result")
        except asyncio.CancelledError:
            asked.reset(Cancelled("the caller gave up, or its sandbox has ended"))
            raise

    return answer
