"""A call is seen in full, decided once, and never by a key that was meant for something else."""

from __future__ import annotations

import pytest

from cloche.filters import parse_filter
from cloche_tui.model.chosen import Chosen
from cloche_tui.model.roles import Role
from cloche_tui.widgets.strip_table import StripTable
from tests.support.approvals import apr, decided
from tests.tui.desk import Desk

A, B, C = (
    apr(number, method=f"call.{number}", params={"n": number}, deadline_s=10 * number) for number in (1, 2, 3)
)


# What is seen.


async def test_an_empty_inbox_says_what_comes_up_there() -> None:
    desk = Desk()
    async with desk.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "Nothing waits for a decision." in desk.text
        assert desk.view.chosen() == Chosen()


@pytest.mark.parametrize("size", [(80, 22), (120, 30)])
async def test_a_call_is_seen_with_who_asks_why_it_is_held_and_until_when(size: tuple[int, int]) -> None:
    desk = Desk(apr(1, params={"to": "alice\u202e", "amount": 3}, deadline_s=42))
    async with desk.run_test(size=size) as pilot:
        await pilot.pause()
        for text in (
            "! 0:42",
            "box of alice team=ml",
            "python3 (pid 7, uid 1000), as the guest says",
            "by hand: money leaves by hand",
            "then it is denied",
            "pay.send({",
            '"amount": 3,',
            r'"to": "alice\u202e"',
        ):
            assert text in desk.text
        assert desk.view.chosen() == Chosen(("sb_0001",), ("box",), sandbox="sb_0001", approval="apr_0001")


async def test_the_time_that_is_left_goes_down() -> None:
    desk = Desk(apr(1, deadline_s=42))
    async with desk.run_test(size=(80, 22)) as pilot:
        desk.world.now = apr(1, deadline_s=35).deadline_at
        desk.show()
        await pilot.pause()
        assert "‼ 0:07 left" in desk.text


async def test_what_waits_stands_above_what_is_decided() -> None:
    desk = Desk(C, A, decided(B))
    async with desk.run_test(size=(120, 22)) as pilot:
        await pilot.pause()
        rows = [line.split()[0:2] for line in desk.text.splitlines()[1:4]]
        assert rows == [["‼", "0:10"], ["!", "0:30"], ["✓", "approved"]]


async def test_a_filter_shows_what_matches_and_counts() -> None:
    desk = Desk(A, B, C)
    async with desk.run_test(size=(120, 22)) as pilot:
        assert desk.view.set_filter(parse_filter("method=call.2")) == (1, 3)
        await pilot.pause()
        assert "call.2(n: 2)" in desk.text
        assert "call.1" not in desk.text
        assert desk.view.set_filter(parse_filter("nothing")) == (0, 3)
        await pilot.pause()
        assert "No call matches /nothing" in desk.text
        assert desk.text.count("esc takes it away") == 2
        assert desk.view.set_filter(None) == (3, 3)


@pytest.mark.parametrize("size", [(80, 22), (120, 22)])
async def test_what_waits_and_is_hidden_by_a_filter_is_counted(size: tuple[int, int]) -> None:
    desk = Desk(A, decided(B), C)
    async with desk.run_test(size=size) as pilot:
        assert "hidden by" not in desk.text
        desk.view.set_filter(parse_filter("method=call.1"))
        await pilot.pause()
        assert (
            desk.text.splitlines()[0].strip() == "1 waiting call hidden by /method=call.1  esc takes it away"
        )
        await desk.tell(pilot, apr(4, method="call.4"))
        assert "2 waiting calls hidden by /method=call.1" in desk.text
        desk.view.set_filter(parse_filter("method=call.*"))
        await pilot.pause()
        assert "hidden by" not in desk.text


async def test_what_is_folded_is_unfolded_by_enter_and_stays_so() -> None:
    long = apr(1, params={"a": "x" * 300, "b": "y" * 300}, deadline_s=5)
    desk = Desk(long, B)
    async with desk.run_test(size=(160, 30)) as pilot:
        await pilot.press("enter")
        await pilot.pause()
        assert "enter unfolds" in desk.text
        assert desk.text.count("300 B, enter unfolds") == 1
        await pilot.press("enter")
        await pilot.pause()
        assert "enter unfolds" not in desk.text
        await pilot.press("j", "k")
        await pilot.pause()
        assert "enter unfolds" not in desk.text


async def test_the_call_can_be_gone_to_and_scrolled() -> None:
    desk = Desk(apr(1, params=list(range(40))))
    async with desk.run_test(size=(120, 20)) as pilot:
        await pilot.press("J", "J")
        await pilot.pause()
        assert "pay.send" not in "\n".join(line[55:] for line in desk.text.splitlines())
        await pilot.press("K", "K", "right", "end")
        await pilot.pause()
        assert "  39" in desk.text
        await pilot.press("left")
        assert desk.focused is not None
        assert desk.focused.id == "inbox"


async def test_the_console_of_the_sandbox_that_asks_is_opened() -> None:
    desk = Desk(A)
    async with desk.run_test(size=(120, 20)) as pilot:
        await pilot.press("o")
        await pilot.pause()
        assert desk.opened == [("sb_0001", None)]


async def test_who_else_decided_is_told_in_its_place() -> None:
    desk = Desk(A, B)
    async with desk.run_test(size=(120, 22)) as pilot:
        await desk.tell(pilot, decided(A, reason="go on"))
        assert desk.selected == A.id
        assert "✓ approved by ann, 0s ago: go on" in desk.text


async def test_what_an_edit_changed_is_shown() -> None:
    edited = decided(A, "edited", diff=("--- asked", "+++ approved", '-  "n": 1', '+  "n": 0'))
    desk = Desk(edited)
    async with desk.run_test(size=(120, 22)) as pilot:
        await pilot.pause()
        assert "What was changed before it was approved" in desk.text
        assert '-  "n": 1' in desk.text
        assert "--- asked" not in desk.text


# What is not this view's.


async def test_an_action_of_another_view_is_left_to_it() -> None:
    desk = Desk()
    async with desk.run_test(size=(80, 22)):
        assert not await desk.view.run("sandbox.destroy", "")


async def test_a_hidden_view_paints_nothing() -> None:
    desk = Desk()
    async with desk.run_test(size=(80, 22)) as pilot:
        desk.view.display = False
        await desk.tell(pilot, A)
        assert desk.selected == A.id
        assert desk.view.query_one(StripTable).selected_key is None
        desk.view.display = True
        desk.show("all")
        await pilot.pause()
        assert "call.1(n: 1)" in desk.text


# Keys that decide nothing. Without a hub: were one of them to decide, it would fail.


async def test_keys_typed_into_a_console_decide_nothing() -> None:
    desk = Desk(A)
    async with desk.run_test(size=(80, 22)) as pilot:
        await desk.rest(pilot)
        desk.elsewhere.focus()
        await pilot.press("a", "d", "e", "enter", "a")
        await pilot.pause()
        assert desk.elsewhere.typed == ["a", "d", "e", "enter", "a"]
        assert desk.asked == []
        assert desk.said == []


async def test_a_key_that_was_still_meant_for_the_console_decides_nothing() -> None:
    desk = Desk(A)
    async with desk.run_test(size=(80, 22)) as pilot:
        desk.elsewhere.focus()
        await desk.rest(pilot)
        desk.view.focus_main()
        await pilot.press("a")
        await pilot.pause()
        assert "nothing was decided: you have only just come here" in desk.text


async def test_a_call_that_comes_up_while_a_key_is_pressed_again_and_again_is_not_decided() -> None:
    desk = Desk()
    async with desk.run_test(size=(80, 22)) as pilot:
        await desk.rest(pilot)
        for number in range(20):
            await pilot.press("a")
            if number == 3:
                await desk.tell(pilot, A)
            await desk.rest(pilot, 0.3)
        assert "nothing was decided: it has only just come up" in desk.text
        assert desk.said == []


async def test_a_key_behind_a_dialog_that_closes_decides_nothing() -> None:
    desk = Desk(A)
    async with desk.run_test(size=(80, 30)) as pilot:
        await desk.rest(pilot)
        await pilot.press("d")
        await pilot.pause()
        await desk.rest(pilot)
        await pilot.press("escape")
        await pilot.pause()
        await pilot.press("a")
        await pilot.pause()
        assert "nothing was decided: you were typing elsewhere" in desk.text


async def test_a_call_that_is_decided_already_is_not_decided_again() -> None:
    desk = Desk(decided(A))
    async with desk.run_test(size=(80, 22)) as pilot:
        await desk.rest(pilot)
        await pilot.press("a")
        await pilot.pause()
        assert "nothing was decided: this call does not wait any more" in desk.text


@pytest.mark.parametrize(
    ("named", "said"),
    [("apr_9", "no call is called 'apr_9' here"), ("apr_", "several calls are called 'apr_' here")],
)
async def test_a_call_that_is_named_wrongly_is_not_decided(named: str, said: str) -> None:
    desk = Desk(A, B)
    async with desk.run_test(size=(80, 22)):
        await desk._run("approval.approve", named)
        assert desk.said == [(said, Role.BAD)]
