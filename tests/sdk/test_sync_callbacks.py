"""Callbacks and approvals for blocking callers: functions that answer while their program waits for something else."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from cloche import CallbackCall, Hub, Sandbox
from cloche.errors import BadRequest, Cancelled
from tests.support.local_hub import LocalHub


async def _elsewhere(work: Callable[[], object]) -> object:
    """Runs blocking work in a thread: the hub it talks to lives in this one."""
    async with asyncio.timeout(30):
        return await asyncio.to_thread(work)


async def test_a_function_answers_while_its_program_waits_for_a_command(hub: LocalHub) -> None:
    answered = asyncio.Event()
    loop = asyncio.get_running_loop()

    def work() -> str:
        with Sandbox.create() as sandbox:

            @sandbox.callback("pay.*")
            def pay(call: CallbackCall) -> object:
                return {"paid": call.params["amount"]}

            assert pay.methods == ("pay.*",)
            assert repr(pay) == "<CallbackHandler pay.*>"
            assert pay(CallbackCall("cb_1", "pay.send", {"amount": 1}, "sb_1", "box", "ann", {}, None)) == {
                "paid": 1
            }
            loop.call_soon_threadsafe(registered.set)
            with sandbox.exec(["cat"], stdin=True) as process:
                asyncio.run_coroutine_threadsafe(answered.wait(), loop).result(10)
                process.close_stdin()
                return f"{process.wait().exit_code}"

    registered = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(_elsewhere(work))
        await registered.wait()
        assert len(hub.callbacks.registered) == 1, "the hub has it when the decorator returns"
        assert await hub.callbacks.call("pay.send", {"amount": 3}) == {"paid": 3}
        answered.set()
    assert running.result() == "0"


async def test_a_function_may_use_the_sandbox_that_asks_it(hub: LocalHub) -> None:
    registered, done = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        with Hub.connect() as client, client.create() as sandbox:
            client.callback("a", at_once=2)(lambda call: sandbox.run(["echo", call.params]).stdout)
            loop.call_soon_threadsafe(registered.set)
            assert done.wait(20)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_elsewhere(work))
        await registered.wait()
        async with asyncio.TaskGroup() as calls:
            answers = [calls.create_task(hub.callbacks.call("a", str(number))) for number in range(8)]
        done.set()
    assert [answer.result() for answer in answers] == [f"{number}\n" for number in range(8)]


async def test_what_the_hub_refuses_is_raised_by_the_decorator(hub: LocalHub) -> None:
    hub.callbacks.refuses = BadRequest("methods must be …")

    def work() -> None:
        with Hub.connect() as client, pytest.raises(BadRequest, match="methods must be"):
            client.callback("a b")(lambda _call: None)

    await _elsewhere(work)


async def test_a_block_answers_until_it_is_left(hub: LocalHub) -> None:
    def work() -> None:
        with Hub.connect() as client:
            with client.callback("a")(lambda _call: None) as handler:
                assert handler.ready() is handler
                assert len(hub.callbacks.registered) == 1
            handler.wait()
            handler.close()
            with pytest.raises(Cancelled):
                handler.ready()

    await _elsewhere(work)


async def test_approvals_are_seen_and_decided(hub: LocalHub) -> None:
    hub.approvals.ask("first", {"amount": 3})
    hub.approvals.ask("second")

    def work() -> list[Any]:
        with Hub.connect() as client:
            waiting = client.approvals.list()
            watched = client.approvals.watch()
            first = next(watched)
            assert client.approvals.get(first.id).params == {"amount": 3}
            edited = client.approvals.approve(first.id, params={"amount": 2})
            assert next(watched).method == "second"
            assert next(watched) == edited
            watched.close()  # type: ignore[attr-defined]
            denied = client.approvals.deny("apr_0002", "no")
            return [len(waiting), client.approvals.waiting, edited.approved_params, denied.reason]

    assert await _elsewhere(work) == [2, 0, {"amount": 2}, "no"]


async def test_a_function_that_hangs_does_not_keep_the_program_from_ending(hub: LocalHub) -> None:
    script = (
        "import threading\n"
        "from cloche import Hub\n"
        "hub = Hub.connect()\n"
        "begun = threading.Event()\n"
        "@hub.callback('a')\n"
        "def hang(call):\n"
        "    begun.set()\n"
        "    threading.Event().wait()\n"
        "begun.wait()\n"
        "print('over')\n"
    )
    async with asyncio.timeout(30):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", "-c", script, stdout=asyncio.subprocess.PIPE
        )
        await hub.callbacks.wait_registered(1)
        hub.callbacks.open("a")
        out, _ = await process.communicate()
    assert (process.returncode, out) == (0, b"over\n")
