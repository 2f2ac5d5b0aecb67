"""Real machines for tests below the hub: clones of an image's template, and a plain link to the agent in each."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from cloche_hub.domain.flavors import FLAVORS
from cloche_hub.guestlink.link import await_agent
from cloche_hub.images.images import ImageCache
from cloche_hub.ports import Image, Machine, MachineSpec
from cloche_hub.vm.hypervisor import QemuHypervisor
from cloche_wire.rendezvous import locations
from tests.support.blocking_link import BlockingLink

_BECOME_S = 60.0


class Machines:
    """Starts machines; made by `real_machines`."""

    def __init__(self, hypervisor: QemuHypervisor, home: Path, image: Image) -> None:
        self._hypervisor, self._home, self._image = hypervisor, home, image
        self._started: list[Machine] = []

    async def start(self) -> tuple[Machine, Path]:
        """A fresh clone, and the socket of its agent's port."""
        name = f"sb_{len(self._started)}"
        machine = await self._hypervisor.start(MachineSpec(name, self._image.digest, FLAVORS["small"]))
        self._started.append(machine)
        return machine, self._home / "machines" / name / "agent.sock"

    async def start_somebody(self, **identity: Any) -> Path:
        """A clone that has become somebody; the socket of its agent's port.

        Args:
            identity: of what `become` says, what a test asks for again.
        """
        socket = (await self.start())[1]

        def become() -> None:
            with BlockingLink(timeout_s=_BECOME_S) as link:
                link.connect(socket)
                link.become(**identity)

        await asyncio.to_thread(become)
        return socket

    async def stop_all(self) -> None:
        """Ends them all at once, however they are."""
        for machine in self._started:
            await machine.stop(grace_s=0)


@contextlib.asynccontextmanager
async def real_machines(home: Path, image: Image) -> AsyncIterator[Machines]:
    """Machines of an image; ended afterwards.

    Args:
        home: an empty folder with a short path: sockets lie in it.
        image: what they run.
    """
    cache = locations().cache
    async with (
        ImageCache(cache) as images,
        QemuHypervisor(home, cache, images.hold, await_agent) as hypervisor,
    ):
        machines = Machines(hypervisor, home, image)
        try:
            yield machines
        finally:
            await machines.stop_all()
