"""What the hub raises: the wire's coded errors under one roof, plus what never crosses a link.

    CodedError (cloche_wire.errors)     reaches the client as it is
    HubError                            stays inside: a defect or a broken host, logged where it ends
    ├── SettingsError                   a setting is wrong; the message names it
    ├── HomeInUse                       another hub has this home open; `pid` says which
    └── StoreFailed                     the database could not be opened, read or written

Rule: services raise coded errors; a HubError that reaches a handler becomes `internal` for the client.
"""

from __future__ import annotations

from cloche_wire.errors import (
    AuditBroken,
    BadRequest,
    BuildFailed,
    CallbackFailed,
    Cancelled,
    CodedError,
    CommandNotStarted,
    Conflict,
    Forbidden,
    InternalError,
    LinkLost,
    LinkSilent,
    MachineFailed,
    NoHandler,
    NoSpace,
    NotFound,
    RecipeNotBuilt,
    SenselessAnswer,
    ShuttingDown,
    TimedOut,
    TooLarge,
    Unauthenticated,
    Unsupported,
    WrongState,
)

__all__ = [
    "AuditBroken",
    "BadRequest",
    "BuildFailed",
    "CallbackFailed",
    "Cancelled",
    "CodedError",
    "CommandNotStarted",
    "Conflict",
    "Forbidden",
    "HomeInUse",
    "HubError",
    "InternalError",
    "LinkLost",
    "LinkSilent",
    "MachineFailed",
    "NoHandler",
    "NoSpace",
    "NotFound",
    "RecipeNotBuilt",
    "SenselessAnswer",
    "SettingsError",
    "ShuttingDown",
    "StoreFailed",
    "TimedOut",
    "TooLarge",
    "Unauthenticated",
    "Unsupported",
    "WrongState",
]


class HubError(Exception):
    """Something inside the hub or its host is broken; a client only learns `internal`."""


class SettingsError(HubError):
    """A setting has a value the hub cannot use; the message names the setting, its value and what would do."""


class HomeInUse(HubError):
    """Another hub has this home open.

    Args:
        message: says so, with the way out.
        pid: the other hub's process id, or None if it left none.
    """

    def __init__(self, message: str, *, pid: int | None) -> None:
        super().__init__(message)
        self.pid = pid


class StoreFailed(HubError):
    """The database could not be opened, read or written.

    A change that failed so has not happened, except after an I/O error of the disk: then nobody knows before the next
    start.
    """
