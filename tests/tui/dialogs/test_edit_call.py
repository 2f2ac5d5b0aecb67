"""An edited call is approved when its text is good, was shown as a difference, and somebody meant it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from cloche import ApprovalInfo
from cloche.errors import Forbidden
from cloche_tui.dialogs import edit_call
from cloche_tui.dialogs.edit_call import EditCallDialog
from cloche_tui.model.guard import QUIET_S
from tests.support.approvals import NOW, apr, decided
from tests.tui.support import HostApp, screen_text

A = apr(1, params={"amount": 300, "to": "alice"})


class Asked:
    """The dialog on a host, a clock, what it asked the hub, and its answer."""

    def __init__(self, approval: ApprovalInfo) -> None:
        self.app, self.now = HostApp(), 100.0
        self.approved: list[Any] = []
        self.answers: list[ApprovalInfo | None] = []
        self.refusal: Forbidden | None = None
        self.dialog = EditCallDialog(approval, self.approve, now=NOW, clock=lambda: self.now)

    async def approve(self, params: Any) -> ApprovalInfo:
        self.approved.append(params)
        if self.refusal is not None:
            raise self.refusal
        return decided(A, "edited")

    def write(self, text: str) -> None:
        self.dialog.query_one(TextArea).text = text

    @property
    def text(self) -> str:
        return screen_text(self.app)


@asynccontextmanager
async def asked(approval: ApprovalInfo = A) -> AsyncIterator[tuple[Asked, Pilot[None]]]:
    one = Asked(approval)
    async with one.app.run_test(size=(120, 30)) as pilot:
        one.app.push_screen(one.dialog, one.answers.append)
        await pilot.pause()
        yield one, pilot


async def press(pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


async def test_it_begins_with_what_was_asked_in_which_all_can_be_seen() -> None:
    async with asked(apr(1, params={"to": "\u202ealice"})) as (one, _):
        assert one.dialog.text == '{\n  "to": "\\u202ealice"\n}'
        assert (
            "nothing is changed; to approve the call as it was asked, leave this and approve it" in one.text
        )


async def test_what_is_typed_is_judged_at_once_with_its_place() -> None:
    async with asked() as (one, pilot):
        await press(pilot, "x")
        assert "✗ line 1, column 1: a value is missing here" in one.text
        await press(pilot, "backspace")
        one.write('{"amount": 3}')
        await pilot.pause()
        assert "✓ good JSON" in one.text


async def test_bad_json_cannot_be_reviewed_nor_approved_and_the_cursor_goes_there() -> None:
    async with asked() as (one, pilot):
        one.write('{\n  "amount": 3\n  "to": 1\n}')
        await press(pilot, "ctrl+s", "enter")
        assert not one.dialog.is_reviewing
        assert one.approved == []
        one.write('{\n  "amount": 3\n  "to": 1\n}')
        await press(pilot, "ctrl+s")
        assert one.dialog.query_one(TextArea).cursor_location == (2, 2)
        assert "✗ line 3, column 3: a comma, or the end of the list or map, is missing here" in one.text


async def test_what_is_not_changed_cannot_be_reviewed() -> None:
    async with asked() as (one, pilot):
        one.write('{"to": "alice",   "amount": 300}')
        await press(pilot, "ctrl+s")
        assert not one.dialog.is_reviewing
        assert "nothing is changed" in one.text


async def test_the_difference_is_shown_and_then_approved() -> None:
    async with asked() as (one, pilot):
        one.write('{"amount": 3, "to": "alice"}')
        await press(pilot, "ctrl+s")
        assert '-  "amount": 300,' in one.text
        assert '+  "amount": 3,' in one.text
        assert "This is what changes. Approve it?" in one.text
        one.now += QUIET_S
        await press(pilot, "enter")
        assert one.approved == [{"amount": 3, "to": "alice"}]
        assert one.answers == [decided(A, "edited")]


async def test_a_key_that_is_pressed_too_early_approves_nothing() -> None:
    async with asked() as (one, pilot):
        one.write('{"amount": 3}')
        await press(pilot, "ctrl+s")
        for _ in range(5):
            await press(pilot, "enter", "ctrl+s")
            one.now += QUIET_S / 2
        assert one.approved == []
        assert "nothing was approved: it has only just come up" in one.text


async def test_one_can_go_back_to_the_text() -> None:
    async with asked() as (one, pilot):
        one.write('{"amount": 3}')
        await press(pilot, "ctrl+s", "e")
        assert not one.dialog.is_reviewing
        await press(pilot, "x")
        assert one.dialog.text.count("x") == 1


async def test_what_the_policy_denies_is_told_above_the_text_to_be_mended() -> None:
    async with asked() as (one, pilot):
        one.refusal = Forbidden(
            "the edited call is denied by rule 'large': too much; it waits on", rule="large"
        )
        one.write('{"amount": 3000}')
        await press(pilot, "ctrl+s")
        one.now += QUIET_S
        await press(pilot, "enter")
        assert "the edited call is denied by rule 'large': too much" in one.text
        assert not one.dialog.is_reviewing
        assert one.dialog.text == '{"amount": 3000}'
        assert one.answers == []


async def test_what_was_typed_is_thrown_away_only_when_that_is_asked_for_twice() -> None:
    async with asked() as (one, pilot):
        one.write('{"amount": 3}')
        await press(pilot, "escape")
        assert "esc once more throws away what you have typed" in one.text
        one.write('{"amount": 4}')
        await press(pilot, "escape")
        assert one.answers == []
        await press(pilot, "escape")
        assert one.answers == [None]


async def test_what_was_not_changed_is_left_at_once() -> None:
    async with asked() as (one, pilot):
        await press(pilot, "escape")
        assert one.answers == [None]


@pytest.mark.parametrize("reviewing", [False, True])
async def test_once_it_is_decided_elsewhere_nothing_is_approved_and_the_text_stays(reviewing: bool) -> None:
    async with asked() as (one, pilot):
        one.write('{"amount": 3}')
        await pilot.pause()
        if reviewing:
            await press(pilot, "ctrl+s")
            one.now += QUIET_S
        one.dialog.tell(decided(A, "expired", by="hub"), now=NOW)
        await press(pilot, "enter", "x", "ctrl+s", "e", "enter")
        assert one.approved == []
        assert one.dialog.text == '{"amount": 3}'
        assert "Nothing was decided here: ◌ expired, refused" in one.text
        await press(pilot, "escape")
        assert one.answers == [None]


async def test_a_large_text_is_judged_a_moment_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit_call, "_LARGE", 10)
    monkeypatch.setattr(edit_call, "_MOMENT_S", 0.01)
    async with asked() as (one, pilot):
        await press(pilot, "x", "y")
        for _ in range(1000):
            if "✗ line 1, column 1" in one.text:
                break
            await pilot.pause(0.01)
        assert "✗ line 1, column 1: a value is missing here" in one.text
