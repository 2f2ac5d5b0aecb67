"""The agent inside a machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from cloche_hub.domain.identity import Identity
from cloche_hub.errors import CodedError
from cloche_hub.ports.machines import Machine
from cloche_wire.aio import Channel, Handler
from cloche_wire.events import Greeted


class Guest(Protocol):
    """The agent inside one machine, as long as its link is kept up."""

    async def run(self) -> None:
        """Keeps the link up until it can be no more, then raises why (MachineFailed, RemoteProtocolError)."""
        ...

    async def greeting(self) -> Greeted:
        """The agent's hello; waits for it within the link's bounds, then raises LinkSilent."""
        ...

    async def become(self, identity: Identity) -> None:
        """Makes a clone a machine of its own.

        Raises:
            CodedError: the agent refused, or does not answer.
        """
        ...

    async def open_work(self, kind: str, params: dict[str, Any], *, window: int) -> Channel:
        """A channel of a kind that the agent serves, just opened. Raises LinkSilent if the guest does not answer."""
        ...

    async def power_off(self) -> bool:
        """Asks the guest to power itself off; returns whether it has said that it will, once that is known."""
        ...

    def fail(self, error: CodedError) -> None:
        """Ends the link for good: every call under way and every later one fails with this error."""
        ...


ConnectGuest = Callable[[Machine, Handler], AbstractAsyncContextManager[Guest]]
"""Links a machine's agent to the hub; the handler serves the channels that the guest opens."""
