"""Real machines for tests: a hypervisor of the test's own, over the images and templates everybody shares.

    async with ImageCache(locations().cache) as images, open_hypervisor(tmp_path, images) as hypervisor: …

Rule: whatever a test forgets to stop is ended when the hypervisor is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from cloche_hub.domain.identity import ENTROPY_SIZE, Identity
from cloche_hub.errors import MachineFailed
from cloche_hub.guestlink.bounds import link_bounds
from cloche_hub.guestlink.link import await_agent, guest_link
from cloche_hub.images.images import ImageCache
from cloche_hub.ports import Guest, Machine
from cloche_hub.vm.facts import Host
from cloche_hub.vm.hypervisor import HypervisorOptions, QemuHypervisor
from cloche_hub.vm.uids import UserIds
from cloche_wire.rendezvous import locations

USER_LOCKS = Path("/run/cloche/uids")
"""Where the hubs of this host keep their machines' user ids apart."""


@contextlib.asynccontextmanager
async def open_hypervisor(
    home: Path, images: ImageCache, *, host: Host | None = None, cache: Path | None = None
) -> AsyncIterator[QemuHypervisor]:
    """A hypervisor as a hub would have it: machines as users of their own where we are root.

    Args:
        home: its state; the test's own folder.
        images: entered.
        host: the host's facts, if not the real ones.
        cache: where templates are; the one everybody shares by default.
    """
    uids = UserIds(1_900_000_000, 1_900_009_999, USER_LOCKS) if os.geteuid() == 0 else None
    options = HypervisorOptions(uids=uids, tcg_scale=8)
    async with QemuHypervisor(
        home, cache or locations().cache, images.hold, await_agent, host=host, options=options
    ) as hypervisor:
        yield hypervisor


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command in a guest went."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes


@contextlib.asynccontextmanager
async def guest_of(machine: Machine, *, entropy: bytes | None = None) -> AsyncIterator[Guest]:
    """A machine's agent, after the machine has become itself."""
    bounds = link_bounds(interval_s=5, silent_after_s=20, scale=8)
    identity = Identity(
        sandbox=machine.machine_id,
        hostname="test",
        machine_id=secrets.token_hex(16),
        clock_ns=time.time_ns(),
        entropy=entropy or secrets.token_bytes(ENTROPY_SIZE),
        env={},
    )
    async with guest_link(machine, bounds, software="test") as guest, asyncio.TaskGroup() as tasks:
        keeping = tasks.create_task(_keep(guest))
        await guest.become(identity)
        yield guest
        keeping.cancel()


async def run_in(guest: Guest, *argv: str, user: str = "root") -> Finished:
    """Runs a command in a guest."""
    params = {
        "exec": f"ex_{secrets.token_hex(6)}",
        "argv": list(argv),
        "user": user,
        "env": {},
        "stdin": False,
    }
    channel = await guest.open_work("exec", params, window=256 << 10)
    output = {1: bytearray(), 2: bytearray()}
    while (piece := await channel.read_any(1, 2)) is not None:
        stream, data = piece
        output[stream] += data
    result = await channel.result()
    return Finished(result.get("exit_code"), bytes(output[1]), bytes(output[2]))


async def power_off(machine: Machine) -> None:
    """Has a guest power itself off."""
    async with guest_of(machine) as guest:
        await guest.power_off()


async def _keep(guest: Guest) -> None:
    # It ends with the machine, which is the test's own doing.
    with contextlib.suppress(MachineFailed):
        await guest.run()
