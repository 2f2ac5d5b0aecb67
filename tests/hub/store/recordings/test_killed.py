"""A real kill in the middle of recording: nothing that was said to be durable is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cloche_hub.store.recordings.recordings import open_recordings
from cloche_hub.store.screens import open_screens
from cloche_hub.store.store import open_store
from tests.hub.store.recordings.record_until_killed import piece
from tests.support.casts import header, shown

ROOT = Path(__file__).resolve().parents[4]


def killed_after(home: Path, pieces: int) -> int:
    """Kills the program after so many pieces; returns how many it has said to be durable."""
    command = [sys.executable, "-m", "tests.hub.store.recordings.record_until_killed", str(home)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            said = [program.stdout.readline() for _ in range(pieces)]
        finally:
            program.kill()
        # What it had said by the time it was dead counts, too.
        said += program.stdout.readlines()
    return int([line for line in said if line.endswith("\n")][-1])


@pytest.mark.parametrize("pieces", [1, 2, 50])
async def test_what_was_durable_survives_a_kill(tmp_path: Path, pieces: int) -> None:
    durable = killed_after(tmp_path, pieces)
    assert durable >= pieces
    expected = b"".join(map(piece, range(durable)))
    async with open_screens(tmp_path) as screens:
        stored = await screens.load(header().of)
        assert stored is not None
        assert b"".join(entry for entry in stored.entries if isinstance(entry, bytes)).startswith(expected)
    async with open_store(tmp_path) as store, open_recordings(store, tmp_path) as recordings:
        (row,) = await recordings.recover()
        text = b"".join([piece async for piece in recordings.read(row.id)])
        assert shown(text).startswith(expected.decode())
