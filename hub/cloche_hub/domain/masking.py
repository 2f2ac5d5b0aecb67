"""A sandbox's secrets, and how what the hub keeps is rid of them. Pure.

They are held in memory for as long as their sandbox is, and nowhere else: no row, no log line, no audit event and no
error has one.

Rule: a secret is hidden as it was given, without the white space around it, and as a terminal shows it (each line feed
as CR LF). What a program makes of one, such as its base64, is not recognised.
Rule: what hides a secret is as long as it is, so that what stands behind it keeps its place on a screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cloche_hub.domain.audit import Json

MIN_SECRET = 4
"""Bytes: anything shorter is in every text, and to hide it everywhere would tell what it is."""


@dataclass(frozen=True)
class Secrets:
    """The secrets of one sandbox, by their names in the environment."""

    # Without slots, for `hidden` to be made once.
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    @cached_property
    def hidden(self) -> tuple[bytes, ...]:
        """What must not be found, the longest first: a secret may be a part of another one."""
        forms = set[str]()
        for value in self.variables.values():
            for form in (value, value.strip()):
                forms |= {form, form.replace("\r\n", "\n").replace("\n", "\r\n")}
        found = {form.encode() for form in forms}
        return tuple(
            sorted((form for form in found if len(form) >= MIN_SECRET), key=lambda form: (-len(form), form))
        )

    def mask(self, text: str) -> str:
        """A text with an asterisk for each byte of a secret."""
        # Most sandboxes have none.
        for form in self.hidden:
            text = text.replace(form.decode(), "*" * len(form))
        return text

    def mask_json(self, value: Json) -> Json:
        """A value with every text in it masked; keys stay."""
        if not self.variables:
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, Mapping):
            return {key: self.mask_json(element) for key, element in value.items()}
        if isinstance(value, int) or value is None:
            return value
        return [self.mask_json(element) for element in value]


NO_SECRETS = Secrets()
