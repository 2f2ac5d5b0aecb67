"""Sandboxes from their creation to their removal, each with the machine behind it.

Rules:
- The row comes first: a machine never exists without a sandbox that names it, so a killed hub can clean up.
- Nobody reaches a guest before it has become itself.
- One task is a sandbox's whole life (`_life`): create, keep, fail, remove. Everybody else only asks it to end.
- A client that goes away in the middle of a creation leaves nothing half-made.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import structlog

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.identity import ENTROPY_SIZE, identity_of
from cloche_hub.domain.references import resolve
from cloche_hub.domain.requests import CreateRequest
from cloche_hub.domain.sandbox import Move, Sandbox, State, is_expired, move, require_running, touched
from cloche_hub.errors import (
    BuildFailed,
    CodedError,
    Conflict,
    HubError,
    InternalError,
    MachineFailed,
    ShuttingDown,
    TooLarge,
)
from cloche_hub.ports import (
    ConnectGuest,
    Guest,
    Hypervisor,
    Image,
    Machine,
    MachineSpec,
    OnProgress,
    Store,
    Transaction,
)
from cloche_hub.services.clock import Clock
from cloche_hub.services.held import (
    HUB,
    Ending,
    Held,
    ask_to_end,
    begin_removal,
    milliseconds,
    reason_of,
    timed,
)
from cloche_hub.services.images import ImageService

_log = structlog.get_logger(__name__)

_NAME_TRIES = 3
_STOP_GRACE_S = 5.0
_KEPT_BOOT_LOG = 64 << 10


class Sandboxes:
    """The sandboxes of this hub. Use it inside `running`.

    Args:
        store: what outlives the hub.
        images: finds or builds what machines start from.
        hypervisor, connect_guest: the ports to the machines.
        max_sandboxes: how many may be live at once.
        clock: now.
    """

    def __init__(
        self,
        store: Store,
        images: ImageService,
        hypervisor: Hypervisor,
        connect_guest: ConnectGuest,
        *,
        max_sandboxes: int,
        clock: Clock,
    ) -> None:
        self._store, self._images, self._hypervisor = store, images, hypervisor
        self._connect_guest, self._max_sandboxes, self._clock = connect_guest, max_sandboxes, clock
        self._held: dict[str, Held] = {}
        self._tasks = asyncio.TaskGroup()
        self._stopping = False

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Takes up what the store holds, then serves; on leaving ends every machine in good order."""
        async with self._tasks:
            await self._recover()
            try:
                yield
            finally:
                self._stopping = True
                for held in list(self._held.values()):
                    ask_to_end(held, HUB, "the hub was stopped")

    # What clients ask for.

    async def create(
        self, request: CreateRequest, *, owner: str, actor: str, progress: OnProgress
    ) -> Sandbox:
        """Creates a sandbox and returns it running. Cancelling removes it again.

        Raises:
            TooLarge: there are as many sandboxes as the hub may hold.
            Conflict: the owner has a live sandbox of that name.
            CodedError: why its image, template or machine could not be made; the sandbox stays, failed.
        """
        if self._stopping:
            raise ShuttingDown("the hub is going away")
        if len(self._held) >= self._max_sandboxes:
            raise TooLarge(
                f"this hub holds {self._max_sandboxes} sandboxes at most; remove some, or raise max_sandboxes"
            )
        held = await self._insert(request, owner, actor)
        held.life = self._tasks.create_task(self._life(held, self._live(held, request, actor, progress)))
        try:
            await asyncio.shield(held.started)
        except asyncio.CancelledError:
            ask_to_end(held, actor, "its maker gave up while it was being created")
            raise
        return held.sandbox

    def find(self, reference: str, *, owner: str | None, caller: str) -> Sandbox:
        """The live sandbox meant.

        Args:
            reference: an id, a name, or the beginning of one.
            owner: whose sandboxes may be seen; None for everybody's.
            caller: whose names come first.

        Raises:
            NotFound, BadRequest: none is meant, or several.
        """
        return resolve(reference, self.live(owner=owner), owner=caller)

    def live(self, *, owner: str | None) -> list[Sandbox]:
        """The sandboxes that are not removed, newest first."""
        seen = [held.sandbox for held in self._held.values() if owner in (None, held.sandbox.owner)]
        return sorted(seen, key=lambda sandbox: sandbox.created_at, reverse=True)

    async def every(self, *, owner: str | None) -> Sequence[Sandbox]:
        """Live sandboxes and the newest of the removed ones, newest first."""
        removed = [
            row for row in await self._store.sandboxes(ended=True, owner=owner) if row.id not in self._held
        ]
        return sorted(
            [*self.live(owner=owner), *removed], key=lambda sandbox: sandbox.created_at, reverse=True
        )

    async def find_ever(self, reference: str, *, owner: str | None, caller: str) -> Sandbox:
        """The sandbox meant, also one that is removed.

        Raises:
            NotFound, BadRequest: none is meant, or several.
        """
        found = await self._store.find_sandbox(reference, caller=caller, owner=owner)
        held = self._held.get(found.id)
        return found if held is None else held.sandbox

    async def remove(self, sandbox_id: str, *, actor: str) -> Sandbox:
        """Ends a sandbox's machine and deletes its disk; returns its last state. Removing it twice is once.

        Cancelling does not stop the removal.
        """
        held = self._held[sandbox_id]
        ask_to_end(held, actor, f"removed by {actor}")
        assert held.life is not None
        await asyncio.shield(held.life)
        return held.sandbox

    async def boot_log(self, sandbox_id: str, *, max_bytes: int) -> bytes:
        """The newest bytes of its serial console; empty if it never had a machine."""
        held = self._held[sandbox_id]
        if held.machine is None:
            return held.boot_log[-max_bytes:]
        return await held.machine.boot_log(max_bytes=max_bytes)

    @contextlib.asynccontextmanager
    async def in_use(self, sandbox_id: str) -> AsyncIterator[Guest]:
        """Its guest, for as long as something runs in it; the lease starts anew when that ends.

        Raises:
            WrongState: it is not running.
        """
        held = self._held[sandbox_id]
        require_running(held.sandbox)
        assert held.guest is not None
        held.busy += 1
        try:
            yield held.guest
        finally:
            held.busy -= 1
            held.sandbox = touched(held.sandbox, at=self._clock.now())

    @property
    def machines(self) -> int:
        """Machines that exist now."""
        return sum(held.machine is not None for held in self._held.values())

    # The reaper.

    def expire(self) -> None:
        """Asks every sandbox to end whose lease has run out and in which nothing runs."""
        now = self._clock.now()
        for held in self._held.values():
            if not held.busy and is_expired(held.sandbox, now=now):
                ask_to_end(held, HUB, _LEASE_OVER)

    # The life of one sandbox.

    async def _insert(self, request: CreateRequest, owner: str, actor: str) -> Held:
        for attempt in range(_NAME_TRIES):
            sandbox = request.sandbox(owner=owner, at=self._clock.now(), crowded=attempt > 0)
            try:
                await self._store.write(_inserting(sandbox, actor, request.audit_detail(sandbox)))
            except Conflict:
                if request.name is not None or attempt == _NAME_TRIES - 1:
                    raise
            else:
                return self._hold(sandbox)
        raise AssertionError("the loop returns or raises")

    def _hold(self, sandbox: Sandbox) -> Held:
        loop = asyncio.get_running_loop()
        held = self._held[sandbox.id] = Held(sandbox, loop.create_future(), loop.create_future())
        # Whoever made it may be gone by the time it fails.
        held.started.add_done_callback(lambda started: started.cancelled() or started.exception())
        return held

    async def _life(self, held: Held, living: Coroutine[Any, Any, CodedError]) -> None:
        alive = self._tasks.create_task(living)
        await _either(alive, held.ending)
        if not held.ending.done():
            await self._fail(held, alive.result())
        end = await held.ending
        begin_removal(held, end, self._clock)
        await self._power_off(held)
        alive.cancel()
        await asyncio.wait({alive})
        await self._remove(held, end)

    async def _afterlife(self, held: Held) -> None:
        """The rest of a sandbox that had failed when the hub started."""
        end = await held.ending
        begin_removal(held, end, self._clock)
        await self._remove(held, end)

    async def _live(self, held: Held, request: CreateRequest, actor: str, progress: OnProgress) -> CodedError:
        """Makes the machine and keeps it; returns why that ended."""
        try:
            image = await self._prepare(held, request, actor, progress)
            with timed(held, "clone"):
                held.machine = await self._hypervisor.start(
                    MachineSpec(held.sandbox.id, image.digest, request.flavor)
                )
            await self._keep(held, held.machine, image, actor)
        except (CodedError, ExceptionGroup) as error:
            return reason_of(error)
        except Exception:
            # The edge of a task: a defect here must not take the other sandboxes with it.
            _log.exception("sandbox_defect", sandbox=held.sandbox.id)
            return InternalError("a defect in the hub; its log has the cause")
        raise AssertionError("keeping a machine ends with an error")

    async def _prepare(self, held: Held, request: CreateRequest, actor: str, progress: OnProgress) -> Image:
        with timed(held, "image"):
            image = await self._images.find_or_build(
                request.recipe, build=request.build, actor=actor, progress=progress
            )
        held.sandbox = replace(held.sandbox, image=image.digest)
        with timed(held, "template"):
            await self._hypervisor.prepare(image.digest, request.flavor, progress=progress)
        return image

    async def _keep(self, held: Held, machine: Machine, image: Image, actor: str) -> None:
        async with self._connect_guest(machine) as guest, asyncio.TaskGroup() as tasks:
            tasks.create_task(_raise_exit(machine))
            tasks.create_task(guest.run())
            with timed(held, "link"):
                _check_agent(image, (await guest.greeting()).info.get("agent"))
            with timed(held, "identity"):
                entropy = secrets.token_bytes(ENTROPY_SIZE)
                await guest.become(identity_of(held.sandbox, entropy=entropy, clock_ns=time.time_ns()))
            held.guest = guest
            held.sandbox = replace(
                held.sandbox, accelerator=machine.accelerator, timings=MappingProxyType(dict(held.steps))
            )
            running = move(held.sandbox, Move.START, at=self._clock.now())
            detail: dict[str, Json] = {"image": image.digest, "accelerator": machine.accelerator}
            detail |= milliseconds(held)
            await self._store.write(_updating(running, AuditName.SANDBOX_STARTED, actor, detail))
            held.sandbox = running
            if not held.started.done():
                held.started.set_result(None)

    async def _fail(self, held: Held, error: CodedError) -> None:
        _log.warning("sandbox_failed", sandbox=held.sandbox.id, reason=str(error))
        held.guest = None
        await self._end_machine(held, grace_s=0.0)
        failed = move(held.sandbox, Move.FAIL, at=self._clock.now(), reason=str(error))
        await self._record(held, failed, AuditName.SANDBOX_FAILED, HUB, {"reason": failed.end_reason})
        if not held.started.done():
            held.started.set_exception(error)

    async def _power_off(self, held: Held) -> None:
        if held.guest is None:
            return
        guest, held.guest = held.guest, None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_GRACE_S):
                await guest.power_off()

    async def _remove(self, held: Held, end: Ending) -> None:
        await self._end_machine(held, grace_s=_STOP_GRACE_S)
        removed = move(held.sandbox, Move.END, at=self._clock.now(), reason=end.reason)
        name = AuditName.SANDBOX_EXPIRED if end.reason == _LEASE_OVER else AuditName.SANDBOX_REMOVED
        await self._record(held, removed, name, end.actor, {"reason": end.reason})
        del self._held[held.sandbox.id]

    async def _end_machine(self, held: Held, *, grace_s: float) -> None:
        machine, held.machine = held.machine, None
        if machine is None:
            return
        with contextlib.suppress(CodedError):
            held.boot_log = await machine.boot_log(max_bytes=_KEPT_BOOT_LOG)
        await machine.stop(grace_s=grace_s)

    async def _record(
        self, held: Held, sandbox: Sandbox, event: AuditName, actor: str, detail: dict[str, Json]
    ) -> None:
        """Writes an ending down. A full disk must not keep a machine alive, so the ending happens all the same."""
        held.sandbox = sandbox
        try:
            await self._store.write(_updating(sandbox, event, actor, detail))
        except (CodedError, HubError) as error:
            _log.error("ending_not_recorded", sandbox=sandbox.id, event_name=str(event), reason=str(error))

    # After a killed hub.

    async def _recover(self) -> None:
        ended = set()
        for stray in await self._hypervisor.find_strays():
            await self._hypervisor.end_stray(stray.machine_id)
            ended.add(stray.machine_id)
            detail: dict[str, Json] = {"pid": stray.pid, "accelerator": stray.accelerator}
            await self._store.write(_noting(AuditName.MACHINE_STRAY_ENDED, stray.machine_id, detail))
        for sandbox in await self._store.sandboxes():
            held = self._hold(sandbox)
            held.started.set_result(None)
            held.life = self._tasks.create_task(self._afterlife(held))
            if sandbox.state is State.REMOVING:
                ask_to_end(
                    held, HUB, sandbox.end_reason or "its removal was under way when the hub was killed"
                )
            elif sandbox.state is not State.FAILED:
                was = "its machine was ended" if sandbox.id in ended else "its machine is gone"
                failed = move(sandbox, Move.FAIL, at=self._clock.now(), reason=f"the hub was killed; {was}")
                await self._record(held, failed, AuditName.SANDBOX_FAILED, HUB, {"reason": failed.end_reason})


_LEASE_OVER = "its lease ran out"


def _inserting(sandbox: Sandbox, actor: str, detail: dict[str, Json]) -> Callable[[Transaction], object]:
    def change(transaction: Transaction) -> None:
        transaction.insert_sandbox(sandbox)
        transaction.append_audit(AuditName.SANDBOX_CREATED, actor=actor, sandbox=sandbox.id, detail=detail)

    return change


def _updating(
    sandbox: Sandbox, event: AuditName, actor: str, detail: dict[str, Json]
) -> Callable[[Transaction], object]:
    def change(transaction: Transaction) -> None:
        transaction.update_sandbox(sandbox)
        transaction.append_audit(event, actor=actor, sandbox=sandbox.id, detail=detail)

    return change


def _noting(event: AuditName, sandbox_id: str, detail: dict[str, Json]) -> Callable[[Transaction], object]:
    return lambda transaction: transaction.append_audit(event, actor=HUB, sandbox=sandbox_id, detail=detail)


async def _raise_exit(machine: Machine) -> None:
    how = await machine.wait_exit()
    raise MachineFailed(f"its machine ended by itself ({how.reason}): {how.detail}")


def _check_agent(image: Image, found: object) -> None:
    if found != image.agent_hash:
        raise BuildFailed(
            f"the agent in the machine is not the one of image {image.digest[:12]}; "
            f"build it again with: cloche image build {image.recipe} --rebuild"
        )


async def _either(task: asyncio.Task[Any], future: asyncio.Future[Any]) -> None:
    await asyncio.wait({task, future}, return_when=asyncio.FIRST_COMPLETED)
