"""The whole audit written to a file, as `cloche audit export` writes it, while the dashboard goes on.

Rules:
- The file appears when all of it is there and the hub has verified it, and takes nobody's place.
- It is written by a thread, some thousand lines at a time; the loop only makes lines.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from cloche.aio import Hub
from cloche.errors import BadRequest

_AT_ONCE = 2000
"""Lines."""
_IN_A_TURN = 50
"""Lines that are made before others have their turn."""


async def export_audit(hub: Hub, target: Path, progress: Callable[[int], None]) -> int:
    """Writes the chain as it is now; returns how many events that are.

    Cancelling leaves nothing behind.

    Args:
        hub: a connection.
        target: where to; nothing may be there.
        progress: told how many events are written, now and then.

    Raises:
        AuditBroken: the chain does not hold; nothing is left.
        BadRequest: it cannot be written; says why.
        CodedError: the hub is away, or refuses.
    """
    with _told(target), _beside(target) as (beside, out):
        events, lines = -1, list[str]()
        async with contextlib.aclosing(hub.export_audit()) as exported:  # type: ignore[type-var]
            async for line in exported:
                # The last line is the head.
                events += 1
                lines.append(f"{line}\n")
                if len(lines) % _IN_A_TURN == 0:
                    await asyncio.sleep(0)
                if len(lines) >= _AT_ONCE:
                    await asyncio.to_thread(_write, out, lines)
                    lines = []
                    progress(events)
        await asyncio.to_thread(_finish, out, lines)
        # A link, where a rename would take the place of what somebody has put there meanwhile.
        await asyncio.to_thread(os.link, beside, target)
        return events


@contextmanager
def _told(target: Path) -> Iterator[None]:
    """What the disk refuses, for a person."""
    try:
        if target.exists():
            raise FileExistsError
        yield
    except FileExistsError:
        raise BadRequest(f"{target} is there already; give another name: :export PATH") from None
    except OSError as error:
        raise BadRequest(f"{target} cannot be written: {error.strerror or error}") from None


@contextmanager
def _beside(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    # SAFETY: a name nobody can have put there before, for this user's eyes only: the audit says who did what.
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:64]}.")
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield Path(name), out
    finally:
        Path(name).unlink(missing_ok=True)


def _write(out: BinaryIO, lines: list[str]) -> None:
    out.write("".join(lines).encode())


def _finish(out: BinaryIO, lines: list[str]) -> None:
    _write(out, lines)
    out.flush()
    os.fsync(out.fileno())
