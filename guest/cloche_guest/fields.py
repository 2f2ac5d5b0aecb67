"""The fields of a request, checked one by one: what every kind of request has in common.

Rules:
- A wrong field is a BadRequest that names it and says what would do.
- A field nobody knows is refused: it may be a restriction that a newer hub relies on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from cloche_wire.errors import BadRequest

Params = Mapping[str, Any]

_SHOWN = 60
_LARGEST_ID = (1 << 32) - 2
_MOST_DIGITS = 20


def check_known(params: Params, known: Collection[str]) -> None:
    """Raises BadRequest if there is a field that is not among these."""
    for name in params:
        if name not in known:
            raise BadRequest(f"unknown field {shown(name)}; known are: {', '.join(known)}")


def text(params: Params, name: str) -> str:
    """A field that must be there and not be empty."""
    value = optional_text(params, name)
    if not value:
        raise BadRequest(f"{name} is missing")
    return value


def optional_text(params: Params, name: str) -> str | None:
    """A text, or None where there is none."""
    value = params.get(name)
    return None if value is None else check_text(name, value)


def check_text(name: str, value: object) -> str:
    """The value, if it is a text that a program can be given; the name is for the error."""
    if not isinstance(value, str):
        raise BadRequest(f"{name} must be a text, not {shown(value)}")
    if "\0" in value:
        raise BadRequest(f"{name} holds a NUL, which no program can be given")
    return value


def flag(params: Params, name: str, *, default: bool) -> bool:
    """True or false."""
    value = params.get(name, default)
    if not isinstance(value, bool):
        raise BadRequest(f"{name} must be true or false, not {shown(value)}")
    return value


def optional_number(params: Params, name: str, *, most: int) -> int | None:
    """A whole number from 0 to `most`, or None where there is none."""
    value = params.get(name)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= most:
        raise BadRequest(f"{name} must be a whole number from 0 to {most}, not {shown(value)}")
    return value


def arguments(params: Params) -> tuple[str, ...]:
    """The field `argv`: a command and its arguments."""
    argv = params.get("argv")
    if not isinstance(argv, list) or not argv:
        raise BadRequest("argv must be a list of texts that begins with a command")
    words = tuple(check_text(f"argv[{index}]", word) for index, word in enumerate(argv))
    if not words[0]:
        raise BadRequest("argv[0] is empty; it must name a command")
    return words


def absolute_path(params: Params, name: str) -> str | None:
    """A path that does not depend on where anybody is, or None where there is none."""
    path = optional_text(params, name)
    if path is not None and not path.startswith("/"):
        raise BadRequest(f"{name} must be an absolute path, not {shown(path)}")
    return path


def environment(params: Params) -> dict[str, str]:
    """The field `env`: variables by their names."""
    env = params.get("env") or {}
    if not isinstance(env, Mapping):
        raise BadRequest(f"env must be a map of texts to texts, not {shown(env)}")
    for name, value in env.items():
        check_text("a name in env", name)
        if not name or "=" in name:
            raise BadRequest(f"env has a variable named {shown(name)}; a name is not empty and holds no '='")
        check_text(f"env[{shown(name)}]", value)
    return dict(env)


def user(params: Params) -> str | None:
    """The field `user`: a name or a number as text; None for the machine's ordinary user."""
    asked = params.get("user")
    if type(asked) is int:
        asked = str(asked)
    if asked is None:
        return None
    name = check_text("user", asked)
    if not name or ((number := decimal(name)) is not None and number > _LARGEST_ID):
        raise BadRequest(f"user must be a user's name or number, not {shown(asked)}")
    return name


def decimal(word: str) -> int | None:
    """The number that a text is, or None where it is none; a large one where it has more digits than any of ours."""
    if not word.isdecimal():
        return None
    # The length first: Python refuses to read thousands of digits.
    return int(word) if len(word) <= _MOST_DIGITS else 1 << 64


def shown(value: object) -> str:
    """A value in an error's message."""
    written = repr(value)
    return written if len(written) <= _SHOWN else f"{written[:_SHOWN]}…"
