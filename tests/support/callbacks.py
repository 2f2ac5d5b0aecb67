"""Both ends of callbacks for tests of a hub on fakes: a policy, and a program that answers.

write_policy(home, ALLOW)
async with running_hub(home) as hub, answering(hub, "pay.*") as shop:
    called = hub.machine.agent.callback("pay.send", {"amount": 3})
    assert await result_of(called) == {"amount": 3}
    assert shop.calls[0]["method"] == "pay.send"
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from cloche_wire.aio import Channel
from cloche_wire.frames import Fields
from tests.support.hub import Client, RunningHub, until, within

ALLOW = '[[rule]]\nname = "everything"\nmethods = ["*"]\nverdict = "allow"\n'
ASK = '[[rule]]\nname = "by hand"\nmethods = ["*"]\nverdict = "ask"\nreason = "money leaves by hand"\n'
DENY = '[[rule]]\nname = "nothing"\nmethods = ["*"]\nverdict = "deny"\nreason = "not from here"\n'

Answer = Callable[[Channel], Awaitable[object]]
"""What answers a call, from the hub's channel; returns any JSON value."""


def write_policy(home: Path, text: str) -> None:
    """Puts a policy where a hub with this home finds it at its start."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "policy.toml").write_text(text)


async def result_of(channel: Channel) -> Any:
    """What a guest's call came to."""
    return json.loads((await within(channel.result()))["result"])


async def echo(channel: Channel) -> object:
    """Answers with the parameters."""
    return json.loads(channel.params["params"])


async def never(channel: Channel) -> object:
    """Does not answer, until nobody waits for it any more."""
    await channel.wait_confirmed()
    raise AssertionError("nothing was closed")


class Answerer:
    """A program that answers callbacks; from `answering`."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.calls: list[Fields] = []
        """What it was asked, in order."""
        self.given_up = 0
        """Calls taken back before they were answered."""
        self.client: Client

    async def serve(self, channel: Channel) -> None:
        """Serves one call of the hub's."""
        self.calls.append(channel.params)
        try:
            result = await self.answer(channel)
            channel.close({"result": json.dumps(result).encode()})
        except BaseException:
            self.given_up += not channel.is_live
            raise

    async def register(self, *methods: str, **params: Any) -> Channel:
        """Offers to answer these methods, and returns when calls can come."""
        channel = self.client.open("callback.serve", methods=list(methods), **params)
        await within(channel.wait_accepted())
        return channel


@contextlib.asynccontextmanager
async def answering(
    hub: RunningHub, *methods: str, token: str | None = None, answer: Answer = echo, **params: Any
) -> AsyncIterator[Answerer]:
    """A connected program that answers methods (none: it has not offered any yet).

    Args:
        hub: where.
        methods: patterns.
        token: whose; the admin's unless told otherwise.
        answer: what it does.
        params: more of `callback.serve`.
    """
    answerer = Answerer(answer)
    async with hub.client(token, on_open=answerer.serve) as client:
        answerer.client = client
        if methods:
            await answerer.register(*methods, **params)
        yield answerer


async def pending(client: Client, count: int = 1) -> list[Fields]:
    """The approvals that wait, the newest first, once they are so many."""
    found: list[Fields] = []
    async with asyncio.timeout(10):
        while len(found) != count:
            found = (await client.call("approval.list"))["approvals"]
    return found


async def settled(hub: RunningHub, approval: str, state: str) -> Any:
    """An approval as the store has it, once it is in a state."""
    found = await hub.store.find_approval(approval)
    while found.state != state:
        await until(lambda: True)
        found = await hub.store.find_approval(approval)
    return found
