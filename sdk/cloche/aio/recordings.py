"""Recordings: what consoles, and commands that were asked for it, have shown; listed, searched and taken away."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cloche.answers import Answer
from cloche.errors import Cancelled, InternalError
from cloche.file_messages import Passed
from cloche.local_tree import LocalTree, NewFile
from cloche.partial import Partial
from cloche.recording_messages import RecordingHit, RecordingInfo
from cloche.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from cloche.link import Link

_TEXT = 1
"""The stream of a recording's text."""
_MODE = 0o666
"""Of a file that is saved, less the umask."""


class Recordings:
    """What consoles and commands have shown. `Hub.recordings` has it."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def list(self, *, sandbox: str | None = None, limit: int = 100) -> Partial[RecordingInfo]:
        """The newest recordings, newest first, those under way too.

        Args:
            sandbox: only those of this one: an id, a name, or the beginning of one.
            limit: at most so many; `omitted` counts those an answer has no room for.
        """
        answer = Answer("list", await self._link.call("recording.list", _params(sandbox, limit=limit)))
        return Partial(answer.each("recordings", RecordingInfo.parse), omitted=answer.whole("omitted"))

    async def get(self, recording: str) -> RecordingInfo:
        """What is known of one.

        Args:
            recording: an id, or the beginning of one.

        Raises:
            NotFound, BadRequest: none is meant, or several.
        """
        return RecordingInfo.parse(await self._link.call("recording.show", {"recording": recording}))

    async def read(self, recording: str) -> AsyncIterator[bytes]:
        """Its text in pieces, as asciicast v2, checked against the hub's hash; of one under way, what there is.

        SAFETY: it has what a guest wrote, with every escape sequence: show it with a player, not with `cat`.

        Args:
            recording: an id, or the beginning of one.

        Raises:
            NotFound, BadRequest: none is meant, or several.
            InternalError: what arrived is not what the hub sent.
        """
        channel = self._link.open("recording.read", {"recording": recording})
        digest, size = hashlib.sha256(), 0
        try:
            while piece := await channel.read(_TEXT):
                digest.update(piece)
                size += len(piece)
                yield piece
            sent = Passed.parse(await channel.result())
        finally:
            channel.reset(Cancelled("the caller has seen enough"))
        if sent != Passed(size, digest.hexdigest()):
            raise InternalError(f"{recording}: what arrived is not what the hub sent; read it again")

    async def save(self, recording: str, path: str | os.PathLike[str]) -> int:
        """Writes its text to a file on this host, which is there when it is complete, or not at all.

        Args:
            recording: an id, or the beginning of one.
            path: `….cast`; what is there is replaced.

        Returns:
            How many bytes it has.

        Raises:
            NotFound, BadRequest: none is meant, or several.
            OSError: the file cannot be written.
        """
        target = Path(path)
        pieces = self.read(recording)
        tree = await in_thread(lambda: LocalTree(target.parent))
        try:
            return await _write(pieces, tree, target.name)
        finally:
            tree.close()
            await cast("AsyncGenerator[bytes, None]", pieces).aclose()

    async def search(
        self, text: str, *, sandbox: str | None = None, limit: int = 100
    ) -> Partial[RecordingHit]:
        """The lines of recordings that have a text: of the newest recording first, within one in order.

        Escape sequences are left out, and the case of letters counts if the text has capitals.

        Args:
            text: what to look for; one line at most.
            sandbox: only in recordings of this one: an id, a name, or the beginning of one.
            limit: at most so many; `omitted` counts recordings that were not looked through to their ends.

        Raises:
            BadRequest: there is nothing to look for.
        """
        asked = _params(sandbox, text=text, limit=limit)
        answer = Answer("hits", await self._link.call("recording.search", asked))
        return Partial(answer.each("hits", RecordingHit.parse), omitted=answer.whole("omitted"))


async def _write(pieces: AsyncIterator[bytes], tree: LocalTree, name: str) -> int:
    size = 0
    made: list[NewFile] = []
    try:
        await in_thread(lambda: made.append(tree.new_file((name,), _MODE, 0)))
        async for piece in pieces:
            await in_thread(partial(made[0].write, piece))
            size += len(piece)
        await in_thread(lambda: made[0].commit(time.time_ns()))
    finally:
        for file in made:
            file.abandon()
    return size


def _params(sandbox: str | None, **more: Any) -> dict[str, Any]:
    return more if sandbox is None else {"sandbox": sandbox, **more}
