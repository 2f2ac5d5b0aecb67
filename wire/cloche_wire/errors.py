"""Every error that can cross a Cloche link, and the ones that cannot.

    WireError
    ├── LocalProtocolError      our own code asked for a move the protocol forbids; nothing was sent
    ├── RemoteProtocolError     the peer made a move the protocol forbids; the link must be dropped
    │   ├── Undecodable         it did not even send frames; nothing of that message was taken in
    │   └── WrongVersion        it speaks another version of the protocol
    └── CodedError              has a `code` that travels: what one side raises, the other side raises too
        ├── BadRequest, Unauthenticated, Forbidden, NotFound, Conflict, WrongState, …

Rule: the code on the wire and the class are one table (`ERROR_CLASSES`), built from the classes themselves.
Rule: a class exists only where a caller would handle it differently. A message says what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar


class WireError(Exception):
    """The root of everything this package raises."""


class LocalProtocolError(WireError):
    """Our own code asked for something the protocol does not allow now; nothing was sent."""


class RemoteProtocolError(WireError):
    """The peer sent something the protocol does not allow; the link must be dropped."""


class Undecodable(RemoteProtocolError):
    """A link message is not a sequence of frames. Nothing of it was taken in, so the session can go on on a new link."""


class WrongVersion(RemoteProtocolError):
    """The peer speaks another version of the protocol."""


class CodedError(WireError):
    """An error with a code that crosses the wire.

    Args:
        message: one sentence for a person: what is wrong and what to do about it.
        details: plain values (msgpack types) for programs.
    """

    code: ClassVar[str] = "internal"

    def __init__(self, message: str, /, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    def brief(self) -> CodedError:
        """The same without details, with a message that fits every frame and is text (a file's name may be none)."""
        return type(self)(self.message[:300].encode(errors="replace").decode())


class InternalError(CodedError):
    """A defect on the other side; its log has the cause."""

    code = "internal"


class UnknownCode(InternalError):
    """The other side named a code this version does not know; the message has it."""


class BadRequest(CodedError):
    """What was sent is wrong: a missing field, a wrong type, an impossible value, a breach of the protocol."""

    code = "bad_request"


class Unauthenticated(CodedError):
    """No token, or one the hub does not know."""

    code = "unauthenticated"


class Forbidden(CodedError):
    """The token is good, but its scope does not allow this."""

    code = "forbidden"


class NotFound(CodedError):
    """What the request names does not exist (or not for this token)."""

    code = "not_found"


class Conflict(CodedError):
    """The name or the place is taken."""

    code = "conflict"


class WrongState(CodedError):
    """The thing exists, but is in a state in which this cannot be done."""

    code = "wrong_state"


class RecipeNotBuilt(CodedError):
    """There is no image of this recipe yet."""

    code = "recipe_not_built"


class BuildFailed(CodedError):
    """An image or a template could not be built."""

    code = "build_failed"


class NoSpace(CodedError):
    """A disk or a bound of ours is full."""

    code = "no_space"


class TooLarge(CodedError):
    """A value is over a limit; the message names the limit."""

    code = "too_large"


class TimedOut(CodedError):
    """A deadline the caller set has passed."""

    code = "timed_out"


class LinkSilent(CodedError):
    """The other end has stopped answering; whether the request was carried out is not known."""

    code = "link_silent"


class LinkLost(CodedError):
    """The link is gone and could not be resumed; whether the request was carried out is not known."""

    code = "link_lost"


class MachineFailed(CodedError):
    """The virtual machine did not start, or has died."""

    code = "machine_failed"


class CommandNotStarted(CodedError):
    """The guest could not start the command (no such file, no permission, no such user)."""

    code = "command_not_started"


class SenselessAnswer(CodedError):
    """The guest answered what no sound one would; whether the request was carried out is not known."""

    code = "senseless_answer"


class NoHandler(CodedError):
    """Nobody who is connected to the hub answers this callback's method."""

    code = "no_handler"


class CallbackFailed(CodedError):
    """The handler of a callback failed; the message says what with."""

    code = "callback_failed"


class Cancelled(CodedError):
    """Somebody, usually the caller, called it off."""

    code = "cancelled"


class Unsupported(CodedError):
    """This version, machine or recipe cannot do it; the message says what can."""

    code = "unsupported"


class AuditBroken(CodedError):
    """The audit chain does not hold; details name the first bad event (`seq`) and why (`reason`)."""

    code = "audit_broken"


class ShuttingDown(CodedError):
    """The other side is going away in good order; try again when it is back."""

    code = "shutting_down"


TOLD_BY_HANDLERS = (
    BadRequest,
    CallbackFailed,
    Conflict,
    Forbidden,
    NoSpace,
    NotFound,
    TimedOut,
    TooLarge,
    Unsupported,
    WrongState,
)
"""What whoever answers a callback may tell the caller in words of its own: errors that say something of the call.

Others say something of the link, the hub or the program that answers; of those the caller hears that the call failed.
"""

ERROR_CLASSES: dict[str, type[CodedError]] = {cls.code: cls for cls in CodedError.__subclasses__()}


def error_from_code(code: str, message: str, details: dict[str, Any] | None = None) -> CodedError:
    """The exception for a code received from the peer; an unknown code becomes UnknownCode, an InternalError."""
    cls = ERROR_CLASSES.get(code)
    # The peer may be hostile: keys of another type than text would not pass as arguments.
    named = {key: value for key, value in (details or {}).items() if isinstance(key, str)}
    if cls is None:
        return UnknownCode(f"{message} (unknown error code {code[:40]!r})", **named)
    return cls(message, **named)


@contextmanager
def ungrouped() -> Iterator[None]:
    """Turns a task group's bundle of errors into the first of them: the others are what its end did to neighbours."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
