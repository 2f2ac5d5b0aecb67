"""A call is denied with a reason that somebody has typed or looked at, and not by a key alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from textual.pilot import Pilot
from textual.widgets import Input

from cloche import ApprovalInfo
from cloche.errors import BadRequest
from cloche_tui.dialogs.deny import DenyDialog
from cloche_tui.model.reasons import MAX_REASON
from tests.support.approvals import NOW, apr, decided
from tests.tui.support import HostApp, screen_text

A = apr(1)


class Asked:
    """The dialog on a host, what it asked the hub, and its answer."""

    def __init__(self, reasons: Sequence[str]) -> None:
        self.app, self.denied = HostApp(), list[str]()
        self.answers: list[ApprovalInfo | None] = []
        self.refusal: BadRequest | None = None
        self.dialog = DenyDialog(A, self.deny, reasons=reasons, now=NOW)

    async def deny(self, reason: str) -> ApprovalInfo:
        self.denied.append(reason)
        if self.refusal is not None:
            raise self.refusal
        return decided(A, "denied", reason=reason)

    @property
    def text(self) -> str:
        return screen_text(self.app)


@asynccontextmanager
async def asked(*reasons: str) -> AsyncIterator[tuple[Asked, Pilot[None]]]:
    one = Asked(reasons)
    async with one.app.run_test(size=(100, 30)) as pilot:
        one.app.push_screen(one.dialog, one.answers.append)
        await pilot.pause()
        yield one, pilot


async def press(pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


async def test_it_denies_with_what_was_typed() -> None:
    async with asked() as (one, pilot):
        await press(pilot, *" not now ", "enter")
        assert one.denied == ["not now"]
        assert [answer and answer.reason for answer in one.answers] == ["not now"]


async def test_without_a_reason_nothing_is_denied() -> None:
    async with asked() as (one, pilot):
        await press(pilot, "enter", "space", "enter")
        assert one.denied == []
        assert "a denial needs a reason: the program that asked gets it, and the audit" in one.text


async def test_an_earlier_reason_is_taken_to_be_looked_at_and_changed() -> None:
    async with asked("too much", "not on a Sunday") as (one, pilot):
        await press(pilot, "down", "down", "enter")
        assert one.denied == []
        assert one.dialog.query_one(Input).value == "not on a Sunday"
        await press(pilot, "!", "enter")
        assert one.denied == ["not on a Sunday!"]


async def test_without_earlier_reasons_there_is_no_list_to_go_to() -> None:
    async with asked() as (one, pilot):
        await press(pilot, "down", *"no", "enter")
        assert one.denied == ["no"]


async def test_hostile_reasons_do_nothing_but_show() -> None:
    async with asked("[red]a\x1b[2Jb") as (one, _):
        assert r"[red]a\x1b[2Jb" in one.text


async def test_a_reason_is_no_longer_than_a_hub_takes() -> None:
    async with asked() as (one, _):
        field = one.dialog.query_one(Input)
        assert field.max_length == MAX_REASON


async def test_a_refusal_leaves_what_was_typed() -> None:
    async with asked() as (one, pilot):
        one.refusal = BadRequest("say it otherwise")
        await press(pilot, *"no", "enter")
        assert "say it otherwise" in one.text
        one.refusal = None
        await press(pilot, "t", "enter")
        assert one.denied == ["no", "not"]


async def test_once_it_is_decided_elsewhere_enter_denies_nothing() -> None:
    async with asked("too much") as (one, pilot):
        await press(pilot, *"no")
        one.dialog.tell(decided(A), now=NOW)
        await press(pilot, "x", "enter", "down", "enter", "enter")
        assert one.denied == []
        assert one.dialog.query_one(Input).value in ("no", "too much")
        await press(pilot, "escape")
        assert one.answers == [None]
