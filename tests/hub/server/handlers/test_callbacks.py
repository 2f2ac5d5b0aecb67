"""The request `callback.serve`: which calls reach which client."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.domain.tokens import Scope
from cloche_hub.errors import BadRequest, Cancelled, NoHandler, NotFound, TooLarge
from cloche_hub.services.callback_handlers import MOST_PATTERNS
from tests.support.callbacks import ALLOW, answering, pending, result_of, write_policy
from tests.support.hub import running_hub, until, within


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_policy(tmp_path / "home", ALLOW)
    return tmp_path / "home"


async def test_an_owner_answers_for_its_own_sandboxes_only(home: Path) -> None:
    async with running_hub(home) as hub, answering(hub, "*", token=await hub.mint("alice")) as alice:
        await alice.client.create(name="a")
        hers = hub.machine.agent
        async with hub.client(await hub.mint("bob")) as bob:
            await bob.create(name="b")
            with pytest.raises(NoHandler):
                await within(hub.machine.agent.callback("pay").result())
            assert await result_of(hers.callback("pay", 1)) == 1


@pytest.mark.parametrize("scope", [Scope.OPERATOR, Scope.ADMIN])
async def test_an_operator_answers_for_everybodys(home: Path, scope: Scope) -> None:
    async with (
        running_hub(home) as hub,
        answering(hub, "*", token=await hub.mint("ops", scope)) as ops,
        hub.client(await hub.mint("bob")) as bob,
    ):
        await bob.create(name="b")
        assert await result_of(hub.machine.agent.callback("pay", 1)) == 1
        assert len(ops.calls) == 1


async def test_one_may_answer_for_one_sandbox_and_comes_first_there(home: Path) -> None:
    async with running_hub(home) as hub, answering(hub, "*") as everywhere, answering(hub) as special:
        await special.client.create(name="a")
        first = hub.machine.agent
        await special.client.create(name="b")
        await special.register("*", sandbox="a")
        async with answering(hub, "*") as newest:
            await result_of(first.callback("pay"))
            await result_of(hub.machine.agent.callback("pay"))
            assert [len(one.calls) for one in (everywhere, special, newest)] == [0, 1, 1]
        await result_of(hub.machine.agent.callback("pay"))
        assert len(everywhere.calls) == 1


async def test_another_owners_sandbox_cannot_be_served_for_it_does_not_exist(home: Path) -> None:
    async with running_hub(home) as hub, hub.client(await hub.mint("alice")) as alice:
        await alice.create(name="a")
        async with hub.client(await hub.mint("bob")) as bob:
            with pytest.raises(NotFound, match="no sandbox 'a'"):
                await bob.call("callback.serve", sandbox="a", methods=["*"])


async def test_a_registration_ends_when_the_client_gives_it_up(home: Path) -> None:
    async with running_hub(home) as hub, answering(hub) as shop:
        await shop.client.create(name="a")
        first = await shop.register("*", registration="first")
        second = await shop.register("*", registration="second")
        await result_of(hub.machine.agent.callback("pay"))
        second.reset(Cancelled("closing time"))
        await shop.client.call("hub.status")
        await result_of(hub.machine.agent.callback("pay"))
        first.reset(Cancelled("closing time"))
        await shop.client.call("hub.status")
        with pytest.raises(NoHandler):
            await within(hub.machine.agent.callback("pay").result())
        assert [call["registration"] for call in shop.calls] == ["second", "first"]


async def test_a_client_that_was_started_again_answers_what_was_approved_meanwhile(home: Path) -> None:
    (home / "policy.toml").write_text('default = "ask"\n')
    async with running_hub(home) as hub, hub.client() as operator:
        await operator.create(name="a")
        async with answering(hub, "*"):
            called = hub.machine.agent.callback("pay", 1)
            (approval,) = await pending(operator)
        async with answering(hub, "*") as again:
            await operator.call("approval.approve", approval=approval["id"])
            assert await result_of(called) == 1
            assert len(again.calls) == 1


async def test_a_client_that_registers_and_serves_nothing_is_gone_to_its_callers(home: Path) -> None:
    async with running_hub(home) as hub, hub.client() as client:
        await client.create(name="a")
        await within(client.open("callback.serve", methods=["*"]).wait_accepted())
        with pytest.raises(Exception, match="gone away"):
            await within(hub.machine.agent.callback("pay").result())


async def test_a_clients_registration_that_will_not_do_is_refused(home: Path) -> None:
    async with running_hub(home) as hub, hub.client() as client:
        with pytest.raises(BadRequest, match="methods"):
            await client.call("callback.serve", methods=[])
        with pytest.raises(BadRequest, match="unknown field"):
            await client.call("callback.serve", methods=["*"], owner="bob")


async def test_a_token_registers_so_many_methods_and_no_more(home: Path) -> None:
    async with running_hub(home) as hub, answering(hub) as shop:
        for _ in range(MOST_PATTERNS // 64):
            await shop.register(*["m"] * 64)
        with pytest.raises(TooLarge, match="methods registered"):
            await shop.client.call("callback.serve", methods=["m"])
        await shop.client.create(name="a")
        await result_of(hub.machine.agent.callback("m"))
        await until(lambda: len(shop.calls) == 1)
