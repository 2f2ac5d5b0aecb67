"""Conditions of a policy on a callback's parameters, and what it means that one cannot be told.

A condition looks at one place in the parameters and puts tests to the value there. It holds, does not hold, or cannot
be told: there is nothing at that place, or a value of another type than a test is about, or a text that is too long
to look through.

Rule: who asks decides what not being able to tell means (`policy`: it never lets anything pass).
Rule: values are compared as JSON has them: a number is a number however it is spelt, `true` is none, texts are
compared character by character.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from cloche_hub.domain.callback_json import JsonValue
from cloche_hub.domain.globs import matches

Scalar: TypeAlias = str | int | float | bool

MAX_LIKE_TEXT = 8 << 10
"""Characters of a text that a pattern is put to: a guest chooses the text, and a policy may have many patterns."""
_MAX_INDEX_DIGITS = 6


class Kind(Enum):
    """The types of JSON."""

    NULL = auto()
    FLAG = auto()
    NUMBER = auto()
    TEXT = auto()
    LIST = auto()
    MAP = auto()


class _Nothing:
    """What is found at a place that is not there."""


_NOTHING = _Nothing()


@dataclass(frozen=True, slots=True)
class OneOf:
    """The value is one of these."""

    values: tuple[Scalar, ...]

    def holds(self, value: JsonValue) -> bool | None:
        """Whether it holds; None: cannot be told, for no value here is of that type."""
        same_kind = [known for known in self.values if kind_of(known) is kind_of(value)]
        return any(known == value for known in same_kind) if same_kind else None


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The value is a number, and not below this one."""

    bound: int | float

    def holds(self, value: JsonValue) -> bool | None:
        """Whether it holds; None: cannot be told, for the value is no number."""
        number = _number(value)
        return None if number is None else number >= self.bound


@dataclass(frozen=True, slots=True)
class AtMost:
    """The value is a number, and not above this one."""

    bound: int | float

    def holds(self, value: JsonValue) -> bool | None:
        """Whether it holds; None: cannot be told, for the value is no number."""
        number = _number(value)
        return None if number is None else number <= self.bound


@dataclass(frozen=True, slots=True)
class Like:
    """The value is a text of at most `MAX_LIKE_TEXT` characters that fits a pattern (see `globs`)."""

    pattern: str

    def holds(self, value: JsonValue) -> bool | None:
        """Whether it holds; None: cannot be told, for the value is no text, or too long a one."""
        # SAFETY: what cannot be told never lets anything pass (`policy`), whatever the text begins with.
        if not isinstance(value, str) or len(value) > MAX_LIKE_TEXT:
            return None
        return matches(self.pattern, value)


Test: TypeAlias = OneOf | AtLeast | AtMost | Like


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold at one place in the parameters."""

    at: tuple[str, ...]
    """The way there: a member's name at each step, or an index (digits) where there is a list; empty: all of it."""
    tests: tuple[Test, ...]
    """All must hold."""

    def holds(self, params: JsonValue) -> bool | None:
        """Whether it holds; None: cannot be told."""
        value = _value_at(params, self.at)
        if isinstance(value, _Nothing):
            return None
        told = [test.holds(value) for test in self.tests]
        # One test that fails is enough, whatever the others cannot tell.
        if False in told:
            return False
        return None if None in told else True


def kind_of(value: JsonValue) -> Kind:
    """The type of a JSON value. Flags are no numbers, although Python counts them as such."""
    match value:
        case None:
            return Kind.NULL
        case bool():
            return Kind.FLAG
        case int() | float():
            return Kind.NUMBER
        case str():
            return Kind.TEXT
        case Mapping():
            return Kind.MAP
        case _:
            return Kind.LIST


def _number(value: JsonValue) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _value_at(params: JsonValue, way: tuple[str, ...]) -> JsonValue | _Nothing:
    value = params
    for step in way:
        match value:
            case Mapping() if step in value:
                value = value[step]
            case Sequence() if not isinstance(value, str) and _is_index(step) and int(step) < len(value):
                value = value[int(step)]
            case _:
                return _NOTHING
    return value


def _is_index(step: str) -> bool:
    # One spelling an index: no leading zero. No list of a callback has a million elements.
    return (
        step.isascii()
        and step.isdigit()
        and len(step) <= _MAX_INDEX_DIGITS
        and (step == "0" or step[0] != "0")
    )
