"""What runs on channels: a command, a terminal, a file on its way. Each kind of request has a service that starts it.

Rules:
- A service's `open` starts the work and adds it here, or raises and leaves the channel to the agent, which resets it.
- Work that is over removes itself; late events of its channel then go nowhere.
- Work ends with its session, unless its service sees to it before (`ptys`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from cloche_guest.children import Children
from cloche_guest.loop import Loop
from cloche_guest.trees import Trees
from cloche_guest.users import Accounts
from cloche_wire.connection import Connection


class Work(Protocol):
    """What runs on one channel that the hub has opened, as the agent sees it. Its methods never block."""

    def received(self, stream: int, data: bytes) -> None:
        """Bytes have come on a stream. May raise CodedError: the channel is reset with it, and the work killed."""

    def ended(self, stream: int) -> None:
        """A stream has ended; raises as `received`."""

    def acknowledged(self, stream: int) -> None:
        """There is credit on a stream."""

    def kill(self) -> None:
        """Nobody waits for it any more: ends it and says nothing."""


class Works:
    """The work under way, by channel."""

    def __init__(self) -> None:
        self._by_channel: dict[int, Work] = {}

    def add(self, channel: int, work: Work) -> None:
        """Work has begun on a channel."""
        self._by_channel[channel] = work

    def remove(self, channel: int) -> None:
        """The work on a channel needs no more events. Idempotent."""
        self._by_channel.pop(channel, None)

    def on(self, channel: int) -> Work | None:
        """The work on a channel, or None if it is over."""
        return self._by_channel.get(channel)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every work is started in."""

    loop: Loop
    connection: Connection
    trees: Trees
    accounts: Accounts
    default_user: str
    """Whom work is done as unless the request says so: a name or a number."""
    report: Callable[[Exception, str], None]
    """Told of a defect and of what was being done."""
    children: Children = field(default_factory=Children)
    works: Works = field(default_factory=Works)


Open = Callable[[int, Mapping[str, Any], Mapping[str, str]], None]
"""Starts work on an offered channel: its number, the request's parameters, the machine's environment.

Raises CodedError if it cannot begin.
"""
