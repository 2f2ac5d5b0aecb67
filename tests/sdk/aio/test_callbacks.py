"""Functions that answer what programs in sandboxes ask."""

from __future__ import annotations

import asyncio
import functools
import logging
import sys
import threading
from typing import Any

import pytest

from cloche.aio import Hub, Sandbox
from cloche.aio.callbacks import Function
from cloche.callback_messages import CallbackCall
from cloche.errors import (
    BadRequest,
    CallbackFailed,
    Cancelled,
    CodedError,
    LinkLost,
    NotFound,
    TooLarge,
)
from tests.support.local_hub import LocalHub


async def within(waited: Any) -> Any:
    async with asyncio.timeout(10):
        return await waited


async def test_an_async_function_answers(hub: LocalHub, sandbox: Sandbox) -> None:
    @sandbox.callback("pay.*", "news")
    async def pay(call: CallbackCall) -> object:
        """Pays."""
        return [call.method, call.params, call.sandbox_name, call.approval]

    assert await pay.ready() is pay
    assert await hub.callbacks.call("pay.send", {"n": 3}, approval="apr_1") == [
        "pay.send",
        {"n": 3},
        "box",
        "apr_1",
    ]
    assert await hub.callbacks.call("news") == ["news", None, "box", None]
    kind, params = hub.asked[-1]
    assert (kind, params["methods"], params["sandbox"]) == ("callback.serve", ["pay.*", "news"], "sb_0001")


async def test_the_function_stays_a_function(client: Hub) -> None:
    @client.callback("double")
    def double(call: CallbackCall) -> int:
        """Twice as much."""
        return int(call.params) * 2

    assert double(CallbackCall("cb_1", "double", 21, "sb_1", "box", "ann", {}, None)) == 42
    assert (double.__doc__, double.methods) == ("Twice as much.", ("double",))
    assert repr(double) == "<CallbackHandler double>"


async def test_a_plain_function_runs_in_a_thread_and_holds_up_nobody(hub: LocalHub, client: Hub) -> None:
    go_on = threading.Event()

    @client.callback("slow")
    def slow(_call: CallbackCall) -> str:
        assert go_on.wait(10)
        return threading.current_thread().name

    await slow.ready()
    async with asyncio.TaskGroup() as tasks:
        called = tasks.create_task(hub.callbacks.call("slow"))
        assert (await client.status()).version == "0.1.0"
        go_on.set()
    assert called.result() == "cloche-callback"


@pytest.mark.parametrize("kind", ["partial", "object", "lambda"])
async def test_whatever_gives_a_coroutine_is_awaited(hub: LocalHub, client: Hub, kind: str) -> None:
    async def add(number: int, call: CallbackCall) -> int:
        return number + int(call.params)

    class Adder:
        async def __call__(self, call: CallbackCall) -> int:
            return await add(1, call)

    functions: dict[str, Function] = {
        "partial": functools.partial(add, 1),
        "object": Adder(),
        "lambda": lambda call: add(1, call),
    }
    handler = client.callback("add")(functions[kind])
    await handler.ready()
    assert await hub.callbacks.call("add", 41) == 42


async def test_what_is_asked_after_the_decorator_comes_after_it(hub: LocalHub, client: Hub) -> None:
    @client.callback("a")
    async def _handler(_call: CallbackCall) -> None:
        pass

    await client.status()
    assert [kind for kind, _ in hub.asked] == ["callback.serve", "hub.status"]
    assert len(hub.callbacks.registered) == 1


async def test_so_many_are_answered_at_once_and_the_others_wait(hub: LocalHub, client: Hub) -> None:
    running, most, go_on = 0, 0, asyncio.Event()

    @client.callback("a", at_once=3)
    async def _handler(call: CallbackCall) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            go_on.set()
        await go_on.wait()
        running -= 1
        return call.params

    await client.status()
    async with asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(hub.callbacks.call("a", number)) for number in range(10)]
    assert [call.result() for call in calls] == list(range(10))
    assert most == 3


async def test_threads_are_bounded_even_when_their_callers_give_up(hub: LocalHub, client: Hub) -> None:
    go_on, begun = threading.Event(), []

    @client.callback("a", at_once=1)
    def _handler(call: CallbackCall) -> Any:
        begun.append(call.params)
        assert go_on.wait(10)
        return call.params

    await client.status()
    first = hub.callbacks.open("a", 1)
    while not begun:
        await asyncio.sleep(0)
    first.reset(Cancelled("the guest gave up"))
    second = hub.callbacks.open("a", 2)
    await client.status()
    assert begun == [1]
    go_on.set()
    assert (await within(second.result()))["result"] == b"2"


async def test_an_async_function_is_cancelled_when_nobody_waits_any_more(hub: LocalHub, client: Hub) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    @client.callback("a")
    async def _handler(_call: CallbackCall) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    await client.status()
    call = hub.callbacks.open("a")
    await within(begun.wait())
    call.reset(Cancelled("the guest gave up"))
    await within(cancelled.wait())


async def test_a_failure_reaches_the_caller_without_its_traceback_and_our_log_with_it(
    hub: LocalHub, client: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    @client.callback("a")
    def _handler(_call: CallbackCall) -> None:
        raise KeyError("amount")

    await client.status()
    with pytest.raises(CallbackFailed) as failed:
        await hub.callbacks.call("a")
    assert failed.value.message == "KeyError: 'amount'"
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("cloche.callbacks", logging.ERROR)
    assert record.exc_info is not None
    assert "_handler" in caplog.text


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (NotFound("no such account"), NotFound),
        (LinkLost("ours"), CallbackFailed),
        (StopIteration(), CallbackFailed),
        (SystemExit(3), CallbackFailed),
    ],
)
async def test_an_error_that_is_meant_for_the_caller_keeps_its_code(
    hub: LocalHub,
    client: Hub,
    raised: BaseException,
    told: type[CodedError],
    caplog: pytest.LogCaptureFixture,
) -> None:
    @client.callback("a")
    def _handler(_call: CallbackCall) -> None:
        raise raised

    await client.status()
    with pytest.raises(told):
        await hub.callbacks.call("a")
    assert len(caplog.records) == (told is CallbackFailed), "only a defect is one for the log"


async def test_a_result_that_cannot_be_sent_is_a_failure(hub: LocalHub, client: Hub) -> None:
    results: list[object] = [{1}, "x" * (128 << 10)]

    @client.callback("a")
    async def _handler(_call: CallbackCall) -> object:
        return results.pop(0)

    await client.status()
    with pytest.raises(CallbackFailed, match="TypeError: the result must be something JSON has"):
        await hub.callbacks.call("a")
    with pytest.raises(TooLarge):
        await hub.callbacks.call("a")


async def test_what_the_hub_refuses_is_raised_and_logged(
    hub: LocalHub, client: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    hub.callbacks.refuses = BadRequest("methods must be …")

    @client.callback("a b")
    async def handler(_call: CallbackCall) -> None:
        pass

    with pytest.raises(BadRequest, match="methods must be"):
        await handler.ready()
    with pytest.raises(BadRequest):
        await handler.wait()
    assert "the hub does not ask for a b any more: methods must be …" in caplog.text
    await handler.close()


async def test_a_block_answers_until_it_is_left(hub: LocalHub, client: Hub) -> None:
    async def answer(_call: CallbackCall) -> int:
        return 1

    async with client.callback("a", sandbox="box")(answer) as handler:
        assert await hub.callbacks.call("a") == 1
    await hub.callbacks.wait_registered(0)
    await handler.wait()
    await handler.close()
    with pytest.raises(Cancelled, match="closed"):
        await handler.ready()


async def test_a_call_that_was_on_its_way_when_it_was_closed_is_refused(hub: LocalHub, client: Hub) -> None:
    async with client.callback("a")(lambda _call: 1):
        call = hub.callbacks.open("a")
    with pytest.raises(Cancelled, match="does not answer this any more"):
        await within(call.result())


async def test_it_is_registered_again_after_a_session_was_lost(hub: LocalHub, client: Hub) -> None:
    @client.callback("a")
    async def handler(call: CallbackCall) -> Any:
        return call.params

    await handler.ready()
    for number in range(2):
        hub.forget()
        hub.cut()
        await hub.wait_links(number + 2)
        await client.status()
        await handler.ready()
        assert await hub.callbacks.call("a", number) == number
    assert [kind for kind, _ in hub.asked].count("callback.serve") == 3


async def test_one_that_is_closed_as_its_session_is_lost_is_not_registered_again(
    hub: LocalHub, client: Hub
) -> None:
    handler = await client.callback("a")(lambda _call: None).ready()
    handler._channel.sink.failed(LinkLost("the session is lost"))
    await within(handler.close())
    await client.status()
    assert [kind for kind, _ in hub.asked] == ["callback.serve", "hub.status"]


async def test_it_goes_on_after_a_lost_link_with_what_was_under_way(hub: LocalHub, client: Hub) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @client.callback("a")
    async def _handler(_call: CallbackCall) -> int:
        begun.set()
        await go_on.wait()
        return 42

    await client.status()
    async with asyncio.TaskGroup() as tasks:
        called = tasks.create_task(hub.callbacks.call("a"))
        await within(begun.wait())
        hub.cut()
        await hub.wait_links(2)
        go_on.set()
    assert called.result() == 42
    assert [kind for kind, _ in hub.asked].count("callback.serve") == 1


async def test_a_connection_that_is_closed_ends_it_quietly(
    hub: LocalHub, caplog: pytest.LogCaptureFixture
) -> None:
    begun = asyncio.Event()

    async def answer(_call: CallbackCall) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with Hub.connect() as client:
        handler = await client.callback("a")(answer).ready()
        hub.callbacks.open("a")
        await within(begun.wait())
    with pytest.raises(Cancelled):
        await within(handler.wait())
    assert caplog.records == []


async def test_a_decorator_without_a_method_says_what_is_missing(client: Hub) -> None:
    with pytest.raises(TypeError, match=r"@sandbox\.callback\('pay\.\*'\)"):
        client.callback()
    with pytest.raises(TypeError, match="name the methods"):
        client.callback(sys.exit)  # type: ignore[arg-type]


async def test_what_a_command_asks_is_answered_while_it_runs(hub: LocalHub, sandbox: Sandbox) -> None:
    @sandbox.callback("a")
    async def _handler(_call: CallbackCall) -> str:
        return "answered"

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(sandbox.run(["cat"], input="x" * (1 << 20)))
        await hub.callbacks.wait_registered(1)
        assert await hub.callbacks.call("a") == "answered"
    assert running.result().ok
