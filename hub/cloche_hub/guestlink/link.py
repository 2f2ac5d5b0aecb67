"""The hub's end of one guest's link: brought into step, kept alive, taken up again after a break.

Everything that comes from the guest is hostile: it is decoded by `cloche_wire` under the guest's limits, and a guest
that breaks the protocol loses its link for good.

Rules:
- The link breaks (the port was closed): channels wait, and the next link resumes them.
- The guest is silent: its callers get `link_silent` at once; the hub goes on knocking until the machine ends,
  so a guest that was only slow can be used again.
- The guest breaks the protocol: `run` ends, and with it the sandbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from typing import Any

import structlog

from cloche_hub.domain.identity import Identity
from cloche_hub.errors import CodedError, LinkLost, LinkSilent
from cloche_hub.guestlink.bounds import LinkBounds
from cloche_hub.ports import Machine
from cloche_wire.aio import Channel, Peer, StreamTransport
from cloche_wire.connection import Connection
from cloche_wire.errors import RemoteProtocolError, Undecodable
from cloche_wire.events import Greeted
from cloche_wire.limits import Limits

_log = structlog.get_logger(__name__)

GUEST_LIMITS = Limits(max_channels=16, max_frame=256 << 10, max_message=512 << 10)
"""The guest opens next to nothing and needs no large frames: what it may cost the hub is kept small."""


class GuestLink:
    """The link to one machine's agent. `run` keeps it up; the other methods use it.

    Args:
        machine: the machine whose agent it talks to.
        peer: entered and left by `guest_link`.
        bounds: how long to wait.
    """

    def __init__(self, machine: Machine, peer: Peer, bounds: LinkBounds) -> None:
        self._machine, self._peer, self._bounds = machine, peer, bounds

    async def run(self) -> None:
        """Keeps the link up until the machine has no link any more, then raises why.

        Raises:
            MachineFailed: the machine is gone.
            RemoteProtocolError: the guest broke the protocol.
        """
        while True:
            transport = await self._connect()
            try:
                await self._peer.run(transport)
            except LinkSilent as error:
                _log.warning("guest_silent", sandbox=self._machine.machine_id, reason=str(error))
                self._peer.fail(_silent(self._machine))
            except Undecodable as error:
                # The agent may have been cut off in the middle of a message; a sync sorts that out.
                _log.warning("guest_out_of_step", sandbox=self._machine.machine_id, reason=str(error))
            except RemoteProtocolError:
                raise
            except CodedError as error:
                _log.info("guest_link_lost", sandbox=self._machine.machine_id, reason=str(error))

    async def greeting(self) -> Greeted:
        """The agent's hello.

        Raises:
            LinkSilent: it did not come in time.
        """
        try:
            async with asyncio.timeout(self._bounds.sync_s):
                return await self._peer.wait_up()
        except TimeoutError:
            raise _silent(self._machine) from None

    async def become(self, identity: Identity) -> None:
        """Makes the clone a machine of its own. Nothing else may be asked of it before.

        Raises:
            LinkSilent: no answer in time.
            CodedError: the agent refused.
        """
        await self._call("become", identity.params())

    async def open_exec(self, params: dict[str, Any], *, window: int) -> Channel:
        """Opens an exec channel; the caller takes its events before it waits for anything.

        Raises:
            LinkSilent: the guest does not answer.
        """
        await self.greeting()
        return self._peer.open("exec", params, window=window)

    async def power_off(self) -> None:
        """Asks the guest to power itself off. Its answer may be lost with the machine."""
        with contextlib.suppress(CodedError):
            await self._call("poweroff", {})

    async def _call(self, kind: str, params: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(self._bounds.answer_s):
                await self._peer.wait_up()
                await self._peer.call(kind, params)
        except TimeoutError:
            raise _silent(self._machine) from None

    async def _connect(self) -> StreamTransport:
        while True:
            reader, writer = await self._machine.open_link()
            transport = StreamTransport(reader, writer, leader=True, limits=GUEST_LIMITS)
            try:
                await transport.sync(attempt_s=self._bounds.attempt_s, deadline_s=self._bounds.sync_s)
            except LinkSilent:
                await transport.close()
                self._peer.fail(_silent(self._machine))
            except LinkLost as error:
                await transport.close()
                _log.info("guest_link_lost", sandbox=self._machine.machine_id, reason=str(error))
            except BaseException:
                await transport.close()
                raise
            else:
                return transport


@contextlib.asynccontextmanager
async def guest_link(machine: Machine, bounds: LinkBounds, *, software: str) -> AsyncIterator[GuestLink]:
    """A link to a machine's agent, with its channels' tasks. Use its `run` in a task of its own."""
    connection = Connection(
        leader=True, software=software, session=secrets.token_bytes(16), limits=GUEST_LIMITS
    )
    async with Peer(connection, heartbeat=bounds.heartbeat) as peer:
        yield GuestLink(machine, peer, bounds)


async def await_agent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Returns when a booting guest's agent has greeted: the hypervisor then saves the template.

    The caller bounds and cancels it, and closes the stream.

    Raises:
        LinkLost: the guest is gone.
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


def _silent(machine: Machine) -> LinkSilent:
    return LinkSilent(
        f"the guest of {machine.machine_id} does not answer ({machine.accelerator}); "
        "it may be out of memory or processor time: see its boot log, or remove the sandbox"
    )
