"""What the hub raises: the wire's coded errors under one roof, plus what never crosses a link.

    CodedError (cloche_wire.errors)     reaches the client as it is
    HubError                            stays inside: a defect or a broken host, logged where it ends

Rule: services raise coded errors; a HubError that reaches a handler becomes `internal` for the client.
"""

from __future__ import annotations

from cloche_wire.errors import (
    BadRequest,
    BuildFailed,
    Cancelled,
    CodedError,
    CommandNotStarted,
    Conflict,
    Forbidden,
    InternalError,
    LinkLost,
    LinkSilent,
    MachineFailed,
    NoSpace,
    NotFound,
    RecipeNotBuilt,
    ShuttingDown,
    TimedOut,
    TooLarge,
    Unauthenticated,
    Unsupported,
    WrongState,
)

__all__ = [
    "BadRequest",
    "BuildFailed",
    "Cancelled",
    "CodedError",
    "CommandNotStarted",
    "Conflict",
    "Forbidden",
    "HubError",
    "InternalError",
    "LinkLost",
    "LinkSilent",
    "MachineFailed",
    "NoSpace",
    "NotFound",
    "RecipeNotBuilt",
    "ShuttingDown",
    "TimedOut",
    "TooLarge",
    "Unauthenticated",
    "Unsupported",
    "WrongState",
]


class HubError(Exception):
    """Something inside the hub or its host is broken; a client only learns `internal`."""
