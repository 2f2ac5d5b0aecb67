"""What clients ask for of files, parsed and checked: one value and one function a kind.

A request knows what the guest is asked for and what the audit is told, since both are its own fields and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from cloche_hub.domain.audit import Json
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.paths import parse_path
from cloche_hub.domain.references import check_reference
from cloche_hub.domain.requests import parse_user
from cloche_hub.errors import BadRequest

MAX_OFFSET = (1 << 53) - 1
"""Bytes: 8 PiB, the largest whole number that every reader of the audit keeps exactly."""
MAX_MODE = 0o7777
"""The permission bits."""


@dataclass(frozen=True, slots=True)
class FileRequest:
    """What every request about files names; itself a checked `file.list`."""

    sandbox: str
    """A reference, not yet resolved."""
    path: str
    """Absolute, or relative to the user's home."""
    user: str | None
    """A name or a number; None: the machine's ordinary user."""

    def guest_params(self) -> dict[str, Any]:
        """The parameters of what the guest is asked for; what was not given is left to it."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "sandbox"}
        return {name: value for name, value in given.items() if value is not None}

    def audit_detail(self) -> dict[str, Json]:
        """What the audit is told of what was asked."""
        return self.guest_params()


@dataclass(frozen=True, slots=True)
class ReadRequest(FileRequest):
    """A checked `file.read`."""

    offset: int
    length: int | None
    """Bytes at most; None: to the end."""


@dataclass(frozen=True, slots=True)
class WriteRequest(FileRequest):
    """A checked `file.write`."""

    mode: int | None
    """Permission bits; None: as they were, or what is usual."""
    exclusive: bool
    parents: bool


@dataclass(frozen=True, slots=True)
class StatRequest(FileRequest):
    """A checked `file.stat`."""

    follow: bool


@dataclass(frozen=True, slots=True)
class MakeDirRequest(FileRequest):
    """A checked `file.make_dir`."""

    mode: int | None
    parents: bool


@dataclass(frozen=True, slots=True)
class RemoveRequest(FileRequest):
    """A checked `file.remove`."""

    recursive: bool


@dataclass(frozen=True, slots=True)
class RenameRequest(FileRequest):
    """A checked `file.rename`."""

    to: str
    replace: bool


@dataclass(frozen=True, slots=True)
class SetModeRequest(FileRequest):
    """A checked `file.set_mode`."""

    mode: int


@dataclass(frozen=True, slots=True)
class LinkRequest(FileRequest):
    """A checked `file.link`."""

    target: str
    """What a symbolic link says, or the file that gets another name."""
    symbolic: bool


def parse_read(params: object) -> ReadRequest:
    """A `file.read` from its parameters. This and the others raise BadRequest, which names the field."""
    fields = _fields(params, "offset", "length")
    return ReadRequest(
        *_common(fields),
        offset=fields.whole("offset", default=0, least=0, most=MAX_OFFSET),
        length=fields.optional_whole("length", least=0, most=MAX_OFFSET),
    )


def parse_write(params: object) -> WriteRequest:
    """A `file.write` from its parameters."""
    fields = _fields(params, "mode", "exclusive", "parents")
    exclusive, parents = fields.flag("exclusive", default=False), fields.flag("parents", default=False)
    return WriteRequest(*_common(fields), mode=_mode(fields), exclusive=exclusive, parents=parents)


def parse_stat(params: object) -> StatRequest:
    """A `file.stat` from its parameters."""
    fields = _fields(params, "follow")
    return StatRequest(*_common(fields), follow=fields.flag("follow", default=True))


def parse_list(params: object) -> FileRequest:
    """A `file.list` from its parameters."""
    return FileRequest(*_common(_fields(params)))


def parse_make_dir(params: object) -> MakeDirRequest:
    """A `file.make_dir` from its parameters."""
    fields = _fields(params, "mode", "parents")
    return MakeDirRequest(*_common(fields), mode=_mode(fields), parents=fields.flag("parents", default=False))


def parse_remove(params: object) -> RemoveRequest:
    """A `file.remove` from its parameters."""
    fields = _fields(params, "recursive")
    return RemoveRequest(*_common(fields), recursive=fields.flag("recursive", default=False))


def parse_rename(params: object) -> RenameRequest:
    """A `file.rename` from its parameters."""
    fields = _fields(params, "to", "replace")
    return RenameRequest(
        *_common(fields), to=parse_path(fields, "to"), replace=fields.flag("replace", default=False)
    )


def parse_set_mode(params: object) -> SetModeRequest:
    """A `file.set_mode` from its parameters."""
    fields = _fields(params, "mode")
    common, mode = _common(fields), _mode(fields)
    if mode is None:
        raise BadRequest("mode is missing")
    return SetModeRequest(*common, mode=mode)


def parse_link(params: object) -> LinkRequest:
    """A `file.link` from its parameters."""
    fields = _fields(params, "target", "symbolic")
    return LinkRequest(
        *_common(fields), target=parse_path(fields, "target"), symbolic=fields.flag("symbolic", default=True)
    )


def _fields(params: object, *others: str) -> Fields:
    return Fields.of(params, ("sandbox", "path", "user", *others))


def _common(fields: Fields) -> tuple[str, str, str | None]:
    return check_reference(fields.text("sandbox")), parse_path(fields), parse_user(fields)


def _mode(fields: Fields) -> int | None:
    return fields.optional_whole("mode", least=0, most=MAX_MODE)
