"""A program that stores a console's screen and records it, and says what is durable, until it is killed.

    python -m tests.hub.store.recordings.record_until_killed HOME

Prints a line for each piece once it is stored and flushed: how many there are.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from cloche_hub.store.recordings.recordings import open_recordings
from cloche_hub.store.screens import open_screens
from cloche_hub.store.store import open_store
from tests.support.casts import header


def piece(number: int) -> bytes:
    return f"piece {number}\r\n".encode()


async def main(home: Path) -> None:
    async with (
        open_store(home) as store,
        open_recordings(store, home) as recordings,
        open_screens(home) as screens,
    ):
        recording = await recordings.begin(header())
        log = await screens.begin(header().of)
        number = 0
        while True:
            recording.output(piece(number))
            await log.append(log.end, [piece(number)])
            await recording.flush()
            number += 1
            print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
