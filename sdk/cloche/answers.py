"""Reading an answer of the hub field by field, with errors that name what is odd. Pure.

Rule: every error is an InternalError: hub and client do not agree, and no request of the caller's can help it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from cloche.errors import InternalError

T = TypeVar("T")


class Answer:
    """One map, read field by field.

    Args:
        what: what it is, for the error.
        value: what came.
    """

    def __init__(self, what: str, value: Any) -> None:
        self._what = what
        if not isinstance(value, dict):
            raise self._odd("is no map")
        self._value: dict[str, Any] = value

    def of_type(self, key: str, *types: type) -> Any:
        """A value of one of these types."""
        value = self._value.get(key)
        # A bool is an int to isinstance.
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise self._odd(f"has {key} {str(value)[:40]!r}")
        return value

    def text(self, key: str) -> str:
        """A text."""
        text: str = self.of_type(key, str)
        return text

    def whole(self, key: str) -> int:
        """A whole number."""
        number: int = self.of_type(key, int)
        return number

    def number(self, key: str) -> float:
        """A number."""
        return float(self.of_type(key, int, float))

    def flag(self, key: str) -> bool:
        """Yes or no."""
        flag: bool = self.of_type(key, bool)
        return flag

    def moment(self, key: str) -> datetime:
        """A time, which says its zone."""
        try:
            moment = datetime.fromisoformat(self.text(key))
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            raise self._odd(f"has {key} {self.text(key)[:40]!r}, which is no time")
        return moment

    def mapping(self, key: str, *types: type) -> dict[str, Any]:
        """A map from text to values of these types."""
        mapping: dict[str, Any] = self.of_type(key, dict)
        if not all(isinstance(name, str) and isinstance(element, types) for name, element in mapping.items()):
            raise self._odd(f"has a {key} with an element of another type")
        return mapping

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        elements: list[str] = self.of_type(key, list)
        if not all(isinstance(element, str) for element in elements):
            raise self._odd(f"has {key} with an element that is no text")
        return tuple(elements)

    def each(self, key: str, parse: Callable[[Any], T]) -> list[T]:
        """The elements of a list, parsed."""
        return [parse(element) for element in self.of_type(key, list)]

    def optional(self, key: str, read: Callable[[str], T]) -> T | None:
        """None where the field is absent or null, else what `read` makes of it."""
        return None if self._value.get(key) is None else read(key)

    def _odd(self, why: str) -> InternalError:
        return InternalError(
            f"the hub's answer is not understood: {self._what} {why}; is the hub of this version?"
        )
