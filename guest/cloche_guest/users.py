"""Whom work is done as: an account of the machine, by name or number, and acting as it."""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
from collections.abc import Iterator
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


@contextlib.contextmanager
def acting_as(account: Account) -> Iterator[None]:
    """Puts on a user's identity, and takes the agent's back. Whatever the user may not do fails meanwhile.

    Raises:
        PermissionError: the agent is not root, and not this user.
    """
    own_uid, own_gid = os.getuid(), os.getgid()
    if own_uid != 0:
        if account.uid != own_uid:
            raise PermissionError(errno.EPERM, f"the agent is not root and can not act as {account.name!r}")
        yield
        return
    own_groups = os.getgroups()
    # SAFETY: a user's processes may signal this one while it bears their id. It is the init process, which the
    # kernel shields from all signals it has no handler for, and it can not be traced: its saved id is root's.
    try:
        os.setgroups(account.groups)
        os.setresgid(account.gid, account.gid, own_gid)
        os.setresuid(account.uid, account.uid, own_uid)
        yield
    finally:
        os.setresuid(own_uid, own_uid, own_uid)
        os.setresgid(own_gid, own_gid, own_gid)
        os.setgroups(own_groups)
