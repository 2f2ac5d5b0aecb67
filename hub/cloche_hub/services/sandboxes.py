"""The sandboxes of this hub, as clients ask for them. What happens in a sandbox's life is `life`'s matter.

Rules:
- One task is a sandbox's whole life; everybody else only asks it to end.
- A client that goes away in the middle of a creation leaves nothing behind.
- A sandbox can be seen as soon as the store has it, and until the store knows that it is removed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterable, Iterator
from typing import Any

import structlog

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.events import Topic
from cloche_hub.domain.masking import NO_SECRETS, Secrets
from cloche_hub.domain.references import gone, resolve
from cloche_hub.domain.requests import CreateRequest
from cloche_hub.domain.sandbox import Sandbox, State, is_expired, require_running, touched
from cloche_hub.errors import InternalError, NotFound, ShuttingDown, TooLarge, WrongState
from cloche_hub.ports import BootOutput, Guest, Hypervisor, Machine, OnProgress, Store
from cloche_hub.services.changes import Changes
from cloche_hub.services.clock import Clock
from cloche_hub.services.held import HUB, Ending, Held, ask_to_end, hold
from cloche_hub.services.images import ImageService
from cloche_hub.services.life import Lives, Order
from cloche_hub.services.records import Records
from cloche_hub.services.recovery import end_strays, end_work, why_failed

_log = structlog.get_logger(__name__)


class Sandboxes:
    """The sandboxes of this hub. Use it inside `running`.

    Args:
        lives: leads them.
        store, records: what outlives the hub.
        images: what machines start from.
        hypervisor: for what a killed hub has left.
        max_sandboxes: how many may be live at once.
        clock: now.
        changes: hears of every sandbox that changes; a removed one is told as such.
    """

    def __init__(
        self,
        lives: Lives,
        store: Store,
        records: Records,
        images: ImageService,
        hypervisor: Hypervisor,
        *,
        max_sandboxes: int,
        clock: Clock,
        changes: Changes,
    ) -> None:
        self._lives, self._store, self._records = lives, store, records
        self._images, self._hypervisor = images, hypervisor
        self._max_sandboxes, self._clock = max_sandboxes, clock
        self._changes = changes
        self._held: dict[str, Held] = {}
        self._tasks = asyncio.TaskGroup()
        self._is_stopping = False

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Takes up what the store holds, then serves; on leaving, for whatever reason, ends every machine."""
        async with self._tasks:
            await self._take_up()
            try:
                yield
            finally:
                self._is_stopping = True
                for held in self._held.values():
                    ask_to_end(held, Ending(HUB, "the hub was stopped"))
                # Waited for here and not by the group: after an error it would cancel them, and leave the machines.
                lives = [held.life for held in self._held.values() if held.life is not None]
                if lives:
                    await asyncio.wait(lives)

    async def _take_up(self) -> None:
        ended = await end_strays(self._hypervisor, self._records)
        for sandbox in await self._store.sandboxes():
            held = self._held[sandbox.id] = hold(sandbox, self._tell)
            held.set_recorded()
            held.started.set_result(None)
            if sandbox.state is not State.FAILED:
                await end_work(self._store, self._records, sandbox.id)
            if sandbox.state is State.REMOVING:
                ask_to_end(held, Ending(HUB, sandbox.end_reason or why_failed(sandbox.id, ended)))
            elif sandbox.state is not State.FAILED:
                await self._lives.fail_unled(held, why_failed(sandbox.id, ended))
            self._begin(held, self._lives.lead_rest(held))

    # What clients ask for.

    async def create(
        self, request: CreateRequest, *, owner: str, actor: str, progress: OnProgress
    ) -> Sandbox:
        """Makes a sandbox and returns when it runs. If it fails its row stays, with the reason and the boot log.

        Cancelling it ends whatever has been made so far.

        Raises:
            RecipeNotBuilt: there is no image and the request does not say to build one.
            Conflict: the owner has a live sandbox of that name.
            TooLarge: the hub holds as many as it may.
            CodedError: it could not be built or started; `details["sandbox"]` names the row that stays.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        image = await self._images.find(request.recipe, build=request.build)
        self._require_room()
        sandbox = request.sandbox(owner=owner, at=self._clock.now())
        held = hold(sandbox, self._tell, secrets=request.secrets)
        held.steps["image"] = round(loop.time() - began, 4)
        self._held[held.sandbox.id] = held
        self._begin(held, self._lives.lead(held, Order(request, actor, progress, image)))
        try:
            await asyncio.shield(held.started)
        except asyncio.CancelledError:
            ask_to_end(held, Ending(actor, "its maker gave up while it was being created"))
            raise
        return held.sandbox

    def abandon(self, sandbox_id: str, *, actor: str) -> None:
        """Ends a sandbox that its maker has never heard of. Waits for nothing."""
        if held := self._held.get(sandbox_id):
            ask_to_end(held, Ending(actor, "its maker was gone before it was created"))

    async def find(self, reference: str, *, owner: str | None, caller: str) -> Sandbox:
        """The live sandbox meant. Waits for nothing where there is one.

        Args:
            reference: an id, a name, or the beginning of one.
            owner: whose sandboxes may be seen; None for everybody's.
            caller: whose names come first.

        Raises:
            NotFound, BadRequest: none is meant (says so of one that is gone), or several.
        """
        try:
            return resolve(reference, self.live(owner=owner), owner=caller)
        except NotFound:
            await self._refuse_gone(reference, owner=owner, caller=caller)
            raise

    def live(self, *, owner: str | None) -> list[Sandbox]:
        """The sandboxes that are not removed, newest first."""
        seen = (held.sandbox for held in self._seen(self._held, owner))
        return _newest_first(sandbox for sandbox in seen if sandbox.live)

    async def every(self, *, owner: str | None) -> list[Sandbox]:
        """Live sandboxes and the newest of the removed ones, newest first."""
        # What was held before the rows were read is known better here, even if it has been removed meanwhile.
        before = dict(self._held)
        rows = {row.id: row for row in await self._store.sandboxes(ended=True, owner=owner)}
        known = {held.sandbox.id: held.sandbox for held in self._seen(before | self._held, owner)}
        return _newest_first((rows | known).values())

    async def find_ever(self, reference: str, *, owner: str | None, caller: str) -> Sandbox:
        """The sandbox meant, also one that is removed.

        Raises:
            NotFound, BadRequest: none is meant, or several.
        """
        before = dict(self._held)
        try:
            found = await self._store.find_sandbox(reference, caller=caller, owner=owner)
        except NotFound:
            await self._refuse_gone(reference, owner=owner, caller=caller)
            raise
        held = self._held.get(found.id) or before.get(found.id)
        return found if held is None else held.sandbox

    async def find_left(self, reference: str, *, owner: str | None, caller: str) -> Sandbox:
        """As `find_ever`, for what is left of a sandbox: a name that nothing live has is the newest removed one's.

        Raises:
            NotFound, BadRequest: none is meant, or several.
        """
        try:
            return await self.find_ever(reference, owner=owner, caller=caller)
        except NotFound:
            removed = await self._store.removed_sandbox(reference, caller=caller, owner=owner)
            if removed is None:
                raise
            return removed

    async def remove(self, sandbox_id: str, *, actor: str) -> Sandbox:
        """Ends a sandbox's machine and deletes its disk; returns its last state. Removing it twice is once.

        Cancelling does not stop the removal.

        Raises:
            NotFound: it is gone.
        """
        held = self._get(sandbox_id)
        assert held.life is not None
        ask_to_end(held, Ending(actor, f"removed by {actor}"))
        # Many may wait for one life, and each may give up: what is cancelled here is the waiting.
        await asyncio.wait({held.life})
        return held.sandbox

    async def boot_log(self, sandbox_id: str, *, max_bytes: int) -> bytes:
        """The newest bytes of its serial console; empty if it never had a machine.

        Raises:
            NotFound: it is gone.
        """
        held = self._get(sandbox_id)
        if held.machine is None:
            return held.boot_log[-max_bytes:]
        return await held.machine.boot_log(max_bytes=max_bytes)

    def booted(self) -> list[tuple[Sandbox, bool]]:
        """The sandboxes that have a boot log, and whether their machine still writes it."""
        return [_booted(held) for held in self._seen(self._held, None) if _has_booted(held)]

    def booted_one(self, sandbox_id: str) -> tuple[Sandbox, bool]:
        """A sandbox that has a boot log, and whether its machine still writes it.

        Raises:
            NotFound: it is gone.
            WrongState: its machine has not been started yet.
        """
        held = self._get(sandbox_id)
        if not _has_booted(held):
            raise WrongState(f"sandbox {held.sandbox.label} has no machine yet", sandbox=sandbox_id)
        return _booted(held)

    async def follow_boot_log(self, sandbox_id: str) -> AsyncGenerator[BootOutput]:
        """Its serial console, see `ports.Machine`; what is left of it where the machine has failed.

        Raises:
            NotFound: it is gone.
        """
        held = self._get(sandbox_id)
        if held.machine is None:
            yield BootOutput(held.boot_log)
            return
        async with contextlib.aclosing(held.machine.follow_boot_log()) as outputs:
            async for output in outputs:
                yield output

    @contextlib.asynccontextmanager
    async def in_use(self, sandbox_id: str) -> AsyncIterator[Guest]:
        """Its guest, for as long as something runs in it; the lease starts anew when that ends.

        Raises:
            NotFound: it is gone.
            WrongState: it is not running.
        """
        held = self._get(sandbox_id)
        require_running(held.sandbox)
        assert held.guest is not None
        with self.kept(sandbox_id):
            yield held.guest

    @contextlib.contextmanager
    def kept(self, sandbox_id: str) -> Iterator[None]:
        """Keeps it from expiring for as long as somebody is there; if it runs then, the lease starts anew.

        Raises:
            NotFound: it is gone.
        """
        held = self._get(sandbox_id)
        held.busy += 1
        try:
            yield
        finally:
            held.busy -= 1
            if held.sandbox.state is State.RUNNING:
                held.sandbox = touched(held.sandbox, at=self._clock.now())

    def secrets(self, sandbox_id: str) -> Secrets:
        """What must not be found in anything that is kept of it; none if it is gone, or a hub before this one made it."""
        held = self._held.get(sandbox_id)
        return NO_SECRETS if held is None else held.secrets

    @property
    def machines(self) -> int:
        """Machines that exist now."""
        return sum(held.machine is not None for held in self._held.values())

    def expire(self) -> None:
        """Asks every sandbox to end whose lease has run out and in which nothing runs."""
        now = self._clock.now()
        for held in self._held.values():
            if not held.busy and is_expired(held.sandbox, now=now):
                ask_to_end(held, Ending(HUB, "its lease ran out", AuditName.SANDBOX_EXPIRED))

    def powered(self) -> list[tuple[Sandbox, Machine]]:
        """The sandboxes that run, with their machines."""
        return [
            (held.sandbox, held.machine)
            for held in self._held.values()
            if held.machine is not None and held.sandbox.state is State.RUNNING
        ]

    # Helpers.

    async def _refuse_gone(self, reference: str, *, owner: str | None, caller: str) -> None:
        removed = await self._store.removed_sandbox(reference, caller=caller, owner=owner)
        if removed is not None:
            raise gone(reference, removed) from None

    def _tell(self, sandbox: Sandbox) -> None:
        self._changes.publish(Topic.SANDBOX, sandbox.id, sandbox)

    def _begin(self, held: Held, life: Coroutine[Any, Any, None]) -> None:
        held.life = self._tasks.create_task(self._lead(held, life))

    async def _lead(self, held: Held, life: Coroutine[Any, Any, None]) -> None:
        try:
            await life
        except Exception:
            # The last edge of a life: the hub serves the others, whatever went wrong with this one.
            _log.exception("life_defect", sandbox=held.sandbox.id)
            await self._lives.end_after_defect(held)
        finally:
            del self._held[held.sandbox.id]
            if not held.started.done():
                held.started.set_exception(InternalError("a defect in the hub; its log has the cause"))

    def _require_room(self) -> None:
        if self._is_stopping:
            raise ShuttingDown("the hub is going away")
        if len(self._held) >= self._max_sandboxes:
            raise TooLarge(
                f"this hub holds {self._max_sandboxes} sandboxes at most; remove some, or raise max_sandboxes"
            )

    def _seen(self, held: dict[str, Held], owner: str | None) -> Iterator[Held]:
        return (one for one in held.values() if one.is_recorded and owner in (None, one.sandbox.owner))

    def _get(self, sandbox_id: str) -> Held:
        held = self._held.get(sandbox_id)
        if held is None:
            raise NotFound(f"no sandbox {sandbox_id!r}; `cloche ls` lists them", sandbox=sandbox_id)
        return held


def _has_booted(held: Held) -> bool:
    return held.machine is not None or held.sandbox.state not in (State.CREATING, State.REMOVED)


def _booted(held: Held) -> tuple[Sandbox, bool]:
    return held.sandbox, held.machine is not None and held.sandbox.state is not State.FAILED


def _newest_first(sandboxes: Iterable[Sandbox]) -> list[Sandbox]:
    return sorted(sandboxes, key=lambda sandbox: sandbox.created_at, reverse=True)
