"""What machines cost their host, sampled for as long as somebody wants to know.

Rule: nobody listens, nothing is sampled. A machine that is gone just has no usage.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence

from cloche_hub.domain.events import Topic, Usage
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.errors import CodedError
from cloche_hub.ports import Machine, MachineUse
from cloche_hub.services.changes import Changes
from cloche_hub.services.clock import Clock
from cloche_wire.aio.bounds import within

# A machine's host may be stuck; the others are to be heard of all the same.
_ONE_S = 1.0


class UsageSampler:
    """Samples machines.

    Args:
        machines: the machines there are now, with their sandboxes.
        changes: who hears of it.
        interval_s: between two samples of a machine.
        clock: now.
    """

    def __init__(
        self,
        machines: Callable[[], Sequence[tuple[Sandbox, Machine]]],
        changes: Changes,
        *,
        interval_s: float,
        clock: Clock,
    ) -> None:
        self._machines, self._changes = machines, changes
        self._interval_s, self._clock = interval_s, clock
        self._listeners = 0
        self._wanted = asyncio.Event()
        self._latest: dict[str, Usage] = {}

    @contextlib.contextmanager
    def wanted(self) -> Iterator[None]:
        """Has samples made until the context is left."""
        self._listeners += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._listeners -= 1
            if not self._listeners:
                self._wanted.clear()
                self._latest.clear()

    @property
    def latest(self) -> Sequence[Usage]:
        """The newest sample of each machine; none where nobody has listened."""
        return tuple(self._latest.values())

    async def run_for_ever(self) -> None:
        """Runs until cancelled."""
        while True:
            await self._wanted.wait()
            await self.sample()
            await asyncio.sleep(self._interval_s)

    async def sample(self) -> None:
        """Looks at every machine once. Raises nothing."""
        before, after = self._latest, dict[str, Usage]()
        for sandbox, machine in self._machines():
            try:
                async with within(_ONE_S):
                    use = await machine.use()
            except (CodedError, OSError, TimeoutError):
                continue
            after[sandbox.id] = self._usage(sandbox, use, before.get(sandbox.id))
        # Whoever listened may be gone by now.
        if self._listeners:
            self._latest = after
            for key, usage in after.items():
                self._changes.publish(Topic.USAGE, key, usage)

    def _usage(self, sandbox: Sandbox, use: MachineUse, before: Usage | None) -> Usage:
        now, percent = self._clock.now(), None
        if before is not None:
            passed_s = (now - before.at).total_seconds()
            # A clock can step back, and a machine's own can not.
            percent = max(use.cpu_s - before.cpu_s, 0.0) / passed_s * 100 if passed_s > 0 else None
        rounded = None if percent is None else round(percent, 1)
        return Usage(sandbox, now, use.cpu_s, rounded, use.memory_pss_bytes, use.disk_bytes)
