"""A sandbox as a value: its states, its moves and its lease.

Pure: the store keeps sandboxes, services act on them. Nothing here reads a clock.

Rule: the only way to another state is `move`, along `TRANSITIONS`.
Rule: a lease begins when the sandbox runs (or fails) and is touched by use, so building an image does not eat it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from cloche_hub.errors import WrongState

NOTHING: Mapping[str, str] = MappingProxyType({})

MAX_REASON = 500
"""Characters of a reason that are kept."""


class State(StrEnum):
    """Where a sandbox is in its life."""

    CREATING = "creating"
    """Its image, template or machine is being made."""
    RUNNING = "running"
    """Its machine runs and has become itself."""
    REMOVING = "removing"
    """Its machine is being ended."""
    REMOVED = "removed"
    """Only its row is left."""
    FAILED = "failed"
    """It did not start, or its machine ended by itself; the boot log is kept until it is removed."""


class Move(StrEnum):
    """What can happen to a sandbox."""

    START = "start"
    FAIL = "fail"
    REMOVE = "remove"
    END = "end"
    """The removal is complete."""


TRANSITIONS: Mapping[tuple[State, Move], State] = MappingProxyType(
    {
        (State.CREATING, Move.START): State.RUNNING,
        (State.CREATING, Move.FAIL): State.FAILED,
        (State.CREATING, Move.REMOVE): State.REMOVING,
        (State.RUNNING, Move.FAIL): State.FAILED,
        (State.RUNNING, Move.REMOVE): State.REMOVING,
        (State.FAILED, Move.REMOVE): State.REMOVING,
        (State.REMOVING, Move.END): State.REMOVED,
    }
)
"""Every legal move. A machine that dies while it is being removed makes no move: it was going anyway."""

_ENDINGS = frozenset({State.FAILED, State.REMOVED})
_LEASED = frozenset({State.RUNNING, State.FAILED})


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What a user holds."""

    id: str
    name: str
    owner: str
    recipe: str
    flavor: str
    state: State
    created_at: datetime
    lease_s: float
    """How long it lives after its last use."""
    image: str | None = None
    """Digest; None until it is known."""
    labels: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    env: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """What every command in it starts with; may hold secrets, so it is never logged nor audited."""
    accelerator: str | None = None
    """kvm or tcg; None until the machine runs."""
    expires_at: datetime | None = None
    """When the lease runs out unless it is touched; None until it runs."""
    ended_at: datetime | None = None
    """When its machine ended: on failing or on removal, whichever came first."""
    end_reason: str | None = None
    """Why it ended: one line."""
    timings: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Seconds each step of its creation took."""

    @property
    def live(self) -> bool:
        """Whether it still holds its name: everything but removed."""
        return self.state is not State.REMOVED

    @property
    def label(self) -> str:
        """How messages speak of it."""
        return f"{self.name} ({self.id})"


def move(sandbox: Sandbox, what: Move, *, at: datetime, reason: str | None = None) -> Sandbox:
    """The sandbox after a move.

    Args:
        sandbox: as it is.
        what: the move.
        at: when it happens; starts the lease, or dates the end.
        reason: why it fails or is removed. The first reason stays: a failed sandbox removed later keeps its own.

    Raises:
        WrongState: there is no such move in its state.
    """
    after = TRANSITIONS.get((sandbox.state, what))
    if after is None:
        raise WrongState(
            f"cannot {what} sandbox {sandbox.label}: it is {_told(sandbox)}",
            sandbox=sandbox.id,
            state=str(sandbox.state),
            move=str(what),
        )
    moved = replace(sandbox, state=after, end_reason=sandbox.end_reason or _one_line(reason))
    if after in _ENDINGS and sandbox.ended_at is None:
        moved = replace(moved, ended_at=at)
    if after in _LEASED and sandbox.expires_at is None:
        moved = touched(moved, at=at)
    return moved


def touched(sandbox: Sandbox, *, at: datetime) -> Sandbox:
    """The sandbox with its whole lease before it again; a touch never takes time away (clocks can step back)."""
    expires_at = at + timedelta(seconds=sandbox.lease_s)
    if sandbox.expires_at is not None and sandbox.expires_at > expires_at:
        return sandbox
    return replace(sandbox, expires_at=expires_at)


def is_expired(sandbox: Sandbox, *, now: datetime) -> bool:
    """Whether the reaper should remove it: it runs or has failed, and its lease has run out."""
    return sandbox.state in _LEASED and sandbox.expires_at is not None and sandbox.expires_at <= now


def require_running(sandbox: Sandbox) -> Sandbox:
    """The sandbox itself, if commands can run in it.

    Raises:
        WrongState: it is not running; the message says why not.
    """
    if sandbox.state is not State.RUNNING:
        raise WrongState(
            f"sandbox {sandbox.label} is {_told(sandbox)}, not running",
            sandbox=sandbox.id,
            state=str(sandbox.state),
        )
    return sandbox


def _one_line(reason: str | None) -> str | None:
    # A reason may be another program's last words: whatever their form, listings and the audit hold one line.
    return " ".join(reason.split())[:MAX_REASON] if reason else None


def _told(sandbox: Sandbox) -> str:
    return f"{sandbox.state} ({sandbox.end_reason})" if sandbox.end_reason else str(sandbox.state)
