"""Who answers which callback: the registrations of connected clients.

Rules:
- A registration is asked only for sandboxes its token may see: the owner's own, or everybody's for operators.
- One for that very sandbox comes before one for all; among equals the newest, so that a program that was started
  again takes over from the one before it.
- A token's registrations are bounded by their patterns: each call is matched with them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass

from cloche_hub.domain.globs import matches
from cloche_hub.errors import TooLarge

MOST_PATTERNS = 1024
"""Patterns of one token's registrations together."""


@dataclass(frozen=True, slots=True)
class HandlerCall:
    """What a handler is told of a callback."""

    callback: str
    sandbox: str
    sandbox_name: str
    owner: str
    """Whose sandbox that is."""
    labels: Mapping[str, str]
    """The sandbox's."""
    method: str
    params: str
    """JSON text: what the guest asked, or what an operator made of it."""
    approval: str | None
    """The id of the approval that let it pass; None where the policy did."""


Answer = Callable[[HandlerCall], Awaitable[object]]
"""Has a client answer a call; returns what it says the result is. Cancelling tells it to stop.

Raises CodedError: what the client answered, or what happened to its link.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Registration:
    """A client that answers callbacks."""

    token: str
    """The id of the client's token."""
    owner: str | None
    """Whose sandboxes it may see; None: everybody's."""
    sandbox: str | None
    """The id of the one sandbox it is for; None: all that it may see."""
    methods: tuple[str, ...]
    """Patterns, one of which must match."""
    answer: Answer

    def answers(self, *, sandbox: str, owner: str, method: str) -> bool:
        """Whether it is asked for this method of this sandbox."""
        return (
            self.owner in (None, owner)
            and self.sandbox in (None, sandbox)
            and any(matches(pattern, method) for pattern in self.methods)
        )


class CallbackHandlers:
    """The registrations there are now."""

    def __init__(self) -> None:
        # The oldest first: dicts are used as ordered sets.
        self._registrations: dict[Registration, None] = {}

    @contextlib.contextmanager
    def registered(self, registration: Registration) -> Iterator[None]:
        """Asks it for calls until the context is left; calls under way then go on.

        Raises:
            TooLarge: its token has as many patterns registered as it may.
        """
        others = sum(len(one.methods) for one in self._registrations if one.token == registration.token)
        if others + len(registration.methods) > MOST_PATTERNS:
            raise TooLarge(
                f"this token has {others} methods registered, and {MOST_PATTERNS} are the most; use patterns"
            )
        self._registrations[registration] = None
        try:
            yield
        finally:
            del self._registrations[registration]

    def find(self, *, sandbox: str, owner: str, method: str) -> Registration | None:
        """Who answers a call; None if nobody does."""
        general: Registration | None = None
        for registration in reversed(self._registrations):
            if registration.answers(sandbox=sandbox, owner=owner, method=method):
                if registration.sandbox is not None:
                    return registration
                general = general or registration
        return general
