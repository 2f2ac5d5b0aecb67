"""The JSON that callbacks carry: read strictly, written in one spelling. Policy, operator and handler see the same.

Stricter than most readers, because two readers that differ are a way around a policy: a member that comes twice,
numbers that are none (NaN, Infinity) or that not every language keeps, and half surrogate pairs are refused.

Canonical text is what everybody gets: UTF-8, no white space, members sorted by key, numbers as Python writes them.
Rule: sizes are checked before anything is parsed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from cloche_hub.errors import BadRequest, TooLarge

JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"

MAX_CALLBACK_BYTES = 128 << 10
"""Bytes of JSON text: the parameters of a callback, or its result."""
MAX_DEPTH = 64
"""Lists and maps inside one another."""
MIN_WHOLE = -(1 << 63)
MAX_WHOLE = (1 << 64) - 1
"""Whole numbers between these are what MessagePack and most languages can hold."""

_WHOLE_DIGITS = 20


def parse_params(data: bytes) -> JsonValue:
    """The parameters of a callback from their JSON text; see `parse_json`."""
    return parse_json(data, what="params")


def parse_result(data: bytes) -> JsonValue:
    """The result of a callback from its JSON text; see `parse_json`."""
    return parse_json(data, what="the result")


def parse_json(data: bytes, *, what: str) -> JsonValue:
    """A value from its JSON text; see `parse_canonical`."""
    return parse_canonical(data, what=what)[0]


def parse_canonical(data: bytes, *, what: str) -> tuple[JsonValue, str]:
    """A value from its JSON text, and its canonical text.

    Args:
        data: the text in UTF-8, any spelling.
        what: names it in errors.

    Raises:
        TooLarge: the text, or its canonical form, is longer than `MAX_CALLBACK_BYTES`.
        BadRequest: it is no JSON, or none that every reader understands alike.
    """
    _check_size(len(data), what)
    try:
        value: JsonValue = json.loads(
            data.decode(),
            object_pairs_hook=_members,
            parse_int=_whole,
            parse_float=_fraction,
            parse_constant=_no_number,
        )
    except UnicodeDecodeError:
        raise BadRequest(f"{what} must be JSON in UTF-8; byte sequences that are none are in it") from None
    except RecursionError:
        raise _too_deep(what) from None
    except ValueError as error:
        raise BadRequest(f"{what} must be good JSON: {error}") from None
    if _is_deeper(value, MAX_DEPTH):
        raise _too_deep(what)
    # Numbers may grow by being spelt out.
    return value, canonical_json(value, what=what)


def canonical_json(value: JsonValue, *, what: str = "the value") -> str:
    """A value as canonical JSON text.

    Args:
        value: one that `parse_json` gave.
        what: names it in errors.

    Raises:
        TooLarge: the text is longer than `MAX_CALLBACK_BYTES` in UTF-8.
        BadRequest: it holds half a surrogate pair.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    try:
        _check_size(len(text.encode()), what)
    except UnicodeEncodeError:
        raise BadRequest(f"{what} holds a text with half a surrogate pair, which is no character") from None
    return text


def _check_size(size: int, what: str) -> None:
    if size > MAX_CALLBACK_BYTES:
        raise TooLarge(
            f"{what} is {size} bytes of JSON; the limit is {MAX_CALLBACK_BYTES}; pass large data in a file"
        )


def _too_deep(what: str) -> BadRequest:
    return BadRequest(f"{what} has more than {MAX_DEPTH} lists and maps inside one another")


def _is_deeper(value: JsonValue, depth: int) -> bool:
    containers: list[Any] = [value]
    for _ in range(depth + 1):
        containers = [one for one in containers if isinstance(one, dict | list)]
        if not containers:
            return False
        containers = [
            element for one in containers for element in (one.values() if isinstance(one, dict) else one)
        ]
    return True


def _members(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members: dict[str, JsonValue] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"the member {name[:60]!r} comes twice")
        members[name] = value
    return members


def _whole(digits: str) -> int:
    # The length first: a number of a thousand digits takes a while.
    if len(digits) > _WHOLE_DIGITS or not MIN_WHOLE <= int(digits) <= MAX_WHOLE:
        raise ValueError(f"{digits[:24]}… needs more than 64 bits; give such a number as a text")
    return int(digits)


def _fraction(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:24]} is too large a number; give it as a text")
    return number


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")
