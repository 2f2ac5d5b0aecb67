"""What the form for a new sandbox asks, and how what is typed there is read. Pure.

Rule: the hub knows which recipes, names and leases will do. Here only what cannot be sent is refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from cloche.durations import parse_duration
from cloche.errors import BadRequest

FLAVORS = ("small", "medium", "large")
FIELDS = ("recipe", "flavor", "name", "labels", "lease", "env", "secrets")
"""Of the form, in its order."""


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """A sandbox as it is wanted."""

    recipe: str
    flavor: str
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    lease_s: float | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


class FieldWrong(BadRequest):
    """What stands in a field of the form will not do.

    Args:
        name: of the field.
        message: what is wrong, and how it is right.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.field = name


def read_form(typed: Mapping[str, str], environ: Mapping[str, str]) -> CreateRequest:
    """What a form asks for.

    Args:
        typed: the texts of `FIELDS`; one that is not there is empty.
        environ: where a variable without a value gets it from.

    Raises:
        FieldWrong: which field is to be corrected, and how.
    """
    texts = {name: typed.get(name, "").strip() for name in FIELDS}
    if not texts["recipe"]:
        raise FieldWrong("recipe", "say which recipe, such as python")
    return CreateRequest(
        texts["recipe"],
        texts["flavor"] or FLAVORS[0],
        texts["name"] or None,
        _labels(texts["labels"]),
        _lease(texts["lease"]),
        _variables("env", texts["env"], environ),
        _variables("secrets", texts["secrets"], environ),
    )


def _lease(text: str) -> float | None:
    if not text:
        return None
    try:
        return parse_duration(text)
    except BadRequest as error:
        raise FieldWrong("lease", error.message) from None


def _labels(text: str) -> dict[str, str]:
    labels = {}
    for word in _words("labels", text):
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise FieldWrong(
                "labels", f"{word!r} is no label; give key=value, several with blanks between them"
            )
        labels[key] = value
    return labels


def _variables(name: str, text: str, environ: Mapping[str, str]) -> dict[str, str]:
    variables = {}
    for word in _words(name, text):
        key, equals, value = word.partition("=")
        # SAFETY: of a secret, only the name may stand in a message.
        if not key:
            raise FieldWrong(
                name, f"a variable in {name} has no name; give NAME=VALUE, or NAME to pass on your own"
            )
        if not equals and key not in environ:
            raise FieldWrong(
                name, f"{key if name == 'env' else 'one of them'} is not set here; give NAME=VALUE"
            )
        variables[key] = value if equals else environ[key]
    return variables


def _words(name: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise FieldWrong(name, f"a quote in {name} is not closed") from None
