"""Which error is the one to tell: of several that came at once, and to a peer that broke the protocol. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from cloche_wire.errors import (
    BadRequest,
    CodedError,
    LinkLost,
    RemoteProtocolError,
    Unsupported,
    WireError,
    WrongVersion,
)


def reason_of_end(group: BaseExceptionGroup[WireError]) -> WireError:
    """Why a link ended, from what its tasks ended with: a lost link is often only what the others did to it."""
    return min(_leaves(group), key=lambda error: isinstance(error, LinkLost))


def told_to_breaker(error: RemoteProtocolError) -> CodedError:
    """What a peer is told that broke the protocol: never `internal`, which would send its user to our log."""
    if isinstance(error, WrongVersion):
        return Unsupported(f"{error}; use the same version of Cloche on both sides")
    return BadRequest(f"protocol error: {error}")


def meant_for_caller(error: Exception) -> CodedError | None:
    """The error a handler meant for its caller: its own, or the first in the group of its tasks if they all are such.

    None for a defect, of which the caller learns nothing.
    """
    if isinstance(error, ExceptionGroup):
        meant = [meant_for_caller(inner) for inner in error.exceptions]
        return None if None in meant else meant[0]
    return error if isinstance(error, CodedError) else None


def _leaves(error: WireError | BaseExceptionGroup[WireError]) -> Iterator[WireError]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
