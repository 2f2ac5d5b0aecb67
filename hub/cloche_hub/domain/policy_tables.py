"""Reading the tables of a policy: each value by a function of its own, each problem noted with its place.

Pure. Rule: a problem never ends the reading; whoever mends a file wants to know all there is.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, TypeVar

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

_SHOWN = 60


class Wrong(ValueError):
    """A value will not do; the message says what would."""


class Table:
    """One table, read key by key.

    Args:
        where: its place, put before each problem.
        values: what it holds.
        problems: where problems go.
        known: the keys it may have; others are problems.
    """

    def __init__(self, where: str, values: dict[str, Any], problems: list[str], known: Sequence[str]) -> None:
        self.where, self.values = where, values
        self._problems = problems
        for key in values:
            if key not in known:
                self._problems.append(f"{where}unknown key {quoted(key)}{_near(key, known)}")

    def take(self, key: str, read: Callable[[Any], T], default: T) -> T:
        """The value of a key; the default where it is absent or wrong."""
        if key not in self.values:
            return default
        try:
            return read(self.values[key])
        except Wrong as wrong:
            self.tell(key, str(wrong))
        return default

    def need(self, key: str, read: Callable[[Any], T], instead: T) -> T:
        """The value of a key that must be there; `instead` where it is not, or wrong."""
        if key not in self.values:
            self.tell(key, "is missing")
        return self.take(key, read, instead)

    def tell(self, key: str, problem: str) -> None:
        """Notes a problem with a key."""
        self._problems.append(f"{self.where}{key}: {problem}")


def quoted(value: object) -> str:
    """A value as it is shown in a problem."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def text_of(value: object, *, most: int, printable: bool = True) -> str:
    """A text that is not empty.

    Args:
        value: what should be one.
        most: characters.
        printable: whether it must fit on one line.
    """
    if not isinstance(value, str) or not 0 < len(value) <= most or (printable and not value.isprintable()):
        line = "one line of text" if printable else "a text"
        raise Wrong(f"expected {line} of at most {most} characters; it is {quoted(value)}")
    return value


def texts(value: object, *, most: int) -> tuple[str, ...]:
    """A list of texts that is not empty."""
    if (
        not isinstance(value, list)
        or not 0 < len(value) <= most
        or not all(isinstance(x, str) for x in value)
    ):
        raise Wrong(f"expected a list of 1 to {most} texts; it is {quoted(value)}")
    return tuple(value)


def tables(value: object) -> list[dict[str, Any]]:
    """A list of tables."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise Wrong(f"expected a list of tables; it is {quoted(value)}")
    return value


def is_table(value: object) -> dict[str, Any]:
    """A table."""
    if not isinstance(value, dict):
        raise Wrong(f"expected a table; it is {quoted(value)}")
    return value


def member_of(kind: type[E], value: object, *, but: Sequence[E] = ()) -> E:
    """One of a few words.

    Args:
        kind: the words.
        value: what should be one.
        but: words that will not do here.
    """
    words = [str(member) for member in kind if member not in but]
    if not isinstance(value, str) or value not in words:
        near = _meant(value, words) if isinstance(value, str) else ""
        raise Wrong(f"expected {' or '.join(map(repr, words))}; it is {quoted(value)}{near}")
    return kind(value)


def _near(word: str, known: Sequence[str]) -> str:
    return _meant(word, known) or f"; known are {', '.join(known)}"


def _meant(word: str, known: Sequence[str]) -> str:
    # Comparing takes time that grows with the word.
    near = difflib.get_close_matches(word[:_SHOWN], known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
