"""A request's parameters, read field by field: the border where plain maps become values.

Rule: a wrong parameter is a BadRequest that names the field and says what would do.
Rule: a field nobody knows is refused, not ignored: it may be a restriction a newer client relies on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from cloche_hub.errors import BadRequest

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Fields:
    """The parameters of one request; a field that is None counts as absent."""

    values: Mapping[str, object]

    @classmethod
    def of(cls, params: object, known: Collection[str]) -> Fields:
        """The fields of a request's parameters.

        Raises:
            BadRequest: the parameters are no map, or have a field that is not in `known`.
        """
        if not isinstance(params, Mapping):
            raise BadRequest(f"the parameters must be a map, not {_kind(params)}")
        for name in params:
            if name not in known:
                fields = f"known are: {', '.join(known)}" if known else "this request has none"
                raise BadRequest(f"unknown field {_shown(name)}; {fields}")
        return cls(params)

    def text(self, name: str, default: str | None = None) -> str:
        """A text; required unless there is a default."""
        value = self.optional_text(name)
        if value is not None:
            return value
        if default is None:
            raise BadRequest(f"{name} is missing")
        return default

    def optional_text(self, name: str) -> str | None:
        """A text, or None if it is absent."""
        value = self.values.get(name)
        return None if value is None else check_text(name, value)

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        value = self.values.get(name, default)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise BadRequest(f"{name} must be true or false, not {_kind(value)}")
        return value

    def whole(self, name: str, *, default: int, least: int, most: int) -> int:
        """A whole number between two bounds, both included."""
        value = self.optional_whole(name, least=least, most=most)
        return default if value is None else value

    def optional_whole(self, name: str, *, least: int, most: int) -> int | None:
        """A whole number between two bounds, both included, or None if it is absent."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise BadRequest(f"{name} must be a whole number from {least} to {most}, not {_shown(value)}")
        return value

    def seconds(self, name: str, *, most: float) -> float | None:
        """A duration in seconds above 0, or None if it is absent."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= most:
            raise BadRequest(f"{name} must be above 0 and at most {most:.15g} seconds, not {_shown(value)}")
        return float(value)

    def texts(self, name: str, *, most: int) -> tuple[str, ...]:
        """A list of at most `most` texts; absent is empty."""
        value = self.values.get(name)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise BadRequest(f"{name} must be a list of texts, not {_kind(value)}")
        if len(value) > most:
            raise BadRequest(f"{name} has {len(value)} elements; the limit is {most}")
        return tuple(check_text(f"{name}[{index}]", element) for index, element in enumerate(value))

    def wholes(self, name: str, *, most: int, least: int, largest: int) -> tuple[int, ...]:
        """A list of at most `most` whole numbers between two bounds, both included; absent is empty."""
        value = self.values.get(name)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise BadRequest(f"{name} must be a list of numbers, not {_kind(value)}")
        if len(value) > most:
            raise BadRequest(f"{name} has {len(value)} elements; the limit is {most}")
        for element in value:
            if not isinstance(element, int) or isinstance(element, bool) or not least <= element <= largest:
                raise BadRequest(
                    f"{name} must have whole numbers from {least} to {largest}, not {_shown(element)}"
                )
        return tuple(value)

    def text_map(self, name: str, *, most: int) -> dict[str, str]:
        """A map of at most `most` texts to texts; absent is empty."""
        value = self.values.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise BadRequest(f"{name} must be a map of texts to texts, not {_kind(value)}")
        if len(value) > most:
            raise BadRequest(f"{name} has {len(value)} entries; the limit is {most}")
        return {
            check_text(f"a key of {name}", key): check_text(f"{name}[{_shown(key)}]", element)
            for key, element in value.items()
        }


def check_text(name: str, value: object) -> str:
    """The value itself, if it is a text that a C program and UTF-8 can hold.

    Raises:
        BadRequest: it is none, or holds a NUL or half a surrogate pair.
    """
    if not isinstance(value, str):
        raise BadRequest(f"{name} must be a text, not {_kind(value)}")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise BadRequest(f"{name} holds a character no program can be given (NUL or half a surrogate pair)")
    return value


def _kind(value: object) -> str:
    names = {
        bool: "a flag",
        int: "a number",
        float: "a number",
        str: "a text",
        bytes: "bytes",
        list: "a list",
    }
    return names.get(type(value), "nothing" if value is None else f"a {type(value).__name__}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
