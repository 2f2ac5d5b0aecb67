"""What each request does: one small function a kind, and the table that names them all.

A handler parses the parameters, checks who may, calls a service and closes the channel with plain values.
Rule: whoever may not see a sandbox is told that it does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from cloche_hub.domain.tokens import Token, allows, require
from cloche_hub.errors import Unsupported
from cloche_hub.server.handlers import (
    approvals,
    audit,
    audit_search,
    callbacks,
    consoles,
    disk,
    events,
    execs,
    files,
    hub,
    images,
    policy,
    recordings,
    sandboxes,
    screens,
    tokens,
)
from cloche_hub.server.handlers.context import Handler, Services
from cloche_wire.aio import Channel

HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "hub.status": hub.status,
        "hub.stop": hub.stop,
        "sandbox.create": sandboxes.create,
        "sandbox.list": sandboxes.list_,
        "sandbox.show": sandboxes.show,
        "sandbox.remove": sandboxes.remove,
        "sandbox.boot_log": sandboxes.boot_log,
        "exec": execs.exec_,
        "console.create": consoles.create,
        "console.list": consoles.list_,
        "console.close": consoles.close,
        "console.attach": consoles.attach,
        "console.screen": screens.screen,
        "recording.list": recordings.list_,
        "recording.show": recordings.show,
        "recording.read": recordings.read,
        "recording.search": recordings.search,
        "file.read": files.read,
        "file.write": files.write,
        "file.stat": files.stat,
        "file.list": files.list_,
        "file.make_dir": files.make_dir,
        "file.remove": files.remove,
        "file.rename": files.rename,
        "file.set_mode": files.set_mode,
        "file.link": files.link,
        "image.build": images.build,
        "image.list": images.list_,
        "image.remove": images.remove,
        "disk.usage": disk.usage,
        "disk.prune": disk.prune,
        "callback.serve": callbacks.serve,
        "approval.list": approvals.list_,
        "approval.show": approvals.show,
        "approval.approve": approvals.approve,
        "approval.deny": approvals.deny,
        "audit.tail": audit.tail,
        "audit.read": audit.read,
        "audit.search": audit_search.search,
        "audit.verify": audit.verify,
        "audit.export": audit.export,
        "policy.show": policy.show,
        "policy.check": policy.check,
        "policy.reload": policy.reload,
        "events": events.events,
        "token.create": tokens.create,
        "token.list": tokens.list_,
        "token.revoke": tokens.revoke,
    }
)
"""Kind → handler. Each kind is also in `tokens.POWERS`."""


def greet(services: Services, token: Token) -> dict[str, Any]:
    """What a client is told as its session begins: whoever can decide approvals, how many wait."""
    return {"waiting": services.approvals.waiting} if allows(token, "approval.approve") else {}


async def serve(services: Services, channel: Channel, token: Token) -> None:
    """Serves one channel a client has opened.

    Raises:
        Unsupported: there is no such request.
        Forbidden: the token's scope does not allow it.
    """
    handler = HANDLERS.get(channel.kind)
    if handler is None:
        raise Unsupported(
            f"this hub ({services.version}) knows no request {channel.kind[:60]!r}; is the client newer?"
        )
    require(token, channel.kind)
    await handler(services, token, channel)
