"""A callback as whoever answers it sees it, and what is said back. Pure; see `cloche.aio.callbacks`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from cloche.answers import Answer
from cloche.errors import (
    CallbackFailed,
    CodedError,
    TooLarge,
)
from cloche_wire.errors import TOLD_BY_HANDLERS

MAX_CALLBACK_BYTES = 128 << 10
"""Bytes of JSON text: what a callback may ask with, and be answered with."""


@dataclass(frozen=True, slots=True)
class CallbackCall:
    """One call of a program in a sandbox, as the function that answers it gets it."""

    id: str
    """`cb_…`, unique in its sandbox; the audit has it, too."""
    method: str
    """What is called, such as `pay.send`."""
    params: Any
    """The parameters, as JSON has them; where an operator has edited them, as they were approved."""
    sandbox: str
    """The id of the sandbox it comes from. The hub vouches for it; everything above is the guest's word."""
    sandbox_name: str
    owner: str
    """Whose sandbox that is."""
    labels: Mapping[str, str]
    """The sandbox's."""
    approval: str | None
    """The id of the approval that let it pass; None where the policy did."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a request of the hub."""
        read = Answer("callback", value)
        return cls(
            id=read.text("callback"),
            method=read.text("method"),
            params=_value(read.of_type("params", bytes)),
            sandbox=read.text("sandbox"),
            sandbox_name=read.text("sandbox_name"),
            owner=read.text("owner"),
            labels=read.mapping("labels", str),
            approval=read.optional("approval", read.text),
        )


def encode_result(value: Any) -> bytes:
    """What a function has returned, as JSON text.

    Raises:
        TypeError, ValueError: it is nothing JSON has.
        TooLarge: it is more than a callback may be answered with.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"the result must be something JSON has: {error}") from None
    if len(text) > MAX_CALLBACK_BYTES:
        raise TooLarge(f"the result is {len(text)} bytes of JSON; the limit is {MAX_CALLBACK_BYTES}")
    return text


def is_told_as_it_is(error: BaseException) -> bool:
    """Whether the caller gets an error under its own code."""
    return isinstance(error, TOLD_BY_HANDLERS)


def told_to_caller(error: BaseException) -> CodedError:
    """What the caller hears of an error: its own code if it is meant for callers, else its type and its message."""
    if isinstance(error, TOLD_BY_HANDLERS):
        return error.brief()
    # SAFETY: no traceback: where our files are and what they say is nothing for a guest.
    return CallbackFailed(
        ": ".join(filter(None, (type(error).__name__, " ".join(str(error).split()))))
    ).brief()


def _value(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        # It has read them itself, and more strictly.
        raise CallbackFailed("the hub has sent parameters that are no JSON") from None
