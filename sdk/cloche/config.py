"""Which hub is meant and what it is told: addresses and tokens, from arguments and the environment.

    argument ► CLOCHE_HUB ► this user's own socket            the address
    argument ► CLOCHE_TOKEN ► this user's admin.token         the token; the file for this user's own socket only

Rule: nothing here connects. The only file that is read is the token's, after a check that nobody else could write it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cloche.errors import BadRequest, Forbidden
from cloche_wire.rendezvous import Locations, locations

DEFAULT_RECONNECT_S = 30.0
_LONGEST_TOKEN = 4096


@dataclass(frozen=True, slots=True)
class Address:
    """Where a hub listens."""

    text: str
    """As a user writes it: unix:///path, ws://host:port or wss://host:port."""
    socket: Path | None
    """The Unix socket; None for the others."""
    own: bool
    """Whether it is the socket of this user's own hub, which may be started and whose token may be read."""


def find_address(
    address: str | None = None, *, environ: Mapping[str, str] | None = None, uid: int | None = None
) -> Address:
    """The address of the hub that is meant.

    Raises:
        BadRequest: it has none of the three forms.
    """
    env = os.environ if environ is None else environ
    own = locations(env, uid).socket
    text = address or env.get("CLOCHE_HUB") or f"unix://{own}"
    try:
        parts = urlsplit(text)
        port_is_number = parts.port is None or parts.port > 0
    except ValueError:
        port_is_number = False
    if port_is_number and parts.scheme == "unix" and not parts.netloc and parts.path.startswith("/"):
        # Not `parts.path`: a path may hold what has a meaning in other addresses.
        socket = Path(text.removeprefix("unix://"))
        return Address(text, socket, own=socket == own)
    if port_is_number and parts.scheme in ("ws", "wss") and parts.hostname:
        return Address(text, None, own=False)
    raise BadRequest(
        f"no hub address: {text!r}; give unix:///path/to.sock, ws://host:port or wss://host:port"
    )


def find_token(
    token: str | None, address: Address, *, environ: Mapping[str, str] | None = None, uid: int | None = None
) -> str | None:
    """The token for a hub, or None if there is none to be found.

    Raises:
        Forbidden: the token's file is not this user's alone.
    """
    env = os.environ if environ is None else environ
    found = token or env.get("CLOCHE_TOKEN")
    if found or not address.own:
        return found or None
    return _read_token(locations(env, uid).admin_token, os.geteuid() if uid is None else uid)


def reconnect_seconds(environ: Mapping[str, str] | None = None) -> float:
    """How long a lost hub is looked for: `CLOCHE_RECONNECT_S`.

    Raises:
        BadRequest: it is no number of seconds.
    """
    text = (os.environ if environ is None else environ).get("CLOCHE_RECONNECT_S", "")
    try:
        seconds = float(text) if text else DEFAULT_RECONNECT_S
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86400:
        raise BadRequest(f"CLOCHE_RECONNECT_S is {text!r}; give a number of seconds, such as 30")
    return seconds


def check_runtime(places: Locations, uid: int | None = None) -> None:
    """Makes sure that nobody else can have put a socket in the place of this user's hub.

    Raises:
        Forbidden: the socket's folder is another user's.
    """
    # SAFETY: the folder may be in /tmp, where anybody could have made it and be waiting for our token.
    try:
        status = places.runtime.lstat()
    except OSError:
        return  # no folder, no socket: connecting says so
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != (os.geteuid() if uid is None else uid):
        raise Forbidden(
            f"{places.runtime} is not this user's, so no hub there is trusted; remove it, or set CLOCHE_HOME"
        )


def _read_token(path: Path, uid: int) -> str | None:
    # SAFETY: a token somebody else could write would be a token somebody else knows. The open file is checked, not
    # the path, and a link is not followed.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Forbidden(
            f"cannot read the hub's token {path} ({error.strerror}); set CLOCHE_TOKEN instead"
        ) from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != uid or status.st_mode & 0o077:
            raise Forbidden(f"{path} is not this user's alone; make it so: chown, then chmod 600")
        return file.read(_LONGEST_TOKEN).decode(errors="replace").strip() or None
