"""What the hub makes of a guest's words: a guest is hostile, and its errors reach clients and the audit. Pure.

Rules:
- A guest may only name errors that a sound agent has. Any other would be taken for the hub's own (`machine_failed`,
  `unauthenticated`) or be believed for nothing; it becomes `senseless_answer`.
- Of an error only a line of printable text and the details known here are passed on.
- The agent that has greeted first is the one for the machine's whole life.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from cloche_hub.errors import (
    BadRequest,
    CodedError,
    CommandNotStarted,
    Conflict,
    Forbidden,
    InternalError,
    MachineFailed,
    NoSpace,
    NotFound,
    SenselessAnswer,
    TooLarge,
    Unsupported,
    WrongState,
)
from cloche_wire.errors import RemoteProtocolError
from cloche_wire.events import Greeted

MAX_MESSAGE = 500
"""Characters of a guest's message: a path of some length and a sentence around it."""

_WORD = re.compile(r"[a-z_]{1,40}", re.ASCII)
_UNSEEN = object()


def _is_word(value: object) -> bool:
    return isinstance(value, str) and _WORD.fullmatch(value) is not None


_Details = Mapping[str, Callable[[object], bool]]
_NO_DETAILS: _Details = {}

HONEST: Mapping[type[CodedError], _Details] = {
    BadRequest: _NO_DETAILS,
    CommandNotStarted: {"reason": _is_word},
    Conflict: _NO_DETAILS,
    Forbidden: _NO_DETAILS,
    InternalError: _NO_DETAILS,
    NoSpace: _NO_DETAILS,
    NotFound: _NO_DETAILS,
    TooLarge: _NO_DETAILS,
    Unsupported: _NO_DETAILS,
    WrongState: _NO_DETAILS,
}
"""The errors a sound agent has, and the details of each with their checks."""


class GuestJudge:
    """Weighs one guest's words. Implements cloche_wire.aio.Judge."""

    def __init__(self) -> None:
        self._agent: object = _UNSEEN

    def greeted(self, greeting: Greeted) -> None:
        """Keeps who greets first, and lets nobody else in.

        Raises:
            RemoteProtocolError: it is another agent.
        """
        agent = greeting.info.get("agent")
        if self._agent is _UNSEEN:
            self._agent = agent
        elif agent != self._agent:
            raise RemoteProtocolError("another agent greets than the one the machine began with")

    def error(self, said: CodedError) -> CodedError:
        """The error as a client may hear it."""
        # Not by the code: one that is unknown here counts as `internal`, and is none of a sound agent's.
        known = HONEST.get(type(said))
        if known is None:
            return SenselessAnswer(
                f"the guest answered with an error that no sound guest has ({said.code}): {one_line(said.message)}"
            )
        return type(said)(one_line(said.message), **_checked(said.details, known))

    def breach(self, error: RemoteProtocolError) -> CodedError:
        """The machine is ended for it."""
        return MachineFailed(f"the machine was ended because its guest broke the protocol: {error}")


def one_line(text: str) -> str:
    """A hostile text as a line that any terminal and any log can show: cut, and nothing in it that is not printed."""
    cut = text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"
    return "".join(letter if letter.isprintable() else " " for letter in cut)


def _checked(details: Mapping[str, Any], known: _Details) -> dict[str, Any]:
    return {key: details[key] for key, holds in known.items() if key in details and holds(details[key])}
