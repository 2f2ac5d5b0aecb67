"""A person's own small files: keys, themes, hubs, what is remembered; and new ones that they name.

They are read whole, and never waited for: whatever is wrong with a file is an OSError or a ValueError whose text is one
line, a start is not to fail by it, and a named pipe in its place is not to be waited on.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

from cloche.errors import BadRequest


def read_own_file(path: Path, longest: int) -> bytes:
    """What is in a file, up to so many bytes.

    Raises:
        OSError: it cannot be read, is no plain file, or is another user's.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(path))
        # SAFETY: whoever writes this person's keys chooses what their keys do.
        if status.st_uid not in (0, os.geteuid()):
            raise OSError(errno.EPERM, "it is another user's", str(path))
        return file.read(longest)


def typed_path(text: str) -> Path:
    """The whole path of what a person types: `~` is their home, and the name of a user nobody knows is left as it is.

    Whole: where the dashboard was started may be long forgotten when a line says where a file is.
    """
    return Path(os.path.expanduser(text)).absolute()  # noqa: PTH111 - a `Path` fails there


def write_new(path: Path, text: str, *, parents: bool = False, command: str = "") -> None:
    """Writes a file that is not there yet.

    Args:
        path: the file.
        text: what is in it.
        parents: whether its folders are made, too.
        command: what takes another name, such as `:keymap PATH`; empty: nothing is said of that.

    Raises:
        BadRequest: it is there, or cannot be written.
    """
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        other = f": {command}" if command else ""
        raise BadRequest(f"{path} is there already; give another name{other}") from None
    except OSError as error:
        raise BadRequest(f"{path} cannot be written: {error.strerror or error}") from None


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text.

    Raises:
        ValueError: it is none; one line says why.
    """
    # Imported when needed: most people have no such file, and starting is to be quick.
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError as error:
        raise ValueError(" ".join(str(error).split())) from None
