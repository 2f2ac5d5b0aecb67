"""What every dialog that decides a call has: its call, its time, the hub's answer, and an end by others' hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input

from cloche import ApprovalInfo
from cloche.errors import BadRequest, CodedError, Conflict, LinkLost
from cloche_tui.dialogs.decision import DecisionDialog
from tests.support.approvals import NOW, apr, decided
from tests.tui.support import HostApp, screen_text

A = apr(1, params={"to": "alice\u202e"}, deadline_s=42)


class Plain(DecisionDialog):
    heading = "Decide"

    def __init__(self) -> None:
        super().__init__(A, now=NOW)
        self.overs = 0

    def compose_decision(self) -> Iterable[Widget]:
        yield Input()

    def on_over(self) -> None:
        self.overs += 1


@asynccontextmanager
async def shown() -> AsyncIterator[tuple[HostApp, Plain, Pilot[None], list[ApprovalInfo | None]]]:
    """A host, the dialog on it, and what it has answered."""
    app, dialog, answers = HostApp(), Plain(), []  # type: ignore[var-annotated]
    async with app.run_test(size=(100, 30)) as pilot:
        app.push_screen(dialog, answers.append)
        await pilot.pause()
        yield app, dialog, pilot, answers


async def answer(of: ApprovalInfo | CodedError, gate: asyncio.Event | None = None) -> ApprovalInfo:
    if gate is not None:
        await gate.wait()
    if isinstance(of, CodedError):
        raise of
    return of


async def test_it_shows_the_call_and_the_time_that_is_left() -> None:
    async with shown() as (app, dialog, pilot, _):
        assert 'pay.send(to: "alice\\u202e")  box' in screen_text(app)
        assert "! 0:42 left" in screen_text(app)
        dialog.tell(A, now=apr(deadline_s=35).deadline_at)
        await pilot.pause()
        assert "‼ 0:07 left" in screen_text(app)


async def test_it_answers_with_what_the_hub_has_decided() -> None:
    async with shown() as (_, dialog, pilot, answers):
        dialog.send(answer(decided(A)))
        await pilot.pause()
        assert answers == [decided(A)]


async def test_it_answers_nothing_when_it_is_left() -> None:
    async with shown() as (_, _dialog, pilot, answers):
        await pilot.press("escape")
        await pilot.pause()
        assert answers == [None]


async def test_it_ends_with_who_was_first_and_stays_until_it_is_closed() -> None:
    async with shown() as (app, dialog, pilot, answers):
        conflict = Conflict("all of it", state="denied", decided_by="tok_1", decided_by_name="ann\x1b")
        dialog.send(answer(conflict))
        await pilot.pause()
        assert (dialog.is_over, dialog.overs, answers) == (True, 1, [])
        assert r"Nothing was decided here: denied already by ann\x1b" in screen_text(app)
        assert "✗ too late" in screen_text(app)
        dialog.tell(A, now=NOW)
        assert dialog.overs == 1
        await pilot.press("escape")
        await pilot.pause()
        assert answers == [None]


@pytest.mark.parametrize("error", [BadRequest("the reason is too long"), LinkLost("the link broke")])
async def test_a_refusal_is_told_and_it_goes_on(error: CodedError) -> None:
    async with shown() as (app, dialog, pilot, answers):
        dialog.send(answer(error))
        await pilot.pause()
        assert error.message in screen_text(app)
        assert (dialog.is_over, dialog.is_sending, answers) == (False, False, [])


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (decided(A, "denied", reason="no"), "Nothing was decided here: ✗ denied by ann, 0s ago: no"),
        (decided(A, "expired", by="hub"), "Nothing was decided here: ◌ expired, refused, 0s ago"),
        (None, "Nothing was decided here: it does not wait any more"),
    ],
)
async def test_it_ends_when_the_call_does_not_wait_any_more(told: ApprovalInfo | None, expected: str) -> None:
    async with shown() as (app, dialog, pilot, _):
        dialog.tell(told, now=NOW)
        await pilot.pause()
        assert dialog.is_over
        assert expected in screen_text(app)


async def test_what_the_hub_tells_everybody_does_not_come_before_its_answer() -> None:
    async with shown() as (_, dialog, pilot, answers):
        gate = asyncio.Event()
        dialog.send(answer(decided(A), gate))
        await pilot.pause()
        dialog.tell(decided(A), now=NOW)
        assert not dialog.is_over
        gate.set()
        await pilot.pause()
        assert answers == [decided(A)]


async def test_before_it_is_on_the_screen_nothing_can_be_told() -> None:
    dialog = Plain()
    dialog.tell(decided(A), now=NOW)
    assert not dialog.is_over
