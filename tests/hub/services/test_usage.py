"""What machines cost, sampled while somebody wants to know."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from cloche_hub.domain.events import Usage
from cloche_hub.domain.sandbox import Sandbox, State
from cloche_hub.errors import MachineFailed
from cloche_hub.ports import Machine, MachineUse
from cloche_hub.services.changes import Changes, News
from cloche_hub.services.usage import UsageSampler
from tests.hub.domain.examples import sandbox
from tests.support.hub import Time, until, within

BOX = sandbox(id="sb_a", state=State.RUNNING)
OTHER = sandbox(id="sb_b", state=State.RUNNING)


class Used:
    """A machine that says what it costs."""

    def __init__(self, cpu_s: float = 1.0, error: Exception | None = None) -> None:
        self.cpu_s, self.error = cpu_s, error

    async def use(self) -> MachineUse:
        if self.error is not None:
            raise self.error
        return MachineUse(self.cpu_s, 1 << 20, 1 << 16)


class Sampled:
    """A sampler with machines of the test's."""

    def __init__(self, machines: dict[str, Used], *, interval_s: float = 0.001) -> None:
        self.machines, self.time, self.changes = machines, Time(), Changes()
        self.sampler = UsageSampler(self._list, self.changes, interval_s=interval_s, clock=self.time.clock)

    def _list(self) -> Sequence[tuple[Sandbox, Machine]]:
        return [(box, self.machines[box.id]) for box in (BOX, OTHER) if box.id in self.machines]  # type: ignore[misc]


async def heard(news: News) -> Usage:
    usage = (await within(news.next())).value
    assert isinstance(usage, Usage)
    return usage


async def test_the_share_of_a_processor_is_known_from_the_second_sample_on() -> None:
    machine = Used(cpu_s=10.0)
    sampled = Sampled({"sb_a": machine})
    with sampled.changes.subscribed() as news, sampled.sampler.wanted():
        await sampled.sampler.sample()
        assert await heard(news) == Usage(BOX, sampled.time.now, 10.0, None, 1 << 20, 1 << 16)
        machine.cpu_s = 11.0
        sampled.time.passes(4)
        await sampled.sampler.sample()
        assert (await heard(news)).cpu_percent == 25.0
        # The clock steps back.
        sampled.time.passes(-60)
        await sampled.sampler.sample()
        assert (await heard(news)).cpu_percent is None


async def test_a_machine_that_is_gone_has_no_usage_and_the_others_have() -> None:
    sampled = Sampled({"sb_a": Used(error=MachineFailed("gone")), "sb_b": Used()})
    with sampled.changes.subscribed() as news, sampled.sampler.wanted():
        await sampled.sampler.sample()
        assert (await heard(news)).sandbox.id == "sb_b"
        assert [usage.sandbox.id for usage in sampled.sampler.latest] == ["sb_b"]


async def test_nothing_is_sampled_while_nobody_listens() -> None:
    looks: list[int] = []

    class Counted(Used):
        async def use(self) -> MachineUse:
            looks.append(1)
            return await super().use()

    sampled = Sampled({"sb_a": Counted()})
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(sampled.sampler.run_for_ever())
        for _ in range(20):
            await asyncio.sleep(0)
        assert looks == []
        with sampled.sampler.wanted(), sampled.sampler.wanted():
            await until(lambda: len(looks) >= 2)
        assert sampled.sampler.latest == ()
        await asyncio.sleep(0.01)  # what was under way ends
        count = len(looks)
        await asyncio.sleep(0.02)  # many intervals
        assert len(looks) == count
        running.cancel()
