"""Values of settings that have a form of their own, and how they are read from text. Pure.

Rule: what is wrong is a ValueError that says what would do; `settings` adds the setting's name and what it is.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """A TCP address to listen on."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this host can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UidRange:
    """User ids for machines, both ends included."""

    first: int
    last: int


def split_list(value: object) -> object:
    """A list from one text with commas, as the environment and the command line hold it; anything else as it is."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def parse_listen_address(value: object) -> ListenAddress:
    """An address from HOST:PORT. Raises ValueError, which says what would do."""
    if isinstance(value, ListenAddress):
        return value
    host, colon, port = str(value).rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if (
        not colon
        or not bare
        or (":" in bare) != host.startswith("[")
        or not port.isascii()
        or not port.isdigit()
    ):
        raise ValueError("give HOST:PORT, such as 127.0.0.1:7070 or [::1]:7070")
    if int(port) > 65535:
        raise ValueError("a port is at most 65535")
    return ListenAddress(bare, int(port))


def parse_uid_range(value: object) -> UidRange:
    """User ids from FIRST-LAST. Raises ValueError, which says what would do."""
    if isinstance(value, UidRange):
        return value
    first, dash, last = str(value).partition("-")
    if not dash or not all(end.isascii() and end.isdigit() for end in (first, last)):
        raise ValueError("give FIRST-LAST, such as 1900000000-1900009999")
    uids = UidRange(int(first), int(last))
    # SAFETY: machines run as these users: never root's or a person's, and below what the kernel reserves.
    if not 1000 < uids.first <= uids.last < 2**32 - 2:
        raise ValueError("give two user ids above 1000, the smaller one first")
    return uids


def require_absolute(path: Path) -> Path:
    """The path itself, if it is absolute. Raises ValueError, which says what would do."""
    if not path.is_absolute():
        raise ValueError("give an absolute path")
    return path
