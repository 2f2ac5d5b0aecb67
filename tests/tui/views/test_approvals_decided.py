"""What a key comes to at a real hub: a call goes on, once, as the person saw it; or is told why not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input, TextArea

from cloche import ApprovalInfo
from cloche.aio.approvals import Approvals
from cloche.errors import LinkLost
from cloche_tui.dialogs.deny import DenyDialog
from cloche_tui.dialogs.edit_call import EditCallDialog
from cloche_tui.model.roles import Role
from cloche_wire.errors import CallbackFailed, Forbidden, TimedOut
from tests.support.callbacks import ASK, result_of
from tests.support.hub import until
from tests.tui.desk import Desk, hub_desk

LIMITED = '[[rule]]\nname = "large payments"\nmethods = ["pay.*"]\nparams = [{ at = "amount", at_least = 100 }]\nverdict = "deny"\nreason = "not from here"\n'
LONG = {"memo": "x" * 5000}


def dialog(desk: Desk) -> DenyDialog | EditCallDialog:
    shown = desk.screen
    assert isinstance(shown, (DenyDialog, EditCallDialog))
    return shown


async def test_a_call_is_approved_by_one_key_and_goes_on(tmp_path: Path) -> None:
    async with hub_desk(tmp_path) as desk, desk.run_test() as pilot:
        call = desk.call("pay.send", {"amount": 3})
        await desk.waits(pilot)
        await pilot.press("a")
        assert await result_of(call) == {"amount": 3}
        await desk.until(pilot, lambda: desk.world.inbox.decided)
        assert desk.said == [("approved pay.send of box", Role.GOOD)]
        assert "✓ approved by first admin" in desk.text


async def test_one_after_the_other_is_decided_and_a_key_kept_down_decides_one_only(tmp_path: Path) -> None:
    async with hub_desk(tmp_path) as desk, desk.run_test() as pilot:
        calls = [desk.call("pay.send", {"n": number}) for number in range(3)]
        await desk.waits(pilot, 3)
        first = desk.selected
        await pilot.press(*"aaaaa")
        await desk.until(pilot, lambda: desk.world.inbox.waiting == 2)
        await pilot.press(*"aaaaa")
        assert desk.selected != first
        assert desk.world.inbox.waiting == 2
        for _ in range(2):
            await desk.rest(pilot)
            waiting = desk.world.inbox.waiting
            await pilot.press("a")
            await desk.until(pilot, lambda before=waiting: desk.world.inbox.waiting < before)  # type: ignore[misc]
        assert {(await result_of(call))["n"] for call in calls} == {0, 1, 2}


async def test_a_call_is_denied_with_a_reason_that_is_there_the_next_time(tmp_path: Path) -> None:
    async with hub_desk(tmp_path) as desk, desk.run_test() as pilot:
        for keys in (["d", *"not now", "enter"], ["d", "down", "enter", "enter"]):
            call = desk.call("pay.send", {"amount": 3})
            await desk.waits(pilot)
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            with pytest.raises(Forbidden, match="not now"):
                await result_of(call)
            await desk.until(pilot, lambda: desk.world.inbox.waiting == 0)
            await desk.rest(pilot)
        assert desk.said == [("denied pay.send of box", Role.GOOD)] * 2
        assert "✗ denied by first admin" in desk.text


async def test_a_denial_needs_a_reason_and_can_be_thought_better_of(tmp_path: Path) -> None:
    async with hub_desk(tmp_path) as desk, desk.run_test() as pilot:
        desk.call("pay.send")
        await desk.waits(pilot)
        await pilot.press("d")
        await pilot.pause()
        await pilot.press("space", "enter")
        assert "a denial needs a reason" in desk.text
        await pilot.press("escape")
        await pilot.pause()
        assert len(desk.screen_stack) == 1
        assert desk.world.inbox.waiting == 1


async def test_an_edited_call_goes_on_with_what_the_person_saw_as_a_difference(tmp_path: Path) -> None:
    async with hub_desk(tmp_path) as desk, desk.run_test(size=(160, 40)) as pilot:
        call = desk.call("pay.send", {"amount": 300, "to": "alice"})
        await desk.waits(pilot)
        await pilot.press("e")
        await pilot.pause()
        text = dialog(desk).query_one(TextArea)
        text.text = text.text.replace("300", "3")
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert '-  "amount": 300,' in desk.text
        assert '+  "amount": 3,' in desk.text
        await desk.rest(pilot)
        await pilot.press("enter")
        assert await result_of(call) == {"amount": 3, "to": "alice"}
        await desk.until(pilot, lambda: desk.world.inbox.decided)
        assert desk.said == [("approved as edited: pay.send of box", Role.GOOD)]
        assert '-  "amount": 300,' in desk.text


async def test_an_edit_that_the_policy_denies_is_told_with_its_rule_and_can_be_mended(tmp_path: Path) -> None:
    async with hub_desk(tmp_path, policy=LIMITED + ASK) as desk, desk.run_test(size=(160, 40)) as pilot:
        call = desk.call("pay.send", {"amount": 3})
        await desk.waits(pilot)
        await pilot.press("e")
        await pilot.pause()
        for amount in ("300", "30"):
            dialog(desk).query_one(TextArea).text = f'{{"amount": {amount}}}'
            await pilot.press("ctrl+s")
            await desk.rest(pilot)
            await pilot.press("enter")
            if amount == "300":
                await desk.until(pilot, lambda: "denied by rule 'large payments': not from here" in desk.text)
                assert dialog(desk).query_one(TextArea).text == '{"amount": 300}'
        assert await result_of(call) == {"amount": 30}


async def test_somebody_else_may_be_first_and_that_is_told(tmp_path: Path) -> None:
    async with hub_desk(tmp_path) as desk, desk.run_test(size=(160, 40)) as pilot:
        call = desk.call("pay.send", {"amount": 3})
        await desk.waits(pilot)
        approval = desk.selected or ""
        # What the hub tells of it has not come yet: the key is pressed on what the person sees.
        view, shown = desk.view, desk.view.show
        view.show = lambda *_: None  # type: ignore[method-assign]
        async with desk.hub.client() as other:
            await other.call("approval.deny", approval=approval, reason="mine")
        await pilot.press("a")
        await desk.until(
            pilot, lambda: "nothing was decided here: denied already by first admin" in desk.text
        )
        assert "nothing was decided here" in desk.text
        view.show = shown  # type: ignore[method-assign]
        desk.show("approval")
        await pilot.pause()
        assert "✗ denied by first admin" in desk.text
        assert desk.said == []
        with pytest.raises(Forbidden, match="mine"):
            await result_of(call)


@pytest.mark.parametrize("key", ["d", "e"])
async def test_a_dialog_says_that_somebody_else_was_first_and_decides_nothing_more(
    tmp_path: Path, key: str
) -> None:
    async with hub_desk(tmp_path) as desk, desk.run_test(size=(160, 40)) as pilot:
        call = desk.call("pay.send", {"amount": 3})
        await desk.waits(pilot)
        approval = desk.selected
        await pilot.press(key)
        await pilot.pause()
        open_dialog = dialog(desk)
        async with desk.hub.client() as other:
            await other.call("approval.approve", approval=approval)
        assert await result_of(call) == {"amount": 3}
        await desk.until(pilot, lambda: open_dialog.is_over)
        assert "Nothing was decided here: ✓ approved by first admin" in desk.text
        for pressed in ("x", "ctrl+s", "enter", "escape"):
            await pilot.press(pressed)
        await pilot.pause()
        assert len(desk.screen_stack) == 1
        assert desk.said == []


@pytest.mark.parametrize("key", ["d", "e"])
async def test_a_dialog_says_that_the_deadline_has_passed(
    tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds: list[asyncio.Timeout] = []

    def passes_when_told(_deadline_s: float) -> asyncio.Timeout:
        bounds.append(asyncio.timeout(None))
        return bounds[-1]

    monkeypatch.setattr("cloche_hub.services.approvals.within", passes_when_told)
    async with hub_desk(tmp_path) as desk, desk.run_test(size=(160, 40)) as pilot:
        call = desk.call("pay.send", {"amount": 3})
        await desk.waits(pilot)
        await pilot.press(key)
        await pilot.pause()
        open_dialog = dialog(desk)
        bounds[0].reschedule(0)
        with pytest.raises(TimedOut):
            await result_of(call)
        await desk.until(pilot, lambda: open_dialog.is_over)
        assert "Nothing was decided here: ◌ expired, refused" in desk.text
        await pilot.press("enter", "ctrl+s", "escape")
        await pilot.pause()
        assert len(desk.screen_stack) == 1
        assert desk.said == []


async def test_a_caller_that_gives_up_takes_its_call_back(tmp_path: Path) -> None:
    async with hub_desk(tmp_path) as desk, desk.run_test(size=(160, 40)) as pilot:
        call = desk.call("pay.send")
        await desk.waits(pilot)
        call.reset(CallbackFailed("never mind"))
        await desk.until(pilot, lambda: desk.world.inbox.decided)
        assert "– abandoned" in desk.text


async def test_a_call_that_is_named_is_decided_without_a_wait(tmp_path: Path) -> None:
    async with hub_desk(tmp_path) as desk, desk.run_test() as pilot:
        call = desk.call("pay.send", {"amount": 3})
        await desk.until(pilot, lambda: desk.selected)
        await desk._run("approval.approve", desk.selected or "")
        assert await result_of(call) == {"amount": 3}


async def test_of_a_long_call_all_is_shown_before_it_can_be_approved(tmp_path: Path) -> None:
    async with hub_desk(tmp_path) as desk, desk.run_test(size=(160, 40)) as pilot:
        call = desk.call("pay.send", LONG)
        await desk.waits(pilot)
        assert "4.9 KiB, enter unfolds" in desk.text
        await pilot.press("a")
        assert await result_of(call) == LONG
        # What is decided is told without its parameters; a call that was let through has them still.
        await desk.until(pilot, lambda: desk.world.inbox.decided)
        assert not desk.world.inbox.decided[0].has_params
        await desk.until(pilot, lambda: "4.9 KiB, enter unfolds" in desk.text)


async def test_parameters_that_are_not_here_yet_are_fetched_and_not_approved_unseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    come, get = asyncio.Event(), Approvals.get

    async def slow(self: Approvals, approval: str) -> ApprovalInfo:
        await come.wait()
        return await get(self, approval)

    monkeypatch.setattr(Approvals, "get", slow)
    async with hub_desk(tmp_path) as desk, desk.run_test(size=(160, 40)) as pilot:
        desk.call("pay.send", LONG)
        await desk.waits(pilot)
        (told,) = desk.world.inbox.pending
        await desk.tell(pilot, replace(told, params=None, has_params=False))
        await pilot.press("a")
        await desk.until(pilot, lambda: "nothing was decided: the parameters are not here yet" in desk.text)
        come.set()
        await desk.until(pilot, lambda: "4.9 KiB, enter unfolds" in desk.text)
        await pilot.press("a")
        await pilot.pause()
        assert "nothing was decided: it has only just come up" in desk.text
        assert desk.world.inbox.waiting == 1


async def test_parameters_that_cannot_be_had_are_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*_: object) -> None:
        raise LinkLost("the link to the hub broke")

    async with hub_desk(tmp_path) as desk, desk.run_test(size=(160, 40)) as pilot:
        desk.call("pay.send", LONG)
        await desk.waits(pilot)
        (told,) = desk.world.inbox.pending
        with monkeypatch.context() as patch:
            patch.setattr(Approvals, "get", lost)
            await desk.tell(pilot, replace(told, params=None, has_params=False))
            await desk.until(pilot, lambda: "its parameters cannot be had now" in desk.text)
        desk.show()
        await desk.until(pilot, lambda: "4.9 KiB, enter unfolds" in desk.text)


async def test_a_hub_that_goes_away_is_told_and_the_call_can_be_decided_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hub_desk(tmp_path) as desk, desk.run_test(size=(160, 40)) as pilot:
        call = desk.call("pay.send", {"amount": 3})
        await desk.waits(pilot)

        async def lost(*_: object, **__: object) -> None:
            raise LinkLost("the link to the hub broke")

        with monkeypatch.context() as patch:
            patch.setattr(Approvals, "approve", lost)
            await pilot.press("a")
            await desk.until(
                pilot, lambda: "nothing is known to be decided: the link to the hub broke" in desk.text
            )
        await pilot.press("a")
        assert await result_of(call) == {"amount": 3}


async def test_keys_do_nothing_more_while_the_hub_is_asked(tmp_path: Path) -> None:
    async with hub_desk(tmp_path) as desk, desk.run_test(size=(160, 40)) as pilot:
        call = desk.call("pay.send", {"amount": 3})
        await desk.waits(pilot)
        await pilot.press("d")
        await pilot.pause()
        open_dialog = dialog(desk)
        open_dialog.query_one(Input).value = "no"
        desk.hub.store.gate.clear()
        await pilot.press("enter")
        await until(lambda: desk.hub.store.waiting)
        await pilot.press("enter", "enter")
        assert "asking the hub" in desk.text
        desk.hub.store.gate.set()
        with pytest.raises(Forbidden):
            await result_of(call)
        await desk.until(pilot, lambda: len(desk.screen_stack) == 1)
