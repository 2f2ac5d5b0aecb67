"""How often a sandbox may ask: each call that is taken or refused by the policy leaves rows behind for ever.

Rule: what is too often is refused and not recorded one by one: the audit has the first of it, and then once in a
while how many there were since.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.bucket import Bucket
from cloche_hub.errors import NoSpace, StoreFailed, TooLarge
from cloche_hub.ports import Store
from cloche_hub.services.held import HUB
from cloche_hub.services.records import noting

_log = structlog.get_logger(__name__)

TOLD_EVERY_S = 60.0
"""Seconds between two records of a sandbox that goes on and on."""


@dataclass(slots=True, eq=False)
class _Meter:
    bucket: Bucket
    untold: int = 0
    """Calls refused that no record counts yet."""
    told_at: float | None = None


class CallbackRates:
    """Counts the calls of each sandbox.

    Args:
        store: for the audit.
        burst: calls at once.
        per_s: and then a second.
        now: seconds on a clock that never goes back.
    """

    def __init__(
        self, store: Store, *, burst: int, per_s: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._burst, self._per_s, self._now = store, burst, per_s, now
        self._meters: dict[str, _Meter] = {}

    async def admit(self, sandbox: str) -> None:
        """Counts a call that would be recorded next. Cancelling it loses a count at most.

        Raises:
            TooLarge: this sandbox asks too often.
        """
        meter = self._meters.get(sandbox)
        if meter is None:
            # Before it is added: the others may be those of sandboxes that have ended.
            await self._forget_quiet()
            meter = self._meters.setdefault(sandbox, _Meter(self._new_bucket()))
        if meter.bucket.take():
            return
        meter.untold += 1
        if meter.told_at is None or self._now() - meter.told_at >= TOLD_EVERY_S:
            await self._tell(sandbox, meter)
        raise TooLarge(self._refusal)

    @property
    def _refusal(self) -> str:
        return (
            f"this sandbox asks too often; it may make {self._burst} callbacks at once and {self._per_s:g} a second "
            "after that: wait, then ask again"
        )

    async def _forget_quiet(self) -> None:
        """Lets go of those that have kept still for long enough, once what they did is told."""
        for sandbox, meter in list(self._meters.items()):
            # Another call may have come here while this one waited for the store.
            if not meter.bucket.is_full or self._meters.get(sandbox) is not meter:
                continue
            del self._meters[sandbox]
            if meter.untold:
                await self._tell(sandbox, meter)

    async def _tell(self, sandbox: str, meter: _Meter) -> None:
        # Before it is written: those who come meanwhile need not tell it too.
        meter.told_at, count, meter.untold = self._now(), meter.untold, 0
        detail: dict[str, Json] = {"code": TooLarge.code, "reason": self._refusal, "calls": count}
        try:
            await self._store.write(
                noting(AuditName.CALLBACK_REFUSED, actor=HUB, sandbox=sandbox, detail=detail)
            )
        except (NoSpace, StoreFailed) as error:
            # It waits for nothing in memory: the next record counts these as well.
            meter.untold += count
            _log.warning("callbacks_refused_not_recorded", sandbox=sandbox, calls=count, reason=str(error))

    def _new_bucket(self) -> Bucket:
        return Bucket(burst=self._burst, per_s=self._per_s, now=self._now)
