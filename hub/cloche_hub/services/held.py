"""What the hub keeps of a sandbox that is not removed, and the small moves on it. The lives are led in `sandboxes`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from cloche_hub.domain.audit import Json
from cloche_hub.domain.sandbox import Move, Sandbox, State, move
from cloche_hub.errors import Cancelled, CodedError, MachineFailed
from cloche_hub.ports import Guest, Machine
from cloche_hub.services.clock import Clock
from cloche_wire.errors import WireError

HUB = "hub"
"""The actor of what the hub does by itself."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Who wants a sandbox gone, and why."""

    actor: str
    reason: str


@dataclass(slots=True)
class Held:
    """A sandbox that is not removed, and what it holds. The only mutable record of it; `_life` alone moves it."""

    sandbox: Sandbox
    started: asyncio.Future[None]
    """Done when it runs, or with the reason why it does not."""
    ending: asyncio.Future[Ending]
    """Done when somebody wants it gone."""
    life: asyncio.Task[None] | None = None
    machine: Machine | None = None
    guest: Guest | None = None
    boot_log: bytes = b""
    """What was left of its serial console when its machine failed."""
    busy: int = 0
    """Execs under way: a busy sandbox does not expire."""
    steps: dict[str, float] = field(default_factory=dict)
    """Seconds each step of its creation took."""


def ask_to_end(held: Held, actor: str, reason: str) -> None:
    """Wants it gone; the first who does is the one it is put down to."""
    if not held.ending.done():
        held.ending.set_result(Ending(actor, reason))


def begin_removal(held: Held, end: Ending, clock: Clock) -> None:
    """Moves it to `removing`, and tells a maker who still waits for it."""
    if held.sandbox.state is not State.REMOVING:
        held.sandbox = move(held.sandbox, Move.REMOVE, at=clock.now(), reason=end.reason)
    if not held.started.done():
        held.started.set_exception(
            Cancelled(f"sandbox {held.sandbox.label} was removed while it was being created")
        )


def reason_of(error: BaseException) -> CodedError:
    """The one error to tell, from what a task group has gathered: the machine's end explains all the others."""
    if isinstance(error, BaseExceptionGroup):
        reasons = [reason_of(one) for one in error.exceptions]
        return next((reason for reason in reasons if isinstance(reason, MachineFailed)), reasons[0])
    if isinstance(error, CodedError):
        return error
    if isinstance(error, WireError):
        return MachineFailed(f"its guest broke the protocol and was cut off: {error}")
    raise error


@contextlib.contextmanager
def timed(held: Held, step: str) -> Iterator[None]:
    """Notes how long a step of its creation takes."""
    began = time.monotonic()
    try:
        yield
    finally:
        held.steps[step] = round(time.monotonic() - began, 4)


def milliseconds(held: Held) -> dict[str, Json]:
    """The steps as an audit event holds them."""
    return {f"{step}_ms": round(seconds * 1000) for step, seconds in held.steps.items()}
