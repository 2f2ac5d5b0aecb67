"""What is said on the callback socket, as values: a line that asks, a line that answers. Pure.

    {"method": "pay.send", "params": {"amount": 3}, "timeout_s": 30, "wait": true}
    {"result": {"paid": true}}        or        {"error": {"code": "forbidden", "message": "…"}}

Rules:
- A wrong request is a CodedError that says what would do; nothing of it reaches the hub.
- Parameters are written anew: whatever the caller wrote, the hub gets one JSON text that says one thing.
- Results pass as the hub has written them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from cloche_guest.fields import check_known, flag, shown
from cloche_wire.errors import BadRequest, CodedError, TooLarge

MAX_CALLBACK_BYTES = 128 << 10
"""Of the JSON text of parameters, and of a result."""
MAX_LINE = MAX_CALLBACK_BYTES + (4 << 10)
"""Of a request, with its newline: the rest of it needs less than 4 KiB."""

_METHOD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}")
_LONGEST_TIMEOUT_S = 1e9
_MOST_MESSAGE = 1000


@dataclass(frozen=True, slots=True)
class CallbackRequest:
    """One call of a method outside of the machine."""

    method: str
    params: bytes = field(repr=False)
    """JSON text in UTF-8."""
    timeout_s: float | None = None
    """How long the caller waits; None: for as long as it takes."""
    wait: bool = True
    """Whether the caller wants the result; otherwise it only wants to know that the hub has taken the call."""


def parse_request(line: bytes) -> CallbackRequest:
    """The request in a line.

    Raises:
        BadRequest: names what is wrong.
        TooLarge: the parameters are.
    """
    try:
        return _checked(json.loads(line, parse_constant=_refuse_constant))
    except RecursionError:
        raise BadRequest("the request is nested too deeply") from None
    except ValueError as error:
        raise BadRequest(f"the request is no JSON in UTF-8: {error}") from None


def result_line(text: bytes) -> bytes:
    """The line that gives a result.

    Args:
        text: JSON text, of one line or of many.
    """
    # In JSON text a line break is nothing but white space; within a string it would be written as an escape.
    return b'{"result":%s}\n' % text.replace(b"\n", b" ").replace(b"\r", b" ")


def error_line(error: CodedError) -> bytes:
    """The line that says why there is no result."""
    said = {"code": error.code, "message": error.message[:_MOST_MESSAGE]}
    return json.dumps({"error": said}).encode() + b"\n"


def _checked(asked: object) -> CallbackRequest:
    if not isinstance(asked, dict):
        raise BadRequest(f"the request must be a JSON object, not {shown(asked)}")
    check_known(asked, ("method", "params", "timeout_s", "wait"))
    method = asked.get("method")
    if not isinstance(method, str) or not _METHOD.fullmatch(method):
        raise BadRequest(
            "method must be up to 100 letters, digits and any of '_.:/-', and begin with none of '.:/-'; "
            f"it is {shown(method)}"
        )
    return CallbackRequest(
        method,
        _json(asked.get("params")),
        _timeout(asked.get("timeout_s")),
        flag(asked, "wait", default=True),
    )


def _json(params: Any) -> bytes:
    try:
        text = json.dumps(params, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise BadRequest("params hold half of a surrogate pair, which is no character") from None
    except ValueError:
        raise BadRequest("params hold a number that is too large") from None
    if len(text) > MAX_CALLBACK_BYTES:
        raise TooLarge(f"params are {len(text)} bytes of JSON, and at most {MAX_CALLBACK_BYTES} can be sent")
    return text


def _timeout(timeout: object) -> float | None:
    if timeout is None:
        return None
    if (
        isinstance(timeout, bool)
        or not isinstance(timeout, int | float)
        or not 0 < timeout <= _LONGEST_TIMEOUT_S
    ):
        most = f"{_LONGEST_TIMEOUT_S:.0f}"
        raise BadRequest(f"timeout_s must be above 0 and at most {most}, not {shown(timeout)}")
    return float(timeout)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
