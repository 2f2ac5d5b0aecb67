"""The file that holds the policy: read whole, or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cloche_hub.domain.policy_text import MAX_POLICY_BYTES
from cloche_hub.errors import BadRequest


def read_policy_file(path: Path) -> bytes | None:
    """What is in the file; None if there is none.

    Raises:
        BadRequest: it cannot be read, is too long or no file, or anybody may write it; the message names it.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            _require_ours(path, os.fstat(file.fileno()).st_mode)
            data = file.read(MAX_POLICY_BYTES + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        # A ValueError: a name with a NUL, which no file has.
        raise BadRequest(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from None
    if len(data) > MAX_POLICY_BYTES:
        raise BadRequest(f"{path}: is longer than {MAX_POLICY_BYTES} bytes")
    return data


def _without_waiting(path: str, flags: int) -> int:
    # A pipe in the file's place must not make anybody wait.
    return os.open(path, flags | os.O_NONBLOCK)


def _require_ours(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise BadRequest(f"{path}: is no file")
    # SAFETY: who writes this file decides what leaves every sandbox.
    if mode & stat.S_IWOTH:
        raise BadRequest(f"{path}: everybody on this host may write it; make it yours: chmod o-w {path}")
