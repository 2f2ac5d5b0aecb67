"""Where the hub listens: its Unix socket, and the TCP addresses that settings ask for. Together with `gate` and
`listener` the only module that knows websockets.

Rule: the Unix socket is 0600 in a directory of ours; TCP is opened only where settings ask for it.
Rule: each turn of the event loop lets in one connection, and the others wait in the kernel in the order in which they
came. So those inside have a turn for each that comes, however fast they come (see `gate`).
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import stat
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve, unix_serve

from cloche_hub.errors import HubError
from cloche_hub.setting_values import ListenAddress

_AT_ONCE = 1
"""Connections that one turn of the event loop lets in: asyncio takes as many as its `backlog` is long."""
_WAITING = 128
"""Connections that may wait in the kernel for being let in."""

Accept = Callable[[ServerConnection], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Tls:
    """How TCP addresses are encrypted."""

    context: ssl.SSLContext
    handshake_s: float
    """How long a client may take over it."""


async def listen_unix(stack: contextlib.AsyncExitStack, path: Path, accept: Accept, **options: Any) -> str:
    """Listens on a Unix socket until the stack is left; returns its address.

    Raises:
        HubError: its directory is not ours, or cannot be used.
    """
    try:
        # SAFETY: the directory is checked to be ours and closed to others before anything is created in it, so
        # nobody can put a socket of theirs in our place or connect before the mode is set.
        _clear_place(path)
        server = await unix_serve(accept, str(path), backlog=_AT_ONCE, **options)
        stack.callback(path.unlink, missing_ok=True)
        stack.push_async_callback(_close, server)
        _have_wait(server.sockets)
        os.chmod(path, 0o600)  # noqa: PTH101 - an inode of our own: nothing blocks
    except OSError as error:
        raise HubError(f"cannot listen on {path}: {error.strerror or error}") from error
    return f"unix://{path}"


async def listen_tcp(
    stack: contextlib.AsyncExitStack,
    address: ListenAddress,
    accept: Accept,
    *,
    tls: Tls | None,
    **options: Any,
) -> str:
    """Listens on a TCP address until the stack is left; returns it with the port that was given to it.

    Raises:
        HubError: it is taken, or not one of this host's.
    """
    if tls is not None:
        options |= {"ssl": tls.context, "ssl_handshake_timeout": tls.handshake_s}
    try:
        server = await serve(accept, address.host, address.port, backlog=_AT_ONCE, **options)
        _have_wait(server.sockets)
    except OSError as error:
        raise HubError(f"cannot listen on {address}: {error.strerror or error}") from error
    stack.push_async_callback(_close, server)
    host, port = next(iter(server.sockets)).getsockname()[:2]
    return f"{'wss' if tls else 'ws'}://{f'[{host}]' if ':' in host else host}:{port}"


def _have_wait(listening: Iterable[socket.socket]) -> None:
    """Lets more wait in the kernel than asyncio, which knows one number for both, takes at once."""
    for one in listening:
        with socket.socket(fileno=os.dup(one.fileno())) as same:
            same.listen(_WAITING)


async def _close(server: Server) -> None:
    server.close(close_connections=True)
    await server.wait_closed()


def _clear_place(path: Path) -> None:
    _own_directory(path.parent)
    path.unlink(missing_ok=True)


def _own_directory(path: Path) -> None:
    """Makes the directory, or checks the one that is there; afterwards nobody else can do anything in it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SAFETY: who can write in the parent could move the directory away and put one of theirs in its place.
    parent = path.parent.stat()
    if parent.st_uid not in (0, os.geteuid()):
        raise _not_ours(path.parent, f"belongs to user {parent.st_uid}")
    if parent.st_mode & 0o022 and not parent.st_mode & stat.S_ISVTX:
        raise _not_ours(path.parent, "can be written by others")
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise _not_ours(path, "is no directory")
    if status.st_uid != os.geteuid():
        raise _not_ours(path, f"belongs to user {status.st_uid}")
    path.chmod(0o700)


def _not_ours(path: Path, why: str) -> HubError:
    return HubError(f"{path} {why}; change that, or set CLOCHE_HOME or XDG_RUNTIME_DIR to another place")
