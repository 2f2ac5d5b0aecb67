"""Commands recorded as they pass: what they write goes to the client at once and into an asciicast.

    async with recordings.recorded(header, sandbox secrets) as tape:
        await splice(…, back_tap=tape, back_gate=tape.gate)

Rules:
- The recording never holds more than a window of what is not on the disk: the guest is told that its bytes are read only
  when they are recorded, too (`Gate`). On a full disk the command waits as soon as its window is full.
- A line feed is recorded as a terminal shows it, with a carriage return: a command has no terminal that would add it.
- However a command ends, its recording is finished; where the disk is full, as soon as that goes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

import structlog

from cloche_hub.errors import CodedError, NoSpace, StoreFailed
from cloche_hub.ports import Header, Recording, Recordings
from cloche_wire.aio import Gate
from cloche_wire.aio.bounds import within
from cloche_wire.errors import ungrouped

_log = structlog.get_logger(__name__)

MOST_WINDOW = 512 << 10
"""Bytes a stream that a recorded command may write ahead. Two streams of line feeds are less than a recording holds."""
LINGER_S = 0.2
RETRY_S = 1.0
_FINISH_S = 5.0
_STDOUT, _STDERR = 1, 2


class Tape:
    """What one command writes, on its way into a recording. Implements cloche_wire.aio.Tap.

    Args:
        recording: under way.
        enough: bytes of a stream that are put on the disk at once; fewer wait a moment for more.
    """

    def __init__(self, recording: Recording, *, enough: int) -> None:
        self.gate = Gate()
        self.recording = recording
        self._enough_bytes = enough
        self._seen: dict[int, int] = {}
        self._on_disk: dict[int, int] = {}
        self._some, self._enough = asyncio.Event(), asyncio.Event()

    def received(self, stream: int, data: bytes) -> None:
        """Bytes are about to pass."""
        self._seen[stream] = self._seen.get(stream, 0) + len(data)
        if stream in (_STDOUT, _STDERR):
            self.recording.output(data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
        self._some.set()
        if self._seen[stream] - self._on_disk.get(stream, 0) >= self._enough_bytes:
            self._enough.set()

    def ended(self, stream: int) -> None:
        """A stream's end is about to pass."""

    async def flush_for_ever(self) -> None:
        """Puts what passes on the disk and lets the guest hear of it, until cancelled.

        Raises:
            StoreFailed: the disk failed.
        """
        while True:
            await self._some.wait()
            with contextlib.suppress(TimeoutError):
                async with within(LINGER_S):
                    await self._enough.wait()
            self._some.clear()
            self._enough.clear()
            seen = dict(self._seen)
            await self._flush()
            self._on_disk = seen
            for stream, offset in seen.items():
                self.gate.pass_below(stream, offset)

    async def _flush(self) -> None:
        is_full = False
        while True:
            try:
                return await self.recording.flush()
            except NoSpace as error:
                if not is_full:
                    _log.warning("recording_waits", recording=self.recording.id, reason=str(error))
                is_full = True
                await asyncio.sleep(RETRY_S)


class ExecRecordings:
    """Records commands.

    Args:
        recordings: where to.
    """

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings
        self._unfinished: list[Recording] = []

    @contextlib.asynccontextmanager
    async def recorded(self, header: Header, *, secrets: Sequence[bytes], window: int) -> AsyncIterator[Tape]:
        """A tape for a command, whose recording ends with the context.

        Args:
            header: of the recording.
            secrets: to be masked in it.
            window: bytes a stream that the command may write ahead.

        Raises:
            NoSpace, StoreFailed: it cannot be begun, or the disk fails on the way.
        """
        tape = Tape(await self._recordings.begin(header, secrets=secrets), enough=window // 4)
        try:
            with ungrouped():
                async with asyncio.TaskGroup() as tasks:
                    flushing = tasks.create_task(tape.flush_for_ever())
                    yield tape
                    flushing.cancel()
        except CodedError as error:
            tape.recording.marker(f"failed: {error.message}")
            raise
        finally:
            await self.finish(tape.recording)

    async def finish(self, recording: Recording) -> None:
        """Ends a recording; a disk that is full has it tried again and again. Idempotent. Raises nothing."""
        try:
            async with within(_FINISH_S):
                await recording.finish()
        except (NoSpace, TimeoutError) as error:
            _log.warning("recording_not_finished_yet", recording=recording.id, reason=str(error))
            self._unfinished.append(recording)
        except StoreFailed as error:
            # The next hub finishes it, if the disk is better then.
            _log.error("recording_not_finished", recording=recording.id, reason=str(error))
        except asyncio.CancelledError:
            self._unfinished.append(recording)
            raise

    async def finish_for_ever(self, *, interval_s: float = RETRY_S) -> None:
        """Tries again to finish what could not be finished, until cancelled."""
        while True:
            unfinished, self._unfinished = self._unfinished, []
            for recording in unfinished:
                await self.finish(recording)
            await asyncio.sleep(interval_s)
