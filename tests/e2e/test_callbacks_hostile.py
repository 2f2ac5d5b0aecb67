"""Guests that do their worst with callbacks and with the link itself: it costs them, and nobody else."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest

from cloche.callback_messages import CallbackCall
from cloche.errors import MachineFailed, WrongState
from tests.e2e.guarded import (
    ASK,
    ask,
    connected,
    happened,
    held,
    own_memory,
    still_serves,
    story,
    within,
)
from tests.e2e.hostile_programs import BREACH, GARBAGE, IMPOSTOR, MANY, MANY_CALLS, NONSENSE, TOO_MUCH
from tests.support.real_hub import RealHub

pytestmark = pytest.mark.machine


async def test_of_many_calls_at_once_each_is_held_and_answered_once(guarded_hub: RealHub) -> None:
    async with connected(guarded_hub.address, guarded_hub.token) as hub, hub.create() as sandbox:
        calls: list[object] = []

        @sandbox.callback("pay.many")
        async def many(call: CallbackCall) -> object:
            calls.append(call.params)
            return [call.params]

        async with asyncio.TaskGroup() as tasks:
            program = tasks.create_task(sandbox.run(["python3", "-c", MANY_CALLS], check=True))
            await happened(hub, sandbox.id, "approval.requested", times=MANY)
            waiting = await hub.approvals.list(sandbox=sandbox.id, limit=MANY)
            assert calls == []
            await within(asyncio.gather(*(hub.approvals.approve(each.id) for each in waiting)))
        assert json.loads(program.result().stdout) == [[number] for number in range(MANY)]
        assert sorted(map(str, calls)) == sorted(map(str, range(MANY)))


async def test_nonsense_is_told_to_whoever_says_it_and_nobody_else_hears_of_it(guarded_hub: RealHub) -> None:
    async with connected(guarded_hub.address, guarded_hub.token) as hub, hub.create() as sandbox:
        sandbox.callback("free.*")(lambda call: call.params)
        ran = await within(sandbox.run(["python3", "-c", NONSENSE], check=True))
        assert set(json.loads(ran.stdout)) == {"bad_request"}
        assert await story(hub, sandbox.id) == []
        assert await ask(sandbox, "free.x", [1]) == [1]


async def test_too_much_is_refused_in_the_guest(guarded_hub: RealHub) -> None:
    assert guarded_hub.process is not None
    async with connected(guarded_hub.address, guarded_hub.token) as hub, hub.create() as sandbox:
        sandbox.callback("free.*")(lambda call: len(call.params))
        before = own_memory(guarded_hub.process.pid)
        ran = await within(sandbox.run(["python3", "-c", TOO_MUCH], check=True))
        assert json.loads(ran.stdout) == ["too_large", 131070, "too_large"]
        assert own_memory(guarded_hub.process.pid) - before < 16 << 20


async def test_who_calls_is_shown_without_what_would_move_a_cursor(guarded_hub: RealHub) -> None:
    async with connected(guarded_hub.address, guarded_hub.token) as hub, hub.create() as sandbox:
        sandbox.callback("pay.*")(lambda call: call.params)
        odd = "open('/proc/self/comm', 'wb').write(b'\\x1b[2J\\xff\\nhub')\n" + ASK
        async with sandbox.exec(["python3", "-c", odd, "pay.x", '"\\u001b[31m"'], user="root") as program:
            waiting = await held(hub, sandbox)
            assert waiting.caller == {"pid": program.pid, "uid": 0, "program": "?[2J\ufffd?hub"}
            assert waiting.params == "\x1b[31m"
            await hub.approvals.approve(waiting.id)
            assert json.loads(await within(program.stdout.read_all())) == "\x1b[31m"


async def test_who_takes_the_place_of_the_agent_in_a_guest_deceives_that_guest_only(
    guarded_hub: RealHub,
) -> None:
    async with connected(guarded_hub.address, guarded_hub.token) as hub, hub.create() as sandbox:
        sandbox.callback("*")(lambda call: "ours")
        async with sandbox.exec(["python3", "-c", IMPOSTOR], user="root") as impostor:
            assert await within(impostor.stdout.read()) == b"ready\n"
            assert await ask(sandbox, "weapon.fire") == "theirs"
        assert await story(hub, sandbox.id) == []
        # The first process of a machine is beyond the reach of its root's signals.
        killer = "for number in KILL STOP TERM INT SEGV HUP; do kill -$number 1; done"
        assert (await within(sandbox.run(killer, user="root"))).ok
        await still_serves(sandbox)


async def test_garbage_on_the_link_costs_at_most_the_sandbox_it_came_from(guarded_hub: RealHub) -> None:
    async with (
        connected(guarded_hub.address, guarded_hub.token) as hub,
        hub.create() as other,
        hub.create() as sandbox,
    ):
        with contextlib.suppress(MachineFailed):
            await within(sandbox.run(["python3", "-c", GARBAGE], user="root"))
        try:
            await still_serves(sandbox)
        except (MachineFailed, WrongState):
            assert (await sandbox.refresh()).state == "failed"
        await still_serves(other)


async def test_frames_that_no_agent_would_send_end_the_sandbox_and_all_that_waits_for_it(
    guarded_hub: RealHub,
) -> None:
    async with (
        connected(guarded_hub.address, guarded_hub.token) as hub,
        hub.create() as other,
        hub.create() as sandbox,
    ):
        sandbox.callback("pay.*")(lambda call: call.params)
        async with sandbox.exec(["cloche-callback", "pay.send", "1"]) as program:
            waiting = await held(hub, sandbox)
            with pytest.raises(MachineFailed, match="broke the protocol"):
                await within(sandbox.run(["python3", "-c", BREACH], user="root"))
            with pytest.raises(MachineFailed):
                await within(program.wait())
        await happened(hub, sandbox.id, "sandbox.failed")
        await happened(hub, sandbox.id, "approval.abandoned", approval=waiting.id)
        await still_serves(other)
