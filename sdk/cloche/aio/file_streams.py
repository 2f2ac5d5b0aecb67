"""A file's content on its way from or to a sandbox, one channel each, hashed here and checked against the hub's hash.

    pull     opens a read: its entry at once, its pieces one after another, checked at the end
    Push     a write: pieces in, the entry of the new file out; left without an end it leaves nothing

Rule: the hash is of the bytes as this program had them, so that it covers all of the way.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cloche.errors import Cancelled, InternalError, LinkLost
from cloche.file_messages import FileEntry, Passed
from cloche.threads import in_thread

if TYPE_CHECKING:
    from cloche.link import Link
    from cloche_wire.aio import Channel

PIECE = 256 << 10
"""Bytes of a file that are handled at a time."""
_BYTES = 1
_HASHED_AT_ONCE = 32 << 10
"""Fewer are hashed faster than a thread is woken."""


def asked(sandbox: str, path: str, user: str | None, **more: Any) -> dict[str, Any]:
    """The parameters of a request; what is None has the default of the hub."""
    params = {"sandbox": sandbox, "path": path, "user": user, **more}
    return {name: value for name, value in params.items() if value is not None}


class Digest:
    """The sha256 of pieces, made without stalling the loop."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    async def add(self, piece: bytes) -> None:
        """One more piece."""
        if len(piece) <= _HASHED_AT_ONCE:
            self._digest.update(piece)
        else:
            await in_thread(lambda: self._digest.update(piece))

    @property
    def sha256(self) -> str:
        """Of all pieces so far, in hex."""
        return self._digest.hexdigest()


class Pull:
    """The content of a file as it comes. Made by `pull`.

    Attributes:
        entry: the file as it was when it was opened.
    """

    def __init__(self, channel: Channel, entry: FileEntry) -> None:
        self._channel, self.entry = channel, entry
        self._received = 0

    async def read(self) -> bytes:
        """The next bytes; empty at the end. Cancelling loses nothing.

        Raises:
            CodedError: the rest was lost.
        """
        piece = await self._channel.read(_BYTES)
        self._received += len(piece)
        return piece

    async def end(self) -> Passed:
        """After the last piece: what the hub saw pass, for `check`.

        Raises:
            CodedError: it could not all be read.
        """
        return Passed.parse(await self._channel.result())

    def check(self, passed: Passed, sha256: str) -> None:
        """That what was received is what the hub saw pass.

        Raises:
            InternalError: it is not.
        """
        if (passed.size_bytes, passed.sha256) != (self._received, sha256):
            raise InternalError(f"{self.entry.path}: what arrived is not what the hub sent; read it again")


@asynccontextmanager
async def pull(link: Link, params: dict[str, Any]) -> AsyncIterator[Pull]:
    """Opens a file to be read; leaving the block gives up what was not read.

    Args:
        link: to the hub.
        params: of `file.read`.

    Raises:
        CodedError: it cannot be read.
    """
    channel = link.open("file.read", params)
    try:
        yield Pull(channel, FileEntry.parse(await channel.wait_accepted()))
    finally:
        # Does nothing to one that has ended.
        channel.reset(Cancelled("the caller has given up the file"))


class Push:
    """A file that is being written. A context manager: what is left without `finish` leaves nothing behind.

    Args:
        link: to the hub.
        params: of `file.write`.
    """

    def __init__(self, link: Link, params: dict[str, Any]) -> None:
        self._channel = link.open("file.write", params)
        self._path = params["path"]

    async def write(self, piece: bytes) -> None:
        """Sends more, waiting until there is room.

        Raises:
            CodedError: it cannot be written.
        """
        try:
            await self._channel.write(_BYTES, piece)
        except LinkLost:
            await self._channel.result()  # raises what happened
            raise

    async def watch(self) -> None:
        """Waits until it has ended: what gives the pieces may take its time, and need not learn of it.

        Raises:
            CodedError: it cannot be written.
        """
        await self._channel.result()

    async def finish(self, sha256: str) -> FileEntry:
        """Puts the file in its place.

        Args:
            sha256: of what was written.

        Raises:
            InternalError: what arrived is not what was sent.
            CodedError: it cannot be put there.
        """
        self._channel.end(_BYTES)
        result = await self._channel.result()
        if Passed.parse(result).sha256 != sha256:
            raise InternalError(
                f"{self._path}: what arrived in the sandbox is not what was sent; write it again"
            )
        return FileEntry.parse(result)

    async def __aenter__(self) -> Self:
        try:
            await self._channel.wait_accepted()
        except BaseException:
            self._give_up()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_up()

    def _give_up(self) -> None:
        # Does nothing to one that has ended.
        self._channel.reset(Cancelled("the caller has given up the file"))
