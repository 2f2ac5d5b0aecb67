"""The hub's end of one guest's link: brought into step, kept alive, taken up again after a break.

Everything that comes from the guest is hostile: it is decoded by `cloche_wire` under the guest's limits, its words are
weighed (`judge`), and a guest that breaks the protocol loses its link for good.

Rules:
- The link breaks (the port was closed): channels wait, and the next link resumes them.
- The guest is silent: its callers get `link_silent` at once; the hub goes on knocking until the machine ends,
  so a guest that was only slow can be used again.
- The guest breaks the protocol, or one link after another, or another agent greets than the first: `run` ends, and with
  it the sandbox.
- Every wait for the guest has a bound (`bounds`), but for the work that a user has asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import secrets
import weakref
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import structlog

from cloche_hub.domain.guest_limits import GUEST_LIMITS
from cloche_hub.domain.identity import Identity
from cloche_hub.errors import CodedError, LinkLost, LinkSilent
from cloche_hub.guestlink.bounds import MAX_BREAKS, LinkBounds, pause_before_link
from cloche_hub.guestlink.countdown import Countdown
from cloche_hub.guestlink.judge import GuestJudge
from cloche_hub.ports import Machine
from cloche_hub.services.fair import FairTransport
from cloche_wire.aio import Channel, Handler, Peer, StreamTransport
from cloche_wire.aio.bounds import within
from cloche_wire.channels import State
from cloche_wire.connection import Connection
from cloche_wire.errors import RemoteProtocolError, Undecodable, WireError
from cloche_wire.events import Greeted

_log = structlog.get_logger(__name__)


class GuestLink:
    """The link to one machine's agent. `run` keeps it up; the other methods use it. Implements ports.Guest.

    Args:
        machine: the machine whose agent it talks to.
        peer: entered and left by `guest_link`.
        bounds: how long to wait.
    """

    def __init__(self, machine: Machine, peer: Peer, bounds: LinkBounds) -> None:
        self._machine, self._peer, self._bounds = machine, peer, bounds
        self._failed: CodedError | None = None
        # The waits that `fail` cuts short.
        self._waits: set[asyncio.Timeout] = set()

    async def run(self) -> None:
        """Keeps the link up until the machine has no link any more, then raises why.

        Raises:
            MachineFailed: the machine is gone.
            LinkSilent: the machine itself does not answer.
            RemoteProtocolError: the guest broke the protocol.
            CodedError: what `fail` was told.
        """
        breaks = 0
        while breaks < MAX_BREAKS:
            await asyncio.sleep(pause_before_link(breaks))
            began = asyncio.get_running_loop().time()
            async with self._bounded(self._bounds.sync_s):
                reader, writer = await self._machine.open_link()
            await self._serve_one_link(StreamTransport(reader, writer, leader=True, limits=GUEST_LIMITS))
            self._require_not_failed()
            lasted_s = asyncio.get_running_loop().time() - began
            # Silence takes its time: a guest may be silent as often as it likes.
            breaks = breaks + 1 if lasted_s < self._bounds.sync_s else 0
        raise RemoteProtocolError(f"its link broke {MAX_BREAKS} times in a row")

    async def greeting(self) -> Greeted:
        """The agent's hello.

        Raises:
            LinkSilent: it did not come in time.
        """
        async with self._bounded(self._bounds.sync_s):
            return await self._peer.wait_up()

    async def become(self, identity: Identity) -> None:
        """Makes the clone a machine of its own. Nothing else may be asked of it before.

        Raises:
            LinkSilent: no answer in time.
            CodedError: the agent refused.
        """
        await self._call("become", identity.params())

    async def open_work(self, kind: str, params: dict[str, Any], *, window: int) -> Channel:
        """Opens a channel of a kind that the agent serves; the caller takes its events before it waits for anything.

        If the guest does not take it in time, it fails with LinkSilent.

        Raises:
            LinkSilent: the guest does not answer.
            TooLarge: the parameters are too long, or too much is under way.
        """
        await self.greeting()
        channel = self._peer.open(kind, params, window=window)
        # A timer and not a wait: the channel's events belong to the caller. It must not keep a channel that is over.
        Countdown(self._bounds.answer_s, partial(self._require_taken, weakref.ref(channel)))
        return channel

    async def power_off(self) -> bool:
        """Asks the guest to power itself off; returns whether it will. Its answer may be lost with the machine."""
        try:
            await self._call("poweroff", {})
        except WireError:
            return False
        return True

    def fail(self, error: CodedError) -> None:
        """Ends the link for good: every call under way and every later one fails with this error."""
        if self._failed is None:
            self._failed = error
            self._peer.fail(error)
            for wait in self._waits:
                _end(wait)

    # Links.

    async def _serve_one_link(self, transport: StreamTransport) -> None:
        """Serves one link until it ends; raises only where no other may follow."""
        try:
            await self._sync(transport)
            await self._peer.run(FairTransport(transport))
        except LinkSilent as error:
            _log.warning("guest_silent", sandbox=self._machine.machine_id, reason=error.message)
            self._peer.fail(self._silent())
        except Undecodable as error:
            # The agent may have been cut off in the middle of a message; a sync sorts that out.
            _log.warning("guest_out_of_step", sandbox=self._machine.machine_id, reason=str(error))
        except CodedError as error:
            # Also what the guest says as it leaves: its words decide nothing.
            _log.info("guest_link_lost", sandbox=self._machine.machine_id, reason=error.message)

    async def _sync(self, transport: StreamTransport) -> None:
        try:
            await transport.sync(attempt_s=self._bounds.attempt_s, deadline_s=self._bounds.sync_s)
        except BaseException:
            await transport.close()
            raise

    # Waits.

    async def _call(self, kind: str, params: dict[str, Any]) -> None:
        async with self._bounded(self._bounds.answer_s):
            await self._peer.wait_up()
            await self._peer.call(kind, params)

    @contextlib.asynccontextmanager
    async def _bounded(self, seconds: float) -> AsyncIterator[None]:
        self._require_not_failed()
        try:
            async with within(None) as wait:
                countdown = Countdown(seconds, partial(_end, wait))
                self._waits.add(wait)
                try:
                    yield
                finally:
                    countdown.cancel()
                    self._waits.discard(wait)
        except TimeoutError:
            self._require_not_failed()
            raise self._silent() from None

    def _require_taken(self, opened: weakref.ref[Channel]) -> None:
        """Gives up a channel that the guest has neither taken nor refused: it may be up and still not serve."""
        channel = opened()
        if channel is None or not channel.is_live:
            return
        if self._peer.connection.channels[channel.number].state is State.OPENING:
            error = self._silent()
            channel.reset(error)
            channel.sink.failed(error)

    def _require_not_failed(self) -> None:
        if self._failed is not None:
            # A copy: an exception that is raised twice gathers the frames of both.
            raise copy.copy(self._failed)

    def _silent(self) -> LinkSilent:
        return LinkSilent(
            f"the guest of {self._machine.machine_id} does not answer ({self._machine.accelerator}); "
            "it may be out of memory or processor time: see its boot log, or remove the sandbox"
        )


def _end(wait: asyncio.Timeout) -> None:
    # One that was ended in this very turn of the loop bears no other time.
    if not wait.expired():
        wait.reschedule(asyncio.get_running_loop().time())


@contextlib.asynccontextmanager
async def guest_link(
    machine: Machine, bounds: LinkBounds, *, software: str, on_open: Handler | None = None
) -> AsyncIterator[GuestLink]:
    """A link to a machine's agent, with its channels' tasks. Use its `run` in a task of its own.

    Args:
        machine: the machine.
        bounds: how long to wait.
        software: what the hub's hello says.
        on_open: serves channels that the guest opens; without it they are refused.
    """

    def log_defect(channel: Channel, error: Exception) -> None:
        _log.error("handler_defect", sandbox=machine.machine_id, kind=channel.name, exc_info=error)

    connection = Connection(
        leader=True, software=software, session=secrets.token_bytes(16), limits=GUEST_LIMITS
    )
    async with Peer(
        connection, on_open=on_open, heartbeat=bounds.heartbeat, on_defect=log_defect, judge=GuestJudge()
    ) as peer:
        link = GuestLink(machine, peer, bounds)
        try:
            yield link
        finally:
            link.fail(LinkLost(f"the link to {machine.machine_id} is gone"))


async def await_agent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Returns when a booting guest's agent has greeted: the hypervisor then saves the template.

    The caller bounds and cancels it, and closes the stream.

    Raises:
        LinkLost: the guest is gone.
        RemoteProtocolError: what answered is no agent.
    """
    transport = StreamTransport(reader, writer, leader=True, limits=GUEST_LIMITS)
    # One attempt: a guest that is booting has not opened its port, and the host keeps the marker until it does.
    await transport.sync(attempt_s=_FOREVER_S, deadline_s=_FOREVER_S)
    connection = Connection(
        leader=True, software="cloche-template", session=secrets.token_bytes(16), limits=GUEST_LIMITS
    )
    connection.link_up()
    await transport.send(connection.data_to_send())
    while not connection.is_up:
        connection.feed(await transport.receive())


_FOREVER_S = 3600.0
