"""Every error that hostile input may cause, and why: one row a border. Anything else that is raised is a finding.

Rule: an error counts by its exact class. A subclass has a row of its own, since callers tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cloche_hub.errors import SenselessAnswer
from cloche_wire.errors import (
    BadRequest,
    CodedError,
    RemoteProtocolError,
    TooLarge,
    Undecodable,
    WrongVersion,
)
from cloche_wire.frames import Reset, encode
from cloche_wire.limits import Limits

PARSED = "parsed"
"""What became of input that was taken."""

Permitted = Mapping[type[Exception], str]

LINK: Permitted = {
    Undecodable: "it is no sequence of frames: nothing was taken in, and the session may go on on a new link",
    RemoteProtocolError: "a move the tables forbid: the peer loses its session, nobody else does",
    WrongVersion: "its hello is of another version of the protocol: the peer is told ours",
}
FRAMES: Permitted = {Undecodable: "it is no sequence of frames, or one that is over a bound"}
BYTE_STREAM: Permitted = {Undecodable: "the stream is out of step: the next sync mends it"}
REQUEST: Permitted = {BadRequest: "a field will not do: who asks is told which one, and what would do"}
MESSAGES: Permitted = {BadRequest: "no messages: the one command or console concerned is told so"}
JSON: Permitted = {
    BadRequest: "no JSON, or none that every reader understands alike: the caller is told what is wrong with it",
    TooLarge: "JSON beyond the bound of a callback: the caller is told the bound",
}
ANSWER: Permitted = {
    SenselessAnswer: "a guest's account that no sound guest gives: not believed, not passed on"
}
NOTHING: Permitted = {}
"""Of borders that answer with what is wrong instead of raising it."""


def outcome_of(permitted: Permitted, act: Callable[[], Any]) -> str:
    """Acts on hostile input; returns `PARSED`, or the name of the permitted error that was raised.

    Raises:
        Exception: one that is not permitted.
    """
    try:
        act()
    except Exception as error:
        if type(error) not in permitted:
            raise
        _can_be_told(error)
        return type(error).__name__
    return PARSED


def _can_be_told(error: Exception) -> None:
    """An error with a code must reach who caused it, whatever it quotes of their words."""
    if isinstance(error, CodedError):
        assert encode(Reset(1, error.code, error.brief().message, {}), Limits())
