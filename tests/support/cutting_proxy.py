"""A Unix socket that passes bytes on to another one, and breaks when a test says so: a bad network in front of a hub."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Self

from cloche_wire.errors import ungrouped


class CuttingProxy:
    """Listens on `front` and passes everything on to `back`, both ways.

    Attributes:
        links: how many connections there have been.
        passed: bytes that have come from the back.
    """

    def __init__(self, front: Path, back: Path) -> None:
        self.front, self.back = front, back
        self.links = self.passed = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        """What clients connect to."""
        return f"unix://{self.front}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._serve, self.front)
        return self

    async def __aexit__(self, *_error: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    def cut(self) -> None:
        """Breaks every connection in the middle of whatever is on it."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.links += 1
        back_reader, back_writer = await asyncio.open_unix_connection(str(self.back))
        ours = {writer, back_writer}
        self._writers |= ours
        try:
            with ungrouped():
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._pass(reader, back_writer, counts=False))
                    tasks.create_task(self._pass(back_reader, writer, counts=True))
        except OSError:
            return  # cut
        finally:
            self._writers -= ours
            for end in ours:
                end.transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counts: bool
    ) -> None:
        while data := await reader.read(64 << 10):
            self.passed += len(data) if counts else 0
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError("one side has left")
