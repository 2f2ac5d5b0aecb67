"""Work in sandboxes that the audit knows of: commands, consoles, files. What is recorded of it, and when.

    work = recorder.work(…)
    await work.start(EXEC_STARTED, …)        durable before the guest hears of it
    async with work.watched():               a failure is recorded before it is told
        …
        await work.end(EXEC_EXITED, …)       durable before the client hears of it

Rules:
- Every start that was recorded has an end that is, whoever goes away and however full the disk.
- A sandbox's secrets are masked in whatever is recorded, also where a caller or its guest wrote them out.
- A failure that cannot be recorded now is told all the same; an end that cannot is told as just that.
- What is recorded only when it is over begins only while nothing waits to be recorded: so what waits is bounded by what
  was under way.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.masking import NO_SECRETS, Secrets
from cloche_hub.errors import Cancelled, CodedError, InternalError, NoSpace
from cloche_hub.ports import Store
from cloche_hub.services.records import Change, Records, noting

_AUDITED_REASON = 500
"""Characters."""
_CANNOT = "the hub cannot record it now: its disk is full or its database fails"


class Recorder:
    """Makes records of work.

    Args:
        store: for starts, which may fail.
        records: for ends, which may not.
        secrets: what no record of a sandbox may hold.
    """

    def __init__(
        self,
        store: Store,
        records: Records,
        secrets: Callable[[str], Secrets] = lambda _sandbox_id: NO_SECRETS,
    ) -> None:
        self.store, self.records, self.secrets = store, records, secrets

    def work(
        self,
        sandbox_id: str,
        *,
        actor: str,
        about: Mapping[str, Json],
        failed: AuditName,
        called_off: AuditName | None = None,
        so_far: Callable[[], Mapping[str, Json]] = dict,
    ) -> Recorded:
        """One piece of work.

        Args:
            sandbox_id: where it is done.
            actor: who asked for it.
            about: what each of its events says.
            failed: the event of a failure.
            called_off: the event where it was called off, if that is no failure.
            so_far: what the event of a failure says besides.
        """
        return Recorded(self, sandbox_id, actor, about, failed, called_off or failed, so_far)


class Recorded:
    """One piece of work; from `Recorder.work`."""

    def __init__(
        self,
        recorder: Recorder,
        sandbox_id: str,
        actor: str,
        about: Mapping[str, Json],
        failed: AuditName,
        called_off: AuditName,
        so_far: Callable[[], Mapping[str, Json]],
    ) -> None:
        self._store, self._records = recorder.store, recorder.records
        # Now: by the time it ends, its sandbox may be gone.
        self._secrets = recorder.secrets(sandbox_id)
        self._sandbox_id, self._actor, self._about = sandbox_id, actor, about
        self._failed, self._called_off, self._so_far = failed, called_off, so_far
        self._is_over = False

    async def start(self, event: AuditName, detail: Mapping[str, Json]) -> None:
        """Records that it begins. Cancelling records a failure: the start may have been recorded all the same.

        Raises:
            NoSpace, StoreFailed: it cannot be recorded, so it must not begin.
        """
        try:
            await self._store.write(self._noting(event, detail))
        except asyncio.CancelledError:
            await self._record_failure(_gone())
            raise

    def require_recordable(self) -> None:
        """For work without a recorded start.

        Raises:
            NoSpace: what has happened already cannot be recorded now, so nothing more may happen.
        """
        if self._records.are_waiting:
            raise NoSpace(f"not begun: {_CANNOT}")

    @contextlib.asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Records how what is done inside fails, before whoever asked for it hears so."""
        try:
            yield
        except asyncio.CancelledError:
            await self._record_failure(_gone())
            raise
        except Exception as error:
            await self._record_failure(
                error if isinstance(error, CodedError) else InternalError("the hub failed")
            )
            raise

    async def end(
        self, event: AuditName, detail: Mapping[str, Json], *, what: str, told: Mapping[str, Any]
    ) -> None:
        """Records that it is over, and how.

        Args:
            event, detail: what is recorded.
            what: what has happened, for the error: "the command has ended".
            told: what the error's details say of it.

        Raises:
            NoSpace: it could not be recorded now; it will be.
        """
        self._is_over = True
        if not await self._records.keep(self._noting(event, detail)):
            raise NoSpace(f"{what}, but {_CANNOT}", **told)

    async def _record_failure(self, error: CodedError) -> None:
        """Nobody can know how it ended, unless that has been recorded."""
        if self._is_over:
            return
        self._is_over = True
        event = self._called_off if isinstance(error, Cancelled) else self._failed
        detail = {**self._so_far(), "code": error.code, "reason": error.message[:_AUDITED_REASON]}
        await self._records.keep(self._noting(event, detail))

    def _noting(self, event: AuditName, detail: Mapping[str, Json]) -> Change:
        masked = {key: self._secrets.mask_json(value) for key, value in {**self._about, **detail}.items()}
        return noting(event, actor=self._actor, sandbox=self._sandbox_id, detail=masked)


def _gone() -> Cancelled:
    return Cancelled("the client has gone away")
