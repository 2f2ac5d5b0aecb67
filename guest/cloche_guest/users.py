"""Whom a command runs as: an account of the machine, by name or number."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass

from cloche_wire.errors import CommandNotStarted


@dataclass(frozen=True, slots=True)
class Account:
    """A user of the machine, as a process needs it."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    """Supplementary groups."""
    home: str
    shell: str


def find_account(user: str) -> Account:
    """The account of a user.

    Args:
        user: a name from /etc/passwd, or a number; a number nobody has is a user without name or home.

    Raises:
        CommandNotStarted: there is no such user.
    """
    try:
        entry = pwd.getpwuid(int(user)) if user.isdecimal() else pwd.getpwnam(user)
    except KeyError:
        if not user.isdecimal():
            raise CommandNotStarted(
                f"there is no user {user!r} in this machine", reason="no_such_user"
            ) from None
        number = int(user)
        return Account(user, number, number, (), "/", "/bin/sh")
    groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return Account(
        entry.pw_name, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir or "/", entry.pw_shell or "/bin/sh"
    )
