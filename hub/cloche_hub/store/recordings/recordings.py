"""All recordings of a hub (`ports.Recordings`): one file each, and a row that says what it is.

    <home>/recordings/<rec_id>.cast.gz

Rule: the row comes before the file and goes before it. So a row without an end is a recording under way, or one that a
killed hub has left; and a file without a row is nobody's.
Rule: that a recording is finished or removed is in the audit with the change of its row.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import structlog

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import BadRequest, NoSpace, StoreFailed
from cloche_hub.ports import Found, Header, RecordingRow, Removed
from cloche_hub.store import disk
from cloche_hub.store.database import utc_now
from cloche_hub.store.recordings import table
from cloche_hub.store.recordings.cast import CastEvents, header_line, masked
from cloche_hub.store.recordings.cast_file import CastFile, Finished
from cloche_hub.store.recordings.expiry import expired
from cloche_hub.store.recordings.live import Desk, LiveRecording, on_thread
from cloche_hub.store.recordings.reading import text_pieces
from cloche_hub.store.recordings.recovery import finish_left
from cloche_hub.store.recordings.searching import Wanted, search_files
from cloche_hub.store.store import Store
from cloche_hub.store.transaction import Transaction

_log = structlog.get_logger(__name__)

RECORDINGS_FOLDER = "recordings"
MAX_BYTES = 64 << 20
MAX_SEARCHED = 5000
"""Recordings a search looks at: the newest."""
_SUFFIX = ".cast.gz"
_FILE = re.compile(r"(rec_[0-9a-z]{1,32})\.cast\.gz(\.new)?", re.ASCII)
_ACTOR = "hub"
_WRITERS, _READERS = 4, 4
_SEARCHES = 2
"""Searches at once: fewer than there are threads for readers."""
_BATCH = 500


class StoredRecordings:
    """The recordings in one folder; make it with `open_recordings`."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        *,
        max_bytes: int,
        now: Callable[[], datetime],
        elapsed_s: Callable[[], float],
    ) -> None:
        self._store, self._folder, self._max_bytes, self._now = store, folder, max_bytes, now
        self._writers = ThreadPoolExecutor(_WRITERS, thread_name_prefix="recording")
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="reading")
        self._searches = asyncio.Semaphore(_SEARCHES)
        self._desk = Desk(self._writers, elapsed_s, self._keep)
        self._live: dict[str, LiveRecording] = {}
        # All that are under way, or have only a row yet.
        self._ours: set[str] = set()

    async def begin(self, header: Header, *, secrets: Sequence[bytes] = ()) -> LiveRecording:
        """Begins a recording. See `ports.Recordings`."""
        header = masked(header, secrets)
        place = self._place(header.id)
        self._ours.add(header.id)
        await self._store.write(partial(table.insert, header=header))
        try:
            return await on_thread(self._writers, partial(self._begin, place, header, secrets))
        except (NoSpace, StoreFailed):
            await self._store.write(partial(table.delete, recording_id=header.id))
            self._ours.discard(header.id)
            raise

    async def list(
        self, *, sandbox: str | None = None, owner: str | None = None, limit: int
    ) -> Sequence[RecordingRow]:
        """The newest recordings, newest first. See `ports.Recordings`."""
        return await table.fetch(self._store, sandbox=sandbox, owner=owner, limit=limit)

    async def find(self, reference: str, *, owner: str | None = None) -> RecordingRow:
        """The recording a reference means. See `ports.Recordings`."""
        return await table.find(self._store, reference, owner=owner)

    async def read(self, recording_id: str) -> AsyncGenerator[bytes]:
        """The asciicast text in pieces. See `ports.Recordings`."""
        row = await table.find(self._store, recording_id)
        pieces = text_pieces(self._place(row.id), is_finished=row.ended_at is not None)
        try:
            while (piece := await on_thread(self._readers, partial(next, pieces, None))) is not None:
                yield piece
        finally:
            # A thread that is still reading for who was cancelled closes it itself.
            with contextlib.suppress(ValueError):
                pieces.close()

    async def search(
        self, text: str, *, sandbox: str | None = None, owner: str | None = None, limit: int, within_s: float
    ) -> Found:
        """Lines of recordings that have a text. See `ports.Recordings`.

        Raises:
            BadRequest: the text is empty, or more than a line.
        """
        if not text.strip() or len(text.splitlines()) > 1:
            raise BadRequest("text must be one line, and not empty")
        rows = await self.list(sandbox=sandbox, owner=owner, limit=MAX_SEARCHED)
        files = [(row.id, self._place(row.id), row.ended_at is not None) for row in rows]
        async with self._searches:
            ends_at = time.monotonic() + within_s
            given_up = threading.Event()
            try:
                return await on_thread(
                    self._readers,
                    lambda: search_files(
                        Wanted(text),
                        files,
                        limit=limit,
                        is_over=lambda: given_up.is_set() or time.monotonic() >= ends_at,
                    ),
                )
            finally:
                given_up.set()

    async def expire(self, *, before: datetime, max_total_bytes: int) -> Sequence[Removed]:
        """Deletes what is too old or too much. See `ports.Recordings`."""
        removed: list[Removed] = []
        while True:
            excess = await table.total_bytes(self._store) - max_total_bytes
            oldest = await table.fetch_oldest(self._store, limit=_BATCH)
            batch = list(expired(oldest, before=before, excess_bytes=excess))
            for one in batch:
                await self._remove(one)
            removed += batch
            if len(batch) < _BATCH:
                return removed

    async def recover(self) -> Sequence[RecordingRow]:
        """Finishes what a killed hub left, and deletes files nobody knows. See `ports.Recordings`."""
        recovered = []
        for row in await table.fetch_unfinished(self._store):
            if row.id in self._ours:
                continue
            try:
                finished = await on_thread(
                    self._writers, partial(finish_left, self._place(row.id), row.header)
                )
                ended_at = row.header.started_at + timedelta(seconds=finished.duration_s)
                row, is_news = await self._finish_row(row.header, finished, ended_at)
                # If not, it was one of ours, which has ended since its row was read.
                recovered += [row] if is_news else []
            except (NoSpace, StoreFailed) as error:
                _log.warning("recording_not_finished", recording=row.id, reason=str(error))
        await self._sweep()
        return recovered

    def close(self) -> None:
        """Lets go of every recording under way, which the next hub finishes. Blocks for what threads are at."""
        for live in self._live.values():
            live.abandon()
        self._writers.shutdown()
        self._readers.shutdown(cancel_futures=True)

    def _begin(self, place: Path, header: Header, secrets: Sequence[bytes]) -> LiveRecording:
        file = CastFile(place, header_line(header), CastEvents(secrets), max_bytes=self._max_bytes)
        # Here, on the thread: whoever asked may have been cancelled meanwhile, and the file is to be closed one day.
        live = self._live[header.id] = LiveRecording(header, file, self._desk)
        return live

    async def _keep(self, header: Header, finished: Finished) -> RecordingRow:
        row, _ = await self._finish_row(header, finished, self._now())
        del self._live[header.id]
        self._ours.discard(header.id)
        return row

    async def _finish_row(
        self, header: Header, finished: Finished, ended_at: datetime
    ) -> tuple[RecordingRow, bool]:
        """The row as the store has it, and whether it was not finished before."""
        row = RecordingRow(
            header=header,
            ended_at=ended_at,
            duration_s=finished.duration_s,
            size_bytes=finished.size_bytes,
            text_bytes=finished.text_bytes,
            sha256=finished.sha256,
            is_cut=finished.is_cut,
        )

        def change(tx: Transaction) -> tuple[RecordingRow, bool]:
            if not table.finish(tx, row):
                # Whoever wrote it was cancelled, and it was written all the same.
                return table.get(tx, row.id) or row, False
            detail: dict[str, Json] = {
                "recording": row.id,
                "of": header.of,
                "sha256": finished.sha256,
                "size_bytes": finished.size_bytes,
                "is_cut": finished.is_cut,
            }
            tx.append_audit(AuditName.RECORDING_FINISHED, actor=_ACTOR, sandbox=header.sandbox, detail=detail)
            return row, True

        return await self._store.write(change)

    async def _remove(self, removed: Removed) -> None:
        row = removed.row

        def change(tx: Transaction) -> None:
            if table.delete(tx, row.id):
                detail = {"recording": row.id, "reason": removed.reason}
                tx.append_audit(
                    AuditName.RECORDING_REMOVED, actor=_ACTOR, sandbox=row.header.sandbox, detail=detail
                )

        await self._store.write(change)
        await on_thread(self._writers, partial(self._unlink, [self._place(row.id)]))

    async def _sweep(self) -> None:
        """Deletes the files of recordings that have no row, and what was being written when a hub was killed."""
        found = await on_thread(self._writers, self._files)
        for start in range(0, len(found), _BATCH):
            batch = found[start : start + _BATCH]
            # Asked after the folder was read: a recording that has begun meanwhile has its row.
            known = await table.known(self._store, [recording_id for recording_id, _ in batch])
            strays = [
                path for recording_id, path in batch if recording_id not in known or path.suffix == ".new"
            ]
            await on_thread(self._writers, partial(self._unlink, strays))

    def _files(self) -> Sequence[tuple[str, Path]]:
        with disk.told(f"list {self._folder}"):
            return [
                (match[1], path) for path in self._folder.iterdir() if (match := _FILE.fullmatch(path.name))
            ]

    def _unlink(self, paths: Sequence[Path]) -> None:
        for path in paths:
            with disk.told(f"delete {path}"):
                path.unlink(missing_ok=True)

    def _place(self, recording_id: str) -> Path:
        # SAFETY: ids are the hub's own, by way of its database; anything else never becomes a path.
        if not _FILE.fullmatch(recording_id + _SUFFIX):
            raise ValueError(f"{recording_id!r} is no recording's id")
        return self._folder / f"{recording_id}{_SUFFIX}"


@asynccontextmanager
async def open_recordings(
    store: Store,
    home: Path,
    *,
    max_bytes: int = MAX_BYTES,
    now: Callable[[], datetime] = utc_now,
    elapsed_s: Callable[[], float] = time.monotonic,
) -> AsyncIterator[StoredRecordings]:
    """The recordings in a home that this process holds.

    What is under way at the end is left for the next hub, which finishes it as one that is cut.

    Args:
        store: the home's.
        home: the hub's home folder.
        max_bytes: of one recording, on disk.
        now: tells when recordings end.
        elapsed_s: a clock that only goes forward, for the times in recordings.

    Raises:
        NoSpace, StoreFailed: their folder cannot be made.
    """
    folder = home / RECORDINGS_FOLDER
    with disk.told(f"make {folder}"):
        disk.make_folder(folder)
    recordings = StoredRecordings(store, folder, max_bytes=max_bytes, now=now, elapsed_s=elapsed_s)
    try:
        yield recordings
    finally:
        recordings.close()
