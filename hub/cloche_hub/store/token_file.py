"""The file that holds the first admin token: for its owner's eyes only."""

from __future__ import annotations

import os
from pathlib import Path

from cloche_hub.errors import StoreFailed


def read_token_file(path: Path) -> str | None:
    """The token in the file; None if there is no file, or somebody else may have put it there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "r", encoding="ascii", errors="replace") as file:
        # SAFETY: a token others could read or write is no token of ours any more: another one is made.
        status = os.fstat(file.fileno())
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            return None
        return file.read(200).strip()


def write_token_file(path: Path, text: str) -> None:
    """Writes a token, whole or not at all.

    Raises:
        StoreFailed: it cannot be written.
    """
    fresh = path.with_name(path.name + ".new")
    try:
        fresh.unlink(missing_ok=True)
        # SAFETY: created 0600, never widened: at no time can anybody else read it.
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        raise StoreFailed(f"cannot write the admin token to {path}: {error.strerror}") from None
