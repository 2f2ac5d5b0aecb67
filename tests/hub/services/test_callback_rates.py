"""How often a sandbox may ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.domain.audit import AuditEvent
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import NoSpace, TooLarge
from cloche_hub.services.callback_rates import TOLD_EVERY_S, CallbackRates
from cloche_hub.store.store import open_store
from tests.support.callbacks import ALLOW, ASK, answering, pending, result_of, write_policy
from tests.support.hub import FlakyStore, running_hub, within

A, B = "sb_a", "sb_b"


class Asked:
    """Calls of sandboxes at a time that a test moves: two at once, and one a second."""

    def __init__(self, store: FlakyStore) -> None:
        self.now, self.store = 0.0, store
        self.rates = CallbackRates(store, burst=2, per_s=1, now=lambda: self.now)

    async def ask(self, sandbox: str, times: int) -> int:
        """How many of so many calls are let in."""
        admitted = 0
        for _ in range(times):
            try:
                await self.rates.admit(sandbox)
            except TooLarge:
                continue
            admitted += 1
        return admitted

    async def told(self) -> list[tuple[str | None, object]]:
        """The sandboxes and counts that the audit has."""
        events: list[AuditEvent] = list(await self.store.audit.tail(limit=100))
        assert {event.event for event in events} <= {AuditName.CALLBACK_REFUSED}
        return [(event.sandbox, event.detail["calls"]) for event in events]


async def test_each_sandbox_has_a_burst_and_a_rate_of_its_own(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        asked = Asked(FlakyStore(store))
        assert await asked.ask(A, 9) == 2
        assert await asked.ask(B, 9) == 2
        asked.now += 1
        assert await asked.ask(A, 9) == 1
        with pytest.raises(TooLarge, match="asks too often; it may make 2 callbacks at once and 1 a second"):
            await asked.rates.admit(A)


async def test_of_a_flood_the_first_is_recorded_and_then_a_count_once_in_a_while(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        asked = Asked(FlakyStore(store))
        await asked.ask(A, 1000)
        assert await asked.told() == [(A, 1)]
        asked.now += TOLD_EVERY_S - 1
        await asked.ask(A, 12)
        assert await asked.told() == [(A, 1)]
        asked.now += 1
        await asked.ask(A, 12)
        assert await asked.told() == [(A, 1), (A, 997 + 10 + 1)]


async def test_a_count_that_nobody_asked_for_any_more_is_told_when_another_sandbox_begins(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path) as store:
        asked = Asked(FlakyStore(store))
        await asked.ask(A, 7)
        asked.now += 2
        assert await asked.ask(B, 1) == 1
        assert await asked.told() == [(A, 1), (A, 4)]
        assert list(asked.rates._meters) == [B]


async def test_what_cannot_be_recorded_is_refused_all_the_same_and_counted_later(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        asked = Asked(FlakyStore(store))
        asked.store.refuses = NoSpace("full")
        assert await asked.ask(A, 5) == 2
        asked.store.refuses = None
        asked.now += TOLD_EVERY_S
        assert await asked.ask(A, 3) == 2
        assert await asked.told() == [(A, 4)]


async def test_a_guest_that_asks_and_gives_up_in_a_loop_leaves_no_more_rows_than_its_burst(
    tmp_path: Path,
) -> None:
    write_policy(tmp_path / "home", ASK)
    rate = {"callback_burst": 3, "callbacks_per_s": 0.001}
    async with running_hub(tmp_path / "home", **rate) as hub, answering(hub, "*") as shop:  # type: ignore[arg-type]
        await shop.client.create(name="a")
        for number in range(3):
            call = hub.machine.agent.callback("pay", number)
            await pending(shop.client, 1)
            call.reset(TooLarge("enough"))
            await pending(shop.client, 0)
        for _ in range(20):
            with pytest.raises(TooLarge, match="this sandbox asks too often"):
                await within(hub.machine.agent.callback("pay", 1).result())
        assert len(await hub.events(AuditName.CALLBACK_REQUESTED, AuditName.APPROVAL_REQUESTED)) == 6
        (refused,) = await hub.events(AuditName.CALLBACK_REFUSED)
        assert (refused.detail["code"], refused.detail["calls"]) == ("too_large", 1)


async def test_a_call_that_is_refused_for_its_form_counts_for_nothing(tmp_path: Path) -> None:
    write_policy(tmp_path / "home", ALLOW)
    rate = {"callback_burst": 1, "callbacks_per_s": 0.001}
    async with running_hub(tmp_path / "home", **rate) as hub, answering(hub, "*") as shop:  # type: ignore[arg-type]
        await shop.client.create(name="a")
        for _ in range(3):
            with pytest.raises(Exception, match="method must be"):
                await within(hub.machine.agent.callback("", 1).result())
        assert await result_of(hub.machine.agent.callback("pay", 7)) == 7
