"""What the hub asks of files, as values: the border where plain maps are checked, field by field (see `fields`)."""

from __future__ import annotations

from dataclasses import dataclass

from cloche_guest.fields import Params, check_known, flag, optional_number, text, user
from cloche_wire.errors import BadRequest

_LARGEST_OFFSET = (1 << 63) - 1
_LARGEST_MODE = 0o7777


@dataclass(frozen=True, slots=True)
class Request:
    """What every request names."""

    path: str
    """Absolute, or relative to the user's home."""
    user: str | None
    """A name or a number; None: the machine's ordinary user."""


@dataclass(frozen=True, slots=True)
class ReadRequest(Request):
    """A part of a file."""

    offset: int
    length: int | None
    """None: to its end."""


@dataclass(frozen=True, slots=True)
class WriteRequest(Request):
    """A file's new content."""

    mode: int | None
    """None: as it was, or what is usual."""
    exclusive: bool
    parents: bool


@dataclass(frozen=True, slots=True)
class StatRequest(Request):
    """What is there."""

    follow: bool


@dataclass(frozen=True, slots=True)
class MakeDirRequest(Request):
    """A new folder."""

    mode: int | None
    parents: bool


@dataclass(frozen=True, slots=True)
class RemoveRequest(Request):
    """A file or a folder to be gone."""

    recursive: bool


@dataclass(frozen=True, slots=True)
class RenameRequest(Request):
    """Another name."""

    to: str
    replace: bool


@dataclass(frozen=True, slots=True)
class SetModeRequest(Request):
    """Other permissions."""

    mode: int


@dataclass(frozen=True, slots=True)
class LinkRequest(Request):
    """A link."""

    target: str
    """Of a symbolic link: any text; otherwise the file that gets another name."""
    symbolic: bool


def parse_read(params: Params) -> ReadRequest:
    """The parameters of `file.read`. This and the others raise BadRequest, which names the field."""
    path, user_name = _common(params, "offset", "length")
    offset = optional_number(params, "offset", most=_LARGEST_OFFSET) or 0
    return ReadRequest(path, user_name, offset, optional_number(params, "length", most=_LARGEST_OFFSET))


def parse_write(params: Params) -> WriteRequest:
    """The parameters of `file.write`."""
    path, user_name = _common(params, "mode", "exclusive", "parents")
    exclusive, parents = flag(params, "exclusive", default=False), flag(params, "parents", default=False)
    return WriteRequest(path, user_name, _mode(params), exclusive, parents)


def parse_stat(params: Params) -> StatRequest:
    """The parameters of `file.stat`."""
    path, user_name = _common(params, "follow")
    return StatRequest(path, user_name, flag(params, "follow", default=True))


def parse_list(params: Params) -> Request:
    """The parameters of `file.list`."""
    return Request(*_common(params))


def parse_make_dir(params: Params) -> MakeDirRequest:
    """The parameters of `file.make_dir`."""
    path, user_name = _common(params, "mode", "parents")
    return MakeDirRequest(path, user_name, _mode(params), flag(params, "parents", default=False))


def parse_remove(params: Params) -> RemoveRequest:
    """The parameters of `file.remove`."""
    path, user_name = _common(params, "recursive")
    return RemoveRequest(path, user_name, flag(params, "recursive", default=False))


def parse_rename(params: Params) -> RenameRequest:
    """The parameters of `file.rename`."""
    path, user_name = _common(params, "to", "replace")
    return RenameRequest(path, user_name, text(params, "to"), flag(params, "replace", default=False))


def parse_set_mode(params: Params) -> SetModeRequest:
    """The parameters of `file.set_mode`."""
    path, user_name = _common(params, "mode")
    mode = _mode(params)
    if mode is None:
        raise BadRequest("mode is missing")
    return SetModeRequest(path, user_name, mode)


def parse_link(params: Params) -> LinkRequest:
    """The parameters of `file.link`."""
    path, user_name = _common(params, "target", "symbolic")
    return LinkRequest(path, user_name, text(params, "target"), flag(params, "symbolic", default=True))


def _common(params: Params, *others: str) -> tuple[str, str | None]:
    check_known(params, ("path", "user", *others))
    return text(params, "path"), user(params)


def _mode(params: Params) -> int | None:
    return optional_number(params, "mode", most=_LARGEST_MODE)
