"""One approval in full, as it changes before one's eyes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from cloche_tui.model.roles import Role
from cloche_tui.widgets.call_detail import CallDetail
from tests.support.approvals import NOW, apr, decided
from tests.tui.support import HostApp, screen_text

LONG = apr(1, params={"a": "x" * 300, "b": "y" * 300})


@asynccontextmanager
async def detail() -> AsyncIterator[tuple[HostApp, CallDetail, Pilot[None]]]:
    one = CallDetail()
    app = HostApp(one)
    async with app.run_test(size=(100, 24)) as pilot:
        app.screen.set_focus(None)
        yield app, one, pilot


async def test_it_shows_who_asks_and_the_call() -> None:
    async with detail() as (app, one, pilot):
        one.show(apr(1, params={"amount": 3}), now=NOW)
        await pilot.pause()
        assert [line.strip() for line in screen_text(app).split("\n")[:9]] == [
            "from     box of alice team=ml",
            "program  python3 (pid 7, uid 1000), as the guest says",
            "held by  by hand: money leaves by hand",
            "asked    3s ago",
            "decide   ◷ 1:00 left, then it is denied",
            "",
            "pay.send({",
            '"amount": 3',
            "})",
        ]


async def test_what_does_not_fit_goes_on_under_what_it_belongs_to() -> None:
    one = CallDetail()
    app = HostApp(one)
    async with app.run_test(size=(40, 24)) as pilot:
        one.show(apr(1, rule_reason="whoever pays has a look"), now=NOW)
        await pilot.pause()
        shown = screen_text(app).split("\n")
        assert [line.rstrip() for line in shown[3:5]] == [
            " held by  by hand: whoever pays has a",
            "          look",
        ]
        await pilot.resize_terminal(100, 24)
        await pilot.pause()
        assert "whoever pays has a look" in screen_text(app)


async def test_nothing_is_shown_of_none() -> None:
    async with detail() as (app, one, pilot):
        one.show(LONG, now=NOW)
        one.show(None, now=NOW)
        await pilot.pause()
        assert screen_text(app).strip() == ""


async def test_a_line_is_told_until_another_call_is_shown() -> None:
    async with detail() as (app, one, pilot):
        one.show(LONG, now=NOW)
        one.tell("nothing was\ndecided \x1b", Role.WARNING)
        one.show(decided(LONG), now=NOW)
        await pilot.pause()
        assert r"nothing was decided \x1b" in screen_text(app)
        one.show(apr(2), now=NOW)
        await pilot.pause()
        assert "nothing was" not in screen_text(app)


async def test_what_is_unfolded_stays_so_for_each_call_until_it_is_forgotten() -> None:
    async with detail() as (app, one, pilot):

        async def folded() -> int:
            one.show(apr(2), now=NOW)
            one.show(LONG, now=NOW)
            await pilot.pause()
            return screen_text(app).count("enter unfolds")

        assert await folded() == 2
        one.fold_next()
        one.fold_next()
        assert await folded() == 0
        one.forget(lambda approval_id: approval_id == LONG.id)
        assert await folded() == 0
        one.forget(lambda _: False)
        assert await folded() == 2


async def test_where_nothing_is_folded_it_goes_to_the_call() -> None:
    async with detail() as (_, one, pilot):
        one.show(apr(1), now=NOW)
        one.fold_next()
        await pilot.pause()
        assert one.call.has_focus


async def test_a_click_unfolds() -> None:
    async with detail() as (app, one, pilot):
        one.show(LONG, now=NOW)
        await pilot.pause()
        await pilot.click(one.call, offset=(4, 1))
        await pilot.pause()
        assert screen_text(app).count("enter unfolds") == 1


async def test_what_an_edit_changed_stands_below_the_call() -> None:
    async with detail() as (app, one, pilot):
        one.show(decided(apr(1), "edited", diff=("--- asked", "+++ approved", "-\x9b1", "+2")), now=NOW)
        await pilot.pause()
        lines = [line.strip() for line in screen_text(app).split("\n")]
        assert lines[lines.index("What was changed before it was approved") + 1 :][:2] == [r"-\u009b1", "+2"]


async def test_parameters_that_are_not_here_are_told_by_their_size() -> None:
    async with detail() as (app, one, pilot):
        one.show(apr(1, has_params=False, params_bytes=5000), now=NOW)
        await pilot.pause()
        assert "pay.send(4.9 KiB of JSON, digest" in screen_text(app)
