"""A link that fails in the very turn of the loop in which a wait for its guest is over."""

from __future__ import annotations

import asyncio

import pytest

from cloche_hub.domain.flavors import FLAVORS
from cloche_hub.errors import Cancelled
from cloche_hub.guestlink.bounds import LinkBounds
from cloche_hub.guestlink.link import GuestLink, guest_link
from cloche_hub.ports import MachineSpec
from cloche_wire.aio import Heartbeat
from tests.support.fake_hypervisor import FakeHypervisor
from tests.support.hub import within

HASTY = LinkBounds(attempt_s=0.05, sync_s=0.1, answer_s=0.1, heartbeat=Heartbeat())


async def test_every_wait_is_told_why_also_one_whose_time_is_just_over() -> None:
    loop = asyncio.get_running_loop()
    failed: asyncio.Future[None] = loop.create_future()

    def fail(link: GuestLink) -> None:
        try:
            link.fail(Cancelled("the machine is gone"))
        except RuntimeError as error:
            failed.set_exception(error)
        else:
            failed.set_result(None)

    async def ask(link: GuestLink) -> None:
        with pytest.raises(Cancelled, match="the machine is gone"):
            await link.greeting()

    async with FakeHypervisor().running() as hypervisor, asyncio.TaskGroup() as tasks:
        machine = await hypervisor.start(MachineSpec("sb_1", "digest", FLAVORS["small"]))
        async with guest_link(machine, HASTY, software="hub/1") as link:
            asking = tasks.create_task(ask(link))
            await asyncio.sleep(0)
            (wait,) = link._waits
            # Both come in the next turn, this one second.
            wait.reschedule(loop.time())
            loop.call_soon(fail, link)
            await within(failed)
            await within(asking)
