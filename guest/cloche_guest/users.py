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


class Accounts:
    """Looks accounts up, and remembers them until /etc/passwd or /etc/group changes."""

    def __init__(self) -> None:
        self._known: dict[str, Account] = {}
        self._version: list[object] = []

    def find(self, user: str) -> Account:
        """The account of a user.

        Args:
            user: a name from /etc/passwd, or a number; a number nobody has is a user without name or home.

        Raises:
            CommandNotStarted: there is no such user.
        """
        version = version_of_databases()
        if version != self._version:
            self._known.clear()
            self._version = version
        account = self._known.get(user)
        if account is None:
            account = self._known[user] = look_up(user)
        return account


def look_up(user: str) -> Account:
    """The account of a user, from the system's databases; see `Accounts.find`."""
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


def version_of_databases() -> list[object]:
    """Changes whenever an account may have changed."""
    version: list[object] = []
    for path in ("/etc/passwd", "/etc/group"):
        try:
            status = os.stat(path)
        except OSError:
            version.append(None)
        else:
            version += (status.st_ino, status.st_mtime_ns, status.st_size)
    return version
