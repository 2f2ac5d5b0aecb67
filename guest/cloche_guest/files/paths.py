"""Names of files: from what the hub asks to what the kernel is given, and back. Pure.

Rules:
- A relative path begins at the home of the user it is asked for.
- `.`, `..` and doubled slashes are taken out before the kernel sees a path, so the path in an answer is the one that
  was acted on. `..` behind a symbolic link therefore leads to where the link stands, not to where it points.
- Paths are bytes inside the agent: a name in a folder need not be text.

SAFETY: a path may name anything in the machine. The machine is the boundary, and its user's rights are the limit.
"""

from __future__ import annotations

import posixpath

from cloche_wire.errors import BadRequest

MOST_BYTES = 4096
"""Of a path, as it is asked."""

_MOST_SHOWN = 200
_TEMPORARY = b".cloche-%s.part"


def resolve(asked: str, home: str) -> bytes:
    """The absolute path that is meant.

    Args:
        asked: absolute, or relative to the home.
        home: of the user who acts.

    Raises:
        BadRequest: it is empty, too long, or no path at all.
    """
    path = encode(asked)
    # Three parts, since normpath keeps two slashes at the beginning.
    return posixpath.normpath(b"/" + posixpath.join(home.encode(errors="surrogateescape"), path).lstrip(b"/"))


def encode(asked: str) -> bytes:
    """The bytes of a path, as it is; raises as `resolve`."""
    try:
        path = asked.encode()
    except UnicodeEncodeError:
        raise BadRequest(f"a path must be text, not {asked[:60]!r}") from None
    if not path:
        raise BadRequest("a path is empty; '.' is the user's home")
    if b"\0" in path:
        raise BadRequest("a path holds a NUL, which no file's name can")
    if len(path) > MOST_BYTES:
        raise BadRequest(f"a path of {len(path)} bytes is over the limit of {MOST_BYTES}")
    return path


def split(path: bytes) -> tuple[bytes, bytes]:
    """The folder and the name in it; the name of the root is empty."""
    folder, _, name = path.rpartition(b"/")
    return folder or b"/", name


def follow(path: bytes, target: bytes) -> bytes:
    """Where a symbolic link leads: `..` is left to the kernel here, as it is when it follows a link itself."""
    return posixpath.join(posixpath.dirname(path), target)


def temporary_name(random: bytes) -> bytes:
    """A hidden name for a file that is not complete, whatever the length of its name will be."""
    return _TEMPORARY % random.hex().encode()


def as_text(name: bytes) -> str | bytes:
    """A name for an answer: text, or the bytes themselves where they are none."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        return name


def shown(path: bytes) -> str:
    """A path in a message: on one line, and the end of it where it is long."""
    text = path.decode(errors="backslashreplace")
    if not text.isprintable():
        text = repr(text)
    return text if len(text) <= _MOST_SHOWN else f"…{text[-_MOST_SHOWN:]}"
