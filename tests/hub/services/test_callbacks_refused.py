"""Callbacks that go wrong: handlers that fail, guests that lie."""

from __future__ import annotations

import asyncio
import gc
import json
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import (
    BadRequest,
    CallbackFailed,
    Cancelled,
    CodedError,
    InternalError,
    LinkLost,
    NotFound,
    TooLarge,
    Unauthenticated,
    Unsupported,
    WrongState,
)
from cloche_hub.services import callbacks
from cloche_wire.aio import Channel
from tests.support.callbacks import ALLOW, ASK, answering, never, pending, result_of, write_policy
from tests.support.hub import running_hub, until, within


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


# Handlers that fail.


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (CallbackFailed("KeyError: 'x'"), CallbackFailed("KeyError: 'x'")),
        (NotFound("no such customer", secret=1), NotFound("no such customer")),
        (Unauthenticated("log in"), CallbackFailed("its handler failed: log in")),
        (InternalError(""), CallbackFailed("its handler failed")),
        (BadRequest("x" * 5000), BadRequest("x" * 999 + "…")),
        (Cancelled("shutting down"), LinkLost("the program that answers it has gone away")),
    ],
)
async def test_a_handlers_error_is_told_to_the_guest_and_nothing_else_of_it(
    home: Path, said: CodedError, heard: CodedError
) -> None:
    async def fail(_channel: Channel) -> object:
        raise said

    write_policy(home, ALLOW)
    async with running_hub(home) as hub, answering(hub, "*", answer=fail) as shop:
        await shop.client.create(name="a")
        with pytest.raises(type(heard)) as raised:
            await within(hub.machine.agent.callback("pay").result())
        assert raised.value.message.startswith(heard.message)
        assert raised.value.details == {}
        failed = await hub.happened(AuditName.CALLBACK_FAILED)
        assert failed.detail["code"] == heard.code
        assert failed.actor.startswith("tok_")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({}, CallbackFailed),
        ({"result": "text"}, CallbackFailed),
        ({"result": b"{"}, CallbackFailed),
        ({"result": b'"' + b"x" * (128 << 10) + b'"'}, TooLarge),
    ],
)
async def test_an_answer_that_is_none_is_an_error_for_its_caller_alone(
    home: Path, answer: dict[str, Any], error: type[CodedError]
) -> None:
    async def serve(channel: Channel) -> None:
        channel.close(answer if channel.params["method"] == "bad" else {"result": b"1"})

    write_policy(home, ALLOW)
    async with running_hub(home) as hub, hub.client(on_open=serve) as client:
        await client.create(name="a")
        await within(client.open("callback.serve", methods=["*"]).wait_accepted())
        with pytest.raises(error):
            await within(hub.machine.agent.callback("bad").result())
        assert await result_of(hub.machine.agent.callback("good")) == 1


# Guests that lie.


async def test_a_guest_opens_callbacks_and_nothing_else(home: Path) -> None:
    async with running_hub(home) as hub, hub.client() as client:
        await client.create(name="a")
        for kind in ("exec", "sandbox.list", "callback.serve", "x" * 100_000):
            with pytest.raises(Unsupported) as raised:
                await within(hub.machine.agent.open(kind, {}).result())
            assert len(raised.value.message) < 200


async def test_whose_call_it_is_the_link_says(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        first = await shop.client.create(name="a")
        liar = hub.machine.agent
        await shop.client.create(name="b")
        with pytest.raises(BadRequest, match="unknown field 'sandbox'"):
            await within(liar.callback("pay", sandbox="b").result())
        await result_of(liar.callback("pay"))
        assert shop.calls[0]["sandbox"] == first["id"]


async def test_a_malformed_call_costs_its_caller_alone_and_is_not_recorded(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        before = await hub.names()
        agent = hub.machine.agent
        with pytest.raises(BadRequest):
            await within(agent.callback("no such method!").result())
        with pytest.raises(TooLarge, match="the limit is 131072"):
            await within(agent.callback("pay", params="x" * (128 << 10)).result())
        assert await hub.names() == before
        assert json.loads((await within(agent.callback("pay", 1).result()))["result"]) == 1


async def test_a_guest_may_send_nothing_on_a_calls_streams(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub, answering(hub, "*", answer=never) as shop:
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("pay")
        await within(called.wait_accepted())
        assert called.credit(0) == called.credit(1) == 0


async def test_one_call_id_has_one_approval(home: Path) -> None:
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        agent = hub.machine.agent
        agent.callback("pay", callback="cb_same")
        await pending(shop.client)
        with pytest.raises(CodedError, match=r"has approval apr_.* already") as raised:
            await within(agent.callback("pay", callback="cb_same").result())
        assert raised.value.code == "conflict"
        assert len(await pending(shop.client)) == 1


async def test_a_guest_that_has_much_parsed_waits_for_itself_and_holds_up_nobody(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="greedy")
        greedy = hub.machine.agent
        await shop.client.create(name="modest")
        flood = [greedy.callback("flood", [1] * 43_000) for _ in range(100)]
        await until(lambda: any(call["method"] == "flood" for call in shop.calls))
        for number in range(5):
            assert await result_of(hub.machine.agent.callback("pay", number)) == number
        assert sum(call["method"] == "flood" for call in shop.calls) < 50
        for call in flood:
            call.reset(Cancelled("enough"))
        # What nobody waits for any more is not even looked at.
        await result_of(greedy.callback("last"))
        assert len(await hub.events(AuditName.CALLBACK_REQUESTED)) < 60


async def test_a_sandbox_that_is_on_its_way_out_asks_nothing_more(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        agent, asked = hub.machine.agent, asyncio.Event()

        async def power_off(_channel: Channel) -> None:
            await asked.wait()
            raise Unsupported("it has no button")

        agent.overrides["poweroff"] = power_off
        removing = shop.client.open("sandbox.remove", sandbox="a")
        while (await shop.client.call("sandbox.show", sandbox="a"))["state"] != "removing":
            pass
        with pytest.raises(WrongState, match="is removing"):
            await within(agent.callback("pay").result())
        asked.set()
        await within(removing.result())
        assert shop.calls == []


async def test_calls_that_wait_hold_so_many_bytes_of_a_sandbox_and_the_next_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callbacks, "SANDBOX_BYTES", 150_000)
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        first = hub.machine.agent.callback("pay", "x" * 100_000)
        (waiting,) = await pending(shop.client)
        with pytest.raises(TooLarge, match="parameters of callbacks that are under way: one sandbox has"):
            await within(hub.machine.agent.callback("pay", "x" * 100_000).result())
        assert (waiting["params"], waiting["params_bytes"]) == (None, 100_002)
        await shop.client.call("approval.approve", approval=waiting["id"])
        assert await result_of(first) == "x" * 100_000
        hub.machine.agent.callback("pay", "x" * 100_000)
        await pending(shop.client)


async def test_a_call_that_waits_costs_its_text_and_nothing_else_of_its_parameters(home: Path) -> None:
    """Parsed, these are thirty times as large."""
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        hub.machine.agent.callback("pay", [[]] * 30_000)
        await pending(shop.client)
        gc.collect()
        left = [one for one in gc.get_objects() if isinstance(one, list) and len(one) == 30_000]
        assert not left
