"""Requests about files as tests make them: whole files, whole folders, over any opener of channels.

files = FileRequests(partial(client.peer.open…))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from cloche_wire.aio import Channel
from cloche_wire.frames import Fields

BYTES = 1

Open = Callable[[str, dict[str, Any]], Awaitable[Channel]]
"""Opens a channel of a kind with parameters."""


@dataclass(frozen=True, slots=True)
class FileRequests:
    """Asks for files and waits for the answers."""

    open: Open

    async def call(self, kind: str, path: str, **params: Any) -> Fields:
        """Something small, such as `stat`."""
        return await (await self.open(f"file.{kind}", {"path": path, **params})).result()

    async def read(self, path: str, **params: Any) -> tuple[bytes, Fields]:
        """A file's bytes, and the result."""
        channel = await self.open("file.read", {"path": path, **params})
        data = await drain(channel)
        return data, await channel.result()

    async def begin_write(self, path: str, **params: Any) -> Channel:
        """A file that the guest takes bytes for."""
        channel = await self.open("file.write", {"path": path, **params})
        await channel.wait_accepted()
        return channel

    async def write(self, path: str, data: bytes, **params: Any) -> Fields:
        """Writes a whole file."""
        channel = await self.begin_write(path, **params)
        await channel.write(BYTES, data)
        channel.end(BYTES)
        return await channel.result()

    async def list(self, path: str, **params: Any) -> list[Fields]:
        """A folder's entries, by their names."""
        channel = await self.open("file.list", {"path": path, **params})
        entries = [entry async for message in channel.messages() for entry in message["entries"]]
        assert await channel.result() == {"entries": len(entries)}
        return sorted(entries, key=lambda entry: str(entry["name"]))


async def drain(channel: Channel) -> bytes:
    """A file's bytes to their end."""
    data = bytearray()
    while piece := await channel.read(BYTES):
        data += piece
    return bytes(data)


def files_of(open_now: Callable[..., Channel], sandbox: str) -> FileRequests:
    """The files of a sandbox, for a client.

    Args:
        open_now: the client's `open`.
        sandbox: a reference.
    """

    async def open_channel(kind: str, params: dict[str, Any]) -> Channel:
        return open_now(kind, sandbox=sandbox, **params)

    return FileRequests(open_channel)
