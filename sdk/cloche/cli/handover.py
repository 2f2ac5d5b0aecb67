"""Handing this process over to the hub's own program, for what only it can do: serve, examine the host, verify a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn


def hand_over(*arguments: str, files: Sequence[str] = ()) -> NoReturn:
    """Goes on as `python -m cloche_hub ARGUMENTS -- FILES`, which then has this process, its terminal and its end.

    Raises:
        Unsupported: this is a client-only installation.
    """
    from cloche.background import hub_command

    command = hub_command(*arguments, *(["--", *files] if files else []))
    sys.stdout.flush()
    # SAFETY: what a user names comes behind `--` or as `--option=value`, so it is never read as an option.
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted
