"""Which of several errors that came at once is the one to tell. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from cloche_wire.errors import CodedError, LinkLost, WireError


def reason_of_end(group: BaseExceptionGroup[WireError]) -> WireError:
    """Why a link ended, from what its tasks ended with: a lost link is often only what the others did to it."""
    return min(_leaves(group), key=lambda error: isinstance(error, LinkLost))


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
