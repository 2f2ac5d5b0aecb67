"""The life of one sandbox: its machine is made, kept, and ended. One coroutine leads it from beginning to end.

Rules:
- The row comes first: a machine never exists without a sandbox that names it, so a killed hub can clean up.
- Nobody reaches a guest before it has become itself, nor after its machine has failed.
- A life ends for a reason, never with an exception: whatever goes wrong in it is this sandbox's end and no other's.
- An ending happens whether or not it can be recorded; a machine is never kept alive for want of disk space.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import structlog

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.identity import ENTROPY_SIZE, identity_of
from cloche_hub.domain.names import friendly_name
from cloche_hub.domain.requests import CreateRequest
from cloche_hub.domain.sandbox import Move, Sandbox, State, move, require_running
from cloche_hub.errors import (
    BuildFailed,
    Cancelled,
    CodedError,
    Conflict,
    HubError,
    InternalError,
    MachineFailed,
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
from cloche_hub.services.held import HUB, Ending, Held, begin_removal, milliseconds, timed
from cloche_hub.services.images import ImageService
from cloche_hub.services.records import Records, updating
from cloche_wire.aio import Channel
from cloche_wire.aio.bounds import within
from cloche_wire.errors import WireError

_log = structlog.get_logger(__name__)

_NAME_TRIES = 3
_STOP_GRACE_S = 5.0
_KEPT_BOOT_LOG = 64 << 10
# Beyond the grace a machine has to stop: by then its hypervisor is stuck, and nobody else may wait for it.
_STUCK_S = 30.0
# From the loss of a machine's port until its hypervisor knows how it ended.
_EXIT_KNOWN_S = 3.0


ServeGuest = Callable[[Sandbox, Channel], Awaitable[None]]
"""Serves a channel that a sandbox's guest has opened; whose it is, its link says."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a sandbox is made from."""

    request: CreateRequest
    actor: str
    progress: OnProgress
    image: Image | None
    """None: it must be built first."""


class Lives:
    """Leads lives.

    Args:
        store, records: for rows and audit.
        images: builds what there is no image of.
        hypervisor, connect_guest: the ports to the machines.
        serve_guest: serves what guests open, once they run.
        clock: now.
    """

    def __init__(
        self,
        store: Store,
        records: Records,
        images: ImageService,
        hypervisor: Hypervisor,
        connect_guest: ConnectGuest,
        serve_guest: ServeGuest,
        clock: Clock,
    ) -> None:
        self._store, self._records, self._images = store, records, images
        self._hypervisor, self._connect_guest, self._clock = hypervisor, connect_guest, clock
        self._serve_guest = serve_guest

    async def lead(self, held: Held, order: Order) -> None:
        """Leads a life from the row's beginning to its end. Returns when the sandbox is removed, or never came to be."""
        try:
            await self._record_beginning(held, order)
        except (CodedError, HubError) as error:
            held.started.set_exception(error)
            return
        async with asyncio.TaskGroup() as tasks:
            machine = tasks.create_task(self._make_and_keep(held, order))
            await _either(machine, held.ending)
            if not held.ending.done():
                await self._fail(held, machine.result())
            end = await held.ending
            begin_removal(held, end, self._clock)
            grace_s = await self._power_off(held)
            machine.cancel()
        await self._remove(held, end, grace_s=grace_s)

    async def lead_rest(self, held: Held) -> None:
        """Leads the rest of a life that has no machine any more."""
        end = await held.ending
        begin_removal(held, end, self._clock)
        await self._remove(held, end, grace_s=0.0)

    async def fail_unled(self, held: Held, reason: str) -> None:
        """Fails a sandbox whose machine ended while no hub ran."""
        await self._move_to_failed(held, reason)

    async def end_after_defect(self, held: Held) -> None:
        """Ends what is left of a life that a defect has cut off."""
        held.guest = None
        await self._end_machine(held, grace_s=0.0)
        if held.is_recorded and held.sandbox.live:
            reason, at = "a defect in the hub; its log has the cause", self._clock.now()
            if held.sandbox.state is not State.REMOVING:
                held.sandbox = move(held.sandbox, Move.REMOVE, at=at, reason=reason)
            removed = held.sandbox = move(held.sandbox, Move.END, at=at, reason=reason)
            event = AuditName.SANDBOX_REMOVED
            await self._records.keep(updating(removed, event, actor=HUB, detail={"reason": reason}))

    # The beginning.

    async def _record_beginning(self, held: Held, order: Order) -> None:
        for attempt in range(_NAME_TRIES):
            if attempt > 0:
                held.sandbox = replace(held.sandbox, name=friendly_name(crowded=True))
            detail = order.request.audit_detail(held.sandbox)
            try:
                await self._store.write(_inserting(held.sandbox, order.actor, detail))
            except Conflict:
                if order.request.name is not None or attempt == _NAME_TRIES - 1:
                    raise
            else:
                held.set_recorded()
                return

    async def _make_and_keep(self, held: Held, order: Order) -> CodedError:
        """Makes the machine and keeps it; returns why that ended."""
        try:
            image = await self._prepare(held, order)
            with timed(held, "clone"):
                spec = MachineSpec(held.sandbox.id, image.digest, order.request.flavor)
                held.machine = await self._hypervisor.start(spec)
            await self._keep(held, held.machine, image, order.actor)
        except Exception as error:
            # The edge of a life: a defect here must not take the other sandboxes with it.
            reason = _reason_to_keep(held, error)
            if isinstance(reason, InternalError):
                _log.error("sandbox_defect", sandbox=held.sandbox.id, exc_info=error)
            return reason
        raise AssertionError("keeping a machine ends with an error")

    async def _prepare(self, held: Held, order: Order) -> Image:
        image = order.image
        if image is None:
            with timed(held, "image"):
                image = await self._images.build(
                    order.request.recipe, rebuild=False, actor=order.actor, progress=order.progress
                )
        held.sandbox = replace(held.sandbox, image=image.digest)
        with timed(held, "template"):
            await self._hypervisor.prepare(image.digest, order.request.flavor, progress=order.progress)
        return image

    async def _keep(self, held: Held, machine: Machine, image: Image, actor: str) -> None:
        async def serve(channel: Channel) -> None:
            # A program may call out as soon as the guest has become itself; that it runs is recorded first.
            await asyncio.wait({held.started})
            await self._serve_guest(require_running(held.sandbox), channel)

        async with self._connect_guest(machine, serve) as guest:
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(_raise_exit(machine))
                    tasks.create_task(_keep_link(guest, machine))
                    await self._awaken(held, guest, image)
                    await self._record_start(held, guest, machine, actor)
            except BaseException as error:
                # Before the link is dropped: its callers are told what happened to the sandbox, not to the link.
                guest.fail(_end_of_calls(held, error))
                raise

    async def _awaken(self, held: Held, guest: Guest, image: Image) -> None:
        with timed(held, "link"):
            _check_agent(image, (await guest.greeting()).info.get("agent"))
        with timed(held, "identity"):
            entropy = secrets.token_bytes(ENTROPY_SIZE)
            await guest.become(
                identity_of(held.sandbox, entropy=entropy, clock_ns=time.time_ns(), secrets=held.secrets)
            )

    async def _record_start(self, held: Held, guest: Guest, machine: Machine, actor: str) -> None:
        known = replace(
            held.sandbox, accelerator=machine.accelerator, timings=MappingProxyType(dict(held.steps))
        )
        running = move(known, Move.START, at=self._clock.now())
        detail: dict[str, Json] = {"image": running.image, "accelerator": machine.accelerator}
        detail |= milliseconds(held)
        await self._store.write(updating(running, AuditName.SANDBOX_STARTED, actor=actor, detail=detail))
        held.sandbox, held.guest = running, guest
        held.started.set_result(None)

    # The end.

    async def _fail(self, held: Held, error: CodedError) -> None:
        _log.warning("sandbox_failed", sandbox=held.sandbox.id, reason=error.message)
        await self._move_to_failed(held, error.message)
        if not held.started.done():
            # With the sandbox's id: its maker has no other way to its boot log.
            error.details.setdefault("sandbox", held.sandbox.id)
            held.started.set_exception(error)

    async def _move_to_failed(self, held: Held, reason: str) -> None:
        # First of all: from now on nobody is sent to the guest.
        held.guest = None
        failed = held.sandbox = move(held.sandbox, Move.FAIL, at=self._clock.now(), reason=reason)
        await self._end_machine(held, grace_s=0.0)
        await self._records.keep(
            updating(failed, AuditName.SANDBOX_FAILED, actor=HUB, detail={"reason": failed.end_reason})
        )

    async def _power_off(self, held: Held) -> float:
        """Asks the guest to power off; returns how long it may take. A guest that does not answer has no time."""
        guest, held.guest = held.guest, None
        if guest is None:
            return 0.0
        with contextlib.suppress(TimeoutError):
            async with within(_STOP_GRACE_S):
                if await guest.power_off():
                    return _STOP_GRACE_S
        return 0.0

    async def _remove(self, held: Held, end: Ending, *, grace_s: float) -> None:
        await self._end_machine(held, grace_s=grace_s)
        removed = held.sandbox = move(held.sandbox, Move.END, at=self._clock.now(), reason=end.reason)
        await self._records.keep(updating(removed, end.event, actor=end.actor, detail={"reason": end.reason}))

    async def _end_machine(self, held: Held, *, grace_s: float) -> None:
        machine = held.machine
        if machine is None:
            return
        await self._save_boot_log(held, machine)
        try:
            async with within(grace_s + _STUCK_S):
                await machine.stop(grace_s=grace_s)
        except Exception:
            # The edge of the port: the sandbox is over for its owner all the same; the host's owner reads this.
            _log.exception("machine_not_ended", sandbox=held.sandbox.id)
        held.machine = None

    async def _save_boot_log(self, held: Held, machine: Machine) -> None:
        try:
            async with within(_STUCK_S):
                held.boot_log = await machine.boot_log(max_bytes=_KEPT_BOOT_LOG)
        except Exception as error:
            # The edge of the port: the machine must be ended, with or without its last words.
            _log.warning("boot_log_lost", sandbox=held.sandbox.id, reason=str(error))


def _inserting(sandbox: Sandbox, actor: str, detail: dict[str, Json]) -> Callable[[Transaction], object]:
    def change(transaction: Transaction) -> None:
        transaction.insert_sandbox(sandbox)
        transaction.append_audit(AuditName.SANDBOX_CREATED, actor=actor, sandbox=sandbox.id, detail=detail)

    return change


async def _either(*ones: asyncio.Future[Any]) -> None:
    await asyncio.wait(ones, return_when=asyncio.FIRST_COMPLETED)


async def _keep_link(guest: Guest, machine: Machine) -> None:
    """Keeps the link up until it can be no more. Where the machine is gone, how it ended says more than that."""
    try:
        await guest.run()
    except MachineFailed:
        with contextlib.suppress(TimeoutError):
            async with within(_EXIT_KNOWN_S):
                await _raise_exit(machine)
        raise


async def _raise_exit(machine: Machine) -> None:
    how = await machine.wait_exit()
    raise MachineFailed(f"its machine ended by itself ({how.reason}): {how.detail}")


def _check_agent(image: Image, found: object) -> None:
    if found != image.agent_hash:
        raise BuildFailed(
            f"the agent in the machine is not the one of image {image.digest[:12]}; "
            f"build it again with: cloche image build {image.recipe} --rebuild"
        )


def _reason_of(error: BaseException) -> CodedError:
    """The one error to tell, from what a task group has gathered: the machine's end explains all the others."""
    if isinstance(error, BaseExceptionGroup):
        reasons = [_reason_of(one) for one in error.exceptions]
        return next((reason for reason in reasons if isinstance(reason, MachineFailed)), reasons[0])
    if isinstance(error, CodedError):
        return error
    if isinstance(error, WireError):
        return MachineFailed(f"its guest broke the protocol and was cut off: {error}")
    return InternalError("the hub failed; its log has the cause")


def _reason_to_keep(held: Held, error: BaseException) -> CodedError:
    """The same without the sandbox's secrets: a guest chooses its last words, and they are recorded."""
    reason = _reason_of(error)
    return (
        type(reason)(held.secrets.mask(reason.message), **reason.details) if held.secrets.hidden else reason
    )


def _end_of_calls(held: Held, error: BaseException) -> CodedError:
    """What those are told who wait for something of the guest."""
    if held.ending.done():
        return Cancelled(f"sandbox {held.sandbox.label} ends: {held.ending.result().reason}")
    if isinstance(error, asyncio.CancelledError):
        return Cancelled("the hub is going away")
    return MachineFailed(f"sandbox {held.sandbox.label} has failed: {_reason_to_keep(held, error).message}")
