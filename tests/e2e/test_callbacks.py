"""What Cloche is for, on a real hub with real machines: a program calls out, policy holds it, a person decides."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from cloche import aio
from cloche.callback_messages import CallbackCall
from cloche.errors import CodedError, Conflict, Forbidden, NotFound, Unauthenticated
from tests.e2e.guarded import ask, call_raw, connected, happened, held, still_serves, story, within
from tests.support.real_hub import RealHub

pytestmark = pytest.mark.machine

_COMPUTES = """
from cloche_callback import callback
amount = sum(range(10))
receipt = callback("pay.send", {"to": "alice", "amount": amount}, timeout=600)
print(amount, "asked,", receipt["paid"], "paid")
"""


async def test_a_program_goes_on_with_what_a_person_made_of_its_call(guarded_hub: RealHub) -> None:
    async with connected(guarded_hub.address, guarded_hub.token) as hub, hub.create() as sandbox:
        calls: list[CallbackCall] = []

        @sandbox.callback("pay.*")
        async def pay(call: CallbackCall) -> dict[str, int]:
            calls.append(call)
            return {"paid": call.params["amount"]}

        async with asyncio.TaskGroup() as tasks:
            program = tasks.create_task(sandbox.run(["python3", "-c", _COMPUTES], check=True))
            waiting = await held(hub, sandbox)
            assert (waiting.params, waiting.rule, calls) == (
                {"to": "alice", "amount": 45}, "payments", []
            )  # fmt: skip
            decided = await hub.approvals.approve(waiting.id, params={"to": "alice", "amount": 9})
        assert program.result().stdout == "45 asked, 9 paid\n"
        assert [(call.params, call.approval) for call in calls] == [
            ({"to": "alice", "amount": 9}, waiting.id)
        ]
        assert (decided.state, decided.approved_params) == ("edited", {"to": "alice", "amount": 9})
        assert '-  "amount": 45,' in decided.diff
        assert await story(hub, sandbox.id) == [
            "callback.requested", "approval.requested", "approval.edited", "callback.answered"
        ]  # fmt: skip
        assert (await hub.verify_audit()).events > 4


async def test_a_refusal_names_the_rule_or_the_reason(guarded_hub: RealHub) -> None:
    async with connected(guarded_hub.address, guarded_hub.token) as hub, hub.create() as sandbox:
        sandbox.callback("*")(lambda call: call.params)
        error, code, message = await ask(sandbox, "weapon.fire")
        assert (error, code) == ("CallbackDenied", "forbidden")
        assert "'no weapons'" in message
        assert "weapons are not for sale" in message
        error, code, message = await ask(sandbox, "unheard.of")
        assert (error, code) == ("CallbackDenied", "forbidden")
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(ask(sandbox, "pay.send", 1))
            await hub.approvals.deny((await held(hub, sandbox)).id, "not on a Sunday")
        assert asking.result() == ["CallbackDenied", "forbidden", "not approved: not on a Sunday"]
        assert await story(hub, sandbox.id) == [
            *["callback.requested", "callback.refused"] * 2,
            *["callback.requested", "approval.requested", "approval.denied", "callback.refused"],
        ]


async def test_what_nobody_answers_or_decides_ends_by_itself(guarded_hub: RealHub) -> None:
    async with connected(guarded_hub.address, guarded_hub.token) as hub, hub.create() as sandbox:
        assert (await ask(sandbox, "free.echo"))[1] == "no_handler"
        sandbox.callback("urgent.*")(lambda call: call.params)
        error, code, message = await ask(sandbox, "urgent.now")
        assert (error, code) == ("CallbackTimeout", "timed_out")
        assert "nobody decided within 1 s" in message
        (expired,) = await hub.approvals.list(states=["expired"], sandbox=sandbox.id)
        with pytest.raises(Conflict):
            await hub.approvals.approve(expired.id)


async def test_a_handler_that_fails_or_goes_away_is_told_to_its_caller(guarded_hub: RealHub) -> None:
    async with connected(guarded_hub.address, guarded_hub.token) as hub, hub.create() as sandbox:
        is_asked = asyncio.Event()
        async with (
            asyncio.TaskGroup() as tasks,
            connected(guarded_hub.address, guarded_hub.token) as answering,
        ):

            @answering.callback("free.*", sandbox=sandbox.id)
            async def answer(call: CallbackCall) -> None:
                if call.method == "free.fail":
                    raise LookupError("no such account")
                is_asked.set()
                await asyncio.Event().wait()

            await answer.ready()
            code, message = (await ask(sandbox, "free.fail"))[1:]
            assert (code, message) == ("callback_failed", "LookupError: no such account")
            asking = tasks.create_task(ask(sandbox, "free.wait"))
            await within(is_asked.wait())
        assert asking.result()[1] == "link_lost"
        assert (await ask(sandbox, "free.wait"))[1] == "no_handler"


async def test_the_call_of_a_killed_program_can_not_be_approved_any_more(guarded_hub: RealHub) -> None:
    async with connected(guarded_hub.address, guarded_hub.token) as hub, hub.create() as sandbox:
        calls: list[CallbackCall] = []
        sandbox.callback("pay.*")(calls.append)
        async with sandbox.exec(["cloche-callback", "pay.send", "1"]) as program:
            waiting = await held(hub, sandbox)
            await program.kill()
            await within(program.wait())
        await happened(hub, sandbox.id, "approval.abandoned")
        with pytest.raises(Conflict):
            await hub.approvals.approve(waiting.id)
        assert (await hub.approvals.get(waiting.id)).state == "abandoned"
        assert (await ask(sandbox, "weapon.fire"))[1] == "forbidden"
        assert calls == []


async def test_of_two_operators_one_decides_and_the_other_learns_who(guarded_hub: RealHub) -> None:
    async with connected(guarded_hub.address, guarded_hub.token) as hub, hub.create() as sandbox:
        sandbox.callback("pay.*")(lambda call: "paid")
        tokens = [await _token(hub, f"operator-{number}", scope="operator") for number in range(2)]
        async with (
            connected(guarded_hub.address, tokens[0]["text"]) as one,
            connected(guarded_hub.address, tokens[1]["text"]) as two,
            asyncio.TaskGroup() as tasks,
        ):
            asking = tasks.create_task(ask(sandbox, "pay.send", 1))
            waiting = await held(hub, sandbox)
            outcomes = await asyncio.gather(
                one.approvals.approve(waiting.id), two.approvals.deny(waiting.id, "no"), return_exceptions=True
            )  # fmt: skip
        (loser,) = [number for number, outcome in enumerate(outcomes) if isinstance(outcome, Conflict)]
        winner = tokens[1 - loser]["token"]["id"]
        assert getattr(outcomes[loser], "details", {})["decided_by"] == winner
        assert (await hub.approvals.get(waiting.id)).decided_by == winner
        assert asking.result() == ("paid" if loser else ["CallbackDenied", "forbidden", "not approved: no"])


async def test_an_approval_ends_with_its_sandbox(guarded_hub: RealHub) -> None:
    async with connected(guarded_hub.address, guarded_hub.token) as hub, hub.create() as sandbox:
        sandbox.callback("pay.*")(lambda call: call.params)
        async with sandbox.exec(["cloche-callback", "pay.send", "1"]) as program:
            waiting = await held(hub, sandbox)
            await sandbox.remove()
            with pytest.raises(CodedError):
                await within(program.wait())
        await happened(hub, sandbox.id, "approval.abandoned")
        with pytest.raises(Conflict):
            await hub.approvals.approve(waiting.id)


async def test_owners_decide_nothing_and_others_sandboxes_do_not_exist(guarded_hub: RealHub) -> None:
    async with connected(guarded_hub.address, guarded_hub.token) as hub:
        alice, bob = [await _token(hub, name, owner=name) for name in ("alice", "bob")]
        async with (
            connected(guarded_hub.address, alice["text"]) as hers,
            connected(guarded_hub.address, bob["text"]) as his,
            hers.create() as sandbox,
        ):
            sandbox.callback("pay.*")(lambda call: call.params)
            async with sandbox.exec(["cloche-callback", "pay.send", "1"]):
                waiting = await held(hub, sandbox)
                for refused in (
                    hers.approvals.approve(waiting.id),
                    hers.approvals.deny(waiting.id, "no"),
                    his.approvals.approve(waiting.id),
                    his.policy.show(),
                ):
                    with pytest.raises(Forbidden):
                        await refused
                assert [found.id for found in await hers.approvals.list()] == [waiting.id]
                assert await his.approvals.list() == []
                for unseen in (
                    his.approvals.get(waiting.id),
                    his.approvals.list(sandbox=sandbox.id),
                    his.sandbox(sandbox.id),
                    his.callback("pay.*", sandbox=sandbox.id)(lambda call: call.params).ready(),
                    *_asked_of(his, sandbox.id),
                ):
                    with pytest.raises(NotFound):
                        await unseen
                assert (await hub.approvals.get(waiting.id)).is_pending


async def test_a_revoked_token_ends_its_session_and_all_it_runs(guarded_hub: RealHub) -> None:
    async with connected(guarded_hub.address, guarded_hub.token) as hub:
        carol = await _token(hub, "carol", owner="carol")
        async with connected(guarded_hub.address, carol["text"]) as hers:
            sandbox = await hers.create(name="carols")
            hers.callback("pay.*")(lambda call: call.params)
            async with sandbox.exec(["cloche-callback", "pay.send", "1"]) as program:
                same = await hub.sandbox("carols")
                waiting = await held(hub, same)
                await call_raw(hub, "token.revoke", token=carol["token"]["id"])
                with pytest.raises(Unauthenticated):
                    await within(program.wait())
            with pytest.raises(Unauthenticated):
                await hers.sandboxes()
        # The program in the guest was the session's own; with it goes what it asked.
        await happened(hub, same.id, "approval.abandoned", approval=waiting.id)
        await happened(hub, same.id, "exec.failed")
        with pytest.raises(Unauthenticated):
            await aio.Hub.connect(guarded_hub.address, carol["text"])
        await still_serves(same)
        await same.remove()


async def _token(hub: aio.Hub, name: str, **more: str) -> dict[str, Any]:
    return await call_raw(hub, "token.create", name=name, **more)


def _asked_of(hub: aio.Hub, sandbox: str) -> list[Coroutine[Any, Any, dict[str, Any]]]:
    """Every other request about a sandbox."""
    requests: dict[str, dict[str, Any]] = {
        "exec": {"argv": ["true"]},
        "console.create": {"rows": 24, "cols": 80},
        "console.attach": {},
        "console.close": {},
        "file.read": {"path": "/etc/passwd"},
        "file.write": {"path": "x"},
        "file.stat": {"path": "/"},
        "file.list": {"path": "/"},
        "file.make_dir": {"path": "x"},
        "file.remove": {"path": "x"},
        "file.rename": {"path": "x", "to": "y"},
        "file.set_mode": {"path": "x", "mode": 0o600},
        "file.link": {"path": "x", "target": "y"},
        "sandbox.remove": {},
        "sandbox.boot_log": {},
    }
    return [call_raw(hub, kind, sandbox=sandbox, **params) for kind, params in requests.items()]
