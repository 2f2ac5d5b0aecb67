"""What the hub keeps of a sandbox that is not removed, and the small moves on it. Its life is led in `life`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.masking import NO_SECRETS, Secrets
from cloche_hub.domain.sandbox import Move, Sandbox, State, move
from cloche_hub.errors import Cancelled
from cloche_hub.ports import Guest, Machine
from cloche_hub.services.clock import Clock

HUB = "hub"
"""The actor of what the hub does by itself."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Who wants a sandbox gone, and why."""

    actor: str
    reason: str
    event: AuditName = AuditName.SANDBOX_REMOVED
    """What the audit calls it."""


@dataclass(slots=True, eq=False)
class Held:
    """A sandbox that is not removed, and what it holds. The only mutable record of it."""

    _sandbox: Sandbox
    started: asyncio.Future[None]
    """Done when it runs, or with the reason why it does not."""
    ending: asyncio.Future[Ending]
    """Done when somebody wants it gone."""
    tell: Callable[[Sandbox], None] = lambda _sandbox: None
    """Told the sandbox whenever it changes, once it can be seen; must not wait and must not raise."""
    secrets: Secrets = NO_SECRETS
    """In the environment of its machine, and in nothing that is kept."""
    _is_recorded: bool = False
    life: asyncio.Task[None] | None = None
    machine: Machine | None = None
    guest: Guest | None = None
    """There exactly while the sandbox runs."""
    boot_log: bytes = b""
    """What was left of its serial console when its machine failed."""
    busy: int = 0
    """Execs under way: a busy sandbox does not expire."""
    steps: dict[str, float] = field(default_factory=dict)
    """Seconds each step of its creation took."""

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox as it is now."""
        return self._sandbox

    @sandbox.setter
    def sandbox(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        if self._is_recorded:
            self.tell(sandbox)

    @property
    def is_recorded(self) -> bool:
        """Whether the store has its row: from then on it can be seen."""
        return self._is_recorded

    def set_recorded(self) -> None:
        """The store has its row."""
        self._is_recorded = True
        self.tell(self._sandbox)


def hold(
    sandbox: Sandbox,
    tell: Callable[[Sandbox], None] = lambda _sandbox: None,
    *,
    secrets: Secrets = NO_SECRETS,
) -> Held:
    """The record of a sandbox; `tell` hears of every change that can be seen."""
    loop = asyncio.get_running_loop()
    held = Held(sandbox, loop.create_future(), loop.create_future(), tell, secrets)
    # Whoever made it may be gone by the time it fails: then nobody looks at the reason here.
    held.started.add_done_callback(lambda started: started.exception())
    return held


def ask_to_end(held: Held, ending: Ending) -> None:
    """Wants it gone; the first who does is the one it is put down to."""
    if not held.ending.done():
        held.ending.set_result(ending)


def begin_removal(held: Held, end: Ending, clock: Clock) -> None:
    """Moves it to `removing`, and tells a maker who still waits for it."""
    if held.sandbox.state is not State.REMOVING:
        held.sandbox = move(held.sandbox, Move.REMOVE, at=clock.now(), reason=end.reason)
    if not held.started.done():
        held.started.set_exception(
            Cancelled(f"sandbox {held.sandbox.label} was given up while it was being created: {end.reason}")
        )


@contextlib.contextmanager
def timed(held: Held, step: str) -> Iterator[None]:
    """Adds to what a step of its creation takes."""
    began = time.monotonic()
    try:
        yield
    finally:
        held.steps[step] = round(held.steps.get(step, 0.0) + time.monotonic() - began, 4)


def milliseconds(held: Held) -> dict[str, Json]:
    """The steps as an audit event holds them."""
    return {f"{step}_ms": round(seconds * 1000) for step, seconds in held.steps.items()}
