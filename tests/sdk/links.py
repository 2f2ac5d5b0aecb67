"""A scripted hub and links to it, with patience that suits tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from websockets.asyncio.server import ServerConnection

from cloche.config import Address, find_address
from cloche.link import Link, Patience
from cloche_wire.frames import Decoder, Hello
from cloche_wire.limits import Limits
from tests.support.scripted_hub import TOKEN, ScriptedHub

# Short where a test waits for it to pass, long where it must not.
QUICK = Patience(connect_s=10, reconnect_s=10, first_delay_s=0.001, longest_delay_s=0.01)
IMPATIENT = replace(QUICK, connect_s=0.3)
FORSAKING = replace(QUICK, reconnect_s=0.3)


def link_to(hub: ScriptedHub, *, patience: Patience = QUICK, token: str | None = TOKEN, **more: Any) -> Link:
    """A link to a hub, not yet made."""
    return Link(find_address(hub.address), token, patience=patience, **more)


def at(path: Path) -> Address:
    """The address of a socket."""
    return find_address(f"unix://{path}")


async def hello_on(socket: ServerConnection) -> Hello:
    """The hello a client says first."""
    first = await socket.recv()
    assert isinstance(first, bytes)
    hello = next(Decoder(Limits()).frames(first))
    assert isinstance(hello, Hello)
    return hello
