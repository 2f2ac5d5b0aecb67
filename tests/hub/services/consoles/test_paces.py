"""How fast people come, go and change who drives: alone on a clock of their own, and through a whole hub."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.tokens import Scope, Token, mint
from cloche_hub.errors import Cancelled
from cloche_hub.services.consoles import attachments
from cloche_hub.services.consoles.paces import Paces
from tests.hub.domain.examples import MOMENT
from tests.support.consoles import attach, create
from tests.support.hub import running_hub, until, within


def token(owner: str) -> Token:
    return mint(name="laptop", owner=owner, scope=Scope.OWNER, at=MOMENT)[0]


class Timed:
    """Paces on a clock that goes on only while somebody waits: two at once, and one in two seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self.paces = Paces(burst=2, per_s=0.5, now=lambda: self.now, sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


async def test_a_few_at_once_wait_for_nothing_and_those_that_follow_come_at_a_rate() -> None:
    timed, ann = Timed(), token("ann")
    for expected in (0.0, 0.0, 2.0, 4.0):
        await timed.paces.wait(ann)
        assert timed.now == expected


async def test_what_an_owner_may_do_is_shared_by_its_tokens_and_by_nobody_else() -> None:
    timed = Timed()
    for one in (token("ann"), token("ann"), token("ben"), token("ben")):
        await timed.paces.wait(one)
    assert timed.now == 0.0
    await timed.paces.wait(token("ann"))
    assert timed.now == 2.0


async def test_who_has_kept_still_may_do_as_much_as_in_the_beginning() -> None:
    timed, ann = Timed(), token("ann")
    for _ in range(2):
        await timed.paces.wait(ann)
    timed.now = 100.0
    await timed.paces.wait(token("ben"))
    for expected in (100.0, 100.0, 102.0):
        await timed.paces.wait(ann)
        assert timed.now == expected


async def test_another_token_of_an_owner_does_not_wait_behind_all_that_one_wants() -> None:
    timed, program, person = Timed(), token("ann"), token("ann")
    came: list[str] = []

    async def come(one: Token, name: str) -> None:
        await timed.paces.wait(one)
        came.append(name)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(20):
            tasks.create_task(come(program, "program"))
        tasks.create_task(come(person, "person"))
    assert came.index("person") < 5


class Held:
    """Whoever waits does so until the test lets all go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, burst: int) -> None:
        self.waiting = 0
        self.goes_on = asyncio.Event()
        held = partial(Paces, burst=burst, now=self._now, sleep=self._sleep)
        monkeypatch.setattr(attachments, "Paces", held)

    def _now(self) -> float:
        return 1000.0 if self.goes_on.is_set() else 0.0

    async def _sleep(self, _seconds: float) -> None:
        self.waiting += 1
        try:
            await self.goes_on.wait()
        finally:
            self.waiting -= 1


async def test_who_comes_too_fast_is_let_in_later_and_to_what_the_console_is_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, burst=1)
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        ann = await attach(client)
        later = client.open("console.attach", sandbox="a")
        await until(lambda: held.waiting)
        assert (len(ann.viewers), len(await hub.events(AuditName.CONSOLE_ATTACHED))) == (1, 1)
        await ann.type(b"the end\x04")
        assert (await ann.result())["exit_code"] == 0
        held.goes_on.set()
        assert (await within(later.wait_accepted()))["console"]["state"] == "ended"
        assert (await within(later.result()))["exit_code"] == 0
        assert len(await hub.events(AuditName.CONSOLE_ATTACHED)) == 2


async def test_who_gives_up_before_it_is_let_in_was_never_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, burst=1)
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        await attach(client)
        later = client.open("console.attach", sandbox="a")
        await until(lambda: held.waiting)
        later.reset(Cancelled("enough"))
        await until(lambda: not held.waiting)
        assert len(await hub.events(AuditName.CONSOLE_ATTACHED)) == 1
        assert await hub.events(AuditName.CONSOLE_DETACHED) == []


async def test_the_wheel_goes_from_hand_to_hand_no_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, burst=3)
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        ann, ben = await attach(client), await attach(client)
        await ben.say(take=True)
        await ann.until(lambda: ann.driver == ben.id)
        await ann.say(take=True)
        await ann.say(resize={"rows": 10, "cols": 20})
        await until(lambda: held.waiting)
        await ben.type(b"still mine")
        await ann.until_shown("still mine")
        assert ann.driver == ben.id
        held.goes_on.set()
        await ann.until(lambda: ann.driver == ann.id)
