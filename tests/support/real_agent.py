"""Machines that are the real agent, as a process on this host: for tests of what the hub and its guest do together.

with running_agent(tmp_path) as agent:
    async with running_hub(tmp_path / "home", hypervisor=AgentHypervisor(agent), images=AgentImages()) as hub:
        ...
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

from cloche_hub.errors import MachineFailed
from cloche_hub.guestlink.bounds import link_bounds
from cloche_hub.guestlink.link import GuestLink, guest_link
from cloche_hub.ports import MachineExit, MachineSpec
from cloche_wire.aio import Handler
from cloche_wire.errors import WireError, ungrouped
from tests.support.agent_process import AgentProcess
from tests.support.fake_hypervisor import FakeHypervisor, FakeMachine
from tests.support.fake_images import FakeImages

# What an agent that is no bundle says of itself.
_HASH = ""


class AgentMachine(FakeMachine):
    """A machine whose agent is a process; see `FakeMachine`."""

    def __init__(self, spec: MachineSpec, process: AgentProcess) -> None:
        super().__init__(spec, agent_hash=_HASH)
        self._process = process
        self._writers: list[asyncio.StreamWriter] = []
        self._is_reachable = asyncio.Event()
        self._is_reachable.set()

    async def open_link(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not self.is_running:
            raise MachineFailed(f"{self.machine_id} has ended")
        await self._is_reachable.wait()
        self.cut()
        reader, writer = await asyncio.open_unix_connection(str(self._process.socket))
        self._writers.append(writer)
        return reader, writer

    async def stop(self, *, grace_s: float) -> MachineExit:
        # There is no machine that could power itself off.
        self.end(MachineExit("stopped", "stopped by the hub"))
        return await super().stop(grace_s=grace_s)

    def cut(self) -> None:
        """Breaks the link there is."""
        while self._writers:
            self._writers.pop().transport.abort()

    def kill_hub(self) -> None:
        """From now on nothing reaches the agent, as when its hub is killed."""
        self._is_reachable.clear()
        self.cut()


class AgentHypervisor(FakeHypervisor):
    """A hypervisor with one machine: an agent process."""

    def __init__(self, process: AgentProcess) -> None:
        super().__init__()
        self._process = process

    async def start(self, spec: MachineSpec) -> FakeMachine:
        machine = self.machines[spec.machine_id] = AgentMachine(spec, self._process)
        self._tasks.create_task(machine.run())
        return machine


class AgentImages(FakeImages):
    """Images whose agent is that process's."""

    def __init__(self) -> None:
        super().__init__()
        self._images = {name: replace(image, agent_hash=_HASH) for name, image in self._images.items()}


@contextlib.asynccontextmanager
async def linked(machine: AgentMachine, serve: Handler) -> AsyncIterator[GuestLink]:
    """The agent as a hub sees it, whose process serves without `become`; the link is kept up meanwhile."""
    bounds = link_bounds(interval_s=5, silent_after_s=10, scale=1)
    with ungrouped():
        async with (
            guest_link(machine, bounds, software="test", on_open=serve) as guest,
            asyncio.TaskGroup() as tasks,
        ):
            running = tasks.create_task(_keep(guest))
            try:
                yield guest
            finally:
                running.cancel()


async def _keep(guest: GuestLink) -> None:
    # Why it ends is the test's own doing.
    with contextlib.suppress(WireError):
        await guest.run()
