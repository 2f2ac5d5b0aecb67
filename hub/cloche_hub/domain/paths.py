"""Names of files inside a machine: what a client may ask for, and what a guest may call a file. Pure.

The one place of these rules in the hub. Nothing is resolved here: the agent does that, as the user who asks, and the
machine is the boundary. No path of a machine ever names a file of the host.

Rules:
- A path is text, not empty, at most `MAX_PATH` bytes, without a NUL.
- SAFETY: a name that a guest gives may become a file's name on a client's disk: it is one component, and neither `.`
  nor `..`.
"""

from __future__ import annotations

from cloche_hub.domain.fields import Fields, check_text
from cloche_hub.errors import BadRequest

MAX_PATH = 4095
"""Bytes of a path: PATH_MAX without its final NUL."""
MAX_NAME = 255
"""Bytes of one name in a folder (NAME_MAX)."""
MAX_GUEST_PATH = 2 * MAX_PATH + 2
"""Bytes of a path in a guest's words: a user's home in front of what was asked, or a name in a folder behind it."""

_SHOWN = 60


def check_path(field: str, value: object) -> str:
    """The value itself, if it can be a path.

    Args:
        field: what it is called, for the error.
        value: absolute, or relative to the home of whoever acts.

    Raises:
        BadRequest: it can be none; names the field.
    """
    path = check_text(field, value)
    if not path:
        raise BadRequest(f"{field} is empty; '.' is the user's home")
    size = len(path.encode())
    if size > MAX_PATH:
        raise BadRequest(f"{field} is {size} bytes; the limit of a path is {MAX_PATH}")
    return path


def parse_path(fields: Fields, field: str = "path") -> str:
    """A path that a request must have; raises as `check_path`."""
    return check_path(field, fields.text(field))


def parse_folder(fields: Fields, field: str) -> str | None:
    """An absolute path that a request may have.

    Raises:
        BadRequest: it is none; names the field.
    """
    path = fields.optional_text(field)
    if path is not None and (not path.startswith("/") or len(path.encode()) > MAX_PATH):
        raise BadRequest(
            f"{field} must be an absolute path of at most {MAX_PATH} bytes, not {path[:_SHOWN]!r}"
        )
    return path


def is_file_name(name: bytes) -> bool:
    """Whether these bytes, which a guest gave, can be the name of one file in a folder."""
    return 0 < len(name) <= MAX_NAME and name not in (b".", b"..") and b"/" not in name and b"\0" not in name


def is_absolute_path(path: bytes) -> bool:
    """Whether these bytes, which a guest gave, can be a file's whole path."""
    return path.startswith(b"/") and len(path) <= MAX_GUEST_PATH and b"\0" not in path
