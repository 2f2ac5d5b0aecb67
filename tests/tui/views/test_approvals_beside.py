"""The inbox in the whole dashboard: beside a console that somebody types into, and while calls arrive."""

from __future__ import annotations

from pathlib import Path

from textual import events

from cloche_tui.views.approvals import ApprovalsView
from cloche_wire.aio import Channel
from tests.support.callbacks import answering, result_of
from tests.tui.whole import Whole, whole_dashboard


def ask(desk: Whole) -> Channel:
    """A program in the sandbox calls, and somebody has to decide."""
    return desk.hub.machine.agent.callback("pay.send", {"amount": 3})


def rest(desk: Whole) -> None:
    """A minute passes in which nothing is pressed; then the clock stands still."""
    view = desk.app.query_one(ApprovalsView)
    now = view._clock() + 60
    view._clock = lambda: now


async def test_a_call_is_approved_with_one_key_and_the_badge_goes(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path, sandboxes=("box",)) as desk, answering(desk.hub, "*"):
        call = ask(desk)
        await desk.until("2 Approvals ●1")
        await desk.press("2")
        await desk.until("pay.send({", '"amount": 3')
        rest(desk)
        await desk.press("a")
        assert await result_of(call) == {"amount": 3}
        await desk.until("✓ approved")
        assert "●1" not in desk.text


async def test_nothing_that_is_typed_into_a_console_beside_the_inbox_decides(tmp_path: Path) -> None:
    async with (
        whole_dashboard(tmp_path, sandboxes=("box",), size=(160, 40)) as desk,
        answering(desk.hub, "*"),
        desk.hub.client() as other,
    ):
        await other.call("console.create", sandbox="box", rows=24, cols=80)
        ask(desk)
        await desk.press("2")
        await desk.until("pay.send({")
        await desk.press("o")
        await desk.until_so(lambda: desk.app.consoles.has_focus_within, "no console has the focus")
        await desk.until("enter drives")
        rest(desk)
        await desk.press("enter")
        await desk.until_so(lambda: desk.app.chosen().is_driving, "nobody drives")
        for _ in range(1000):
            await desk.press(*"ade")
            if "adeade" in desk.text:
                break
        await desk.until("adeade")
        await desk.press("ctrl+right_square_bracket", *"aaaa", "escape")
        await desk.until_so(lambda: not desk.app.consoles.has_focus_within, "the console has the focus still")
        await desk.press(*"aaaa")
        await desk.until("nothing was decided: ")
        assert desk.app.world.inbox.waiting == 1


async def test_a_key_pressed_again_and_again_while_a_call_comes_up_decides_nothing(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path, sandboxes=("box",)) as desk, answering(desk.hub, "*"):
        await desk.press("2")
        await desk.until("Nothing waits for a decision.")
        rest(desk)
        ask(desk)
        for _ in range(1000):
            await desk.press("a")
            if "nothing was decided: it has only just come up" in desk.text:
                break
        await desk.press(*"aaaaaaaa")
        await desk.until("nothing was decided: it has only just come up")
        assert desk.app.world.inbox.waiting == 1


async def test_a_key_that_has_waited_does_not_decide_what_came_up_meanwhile(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path, sandboxes=("box",)) as desk, answering(desk.hub, "*"):
        await desk.press("2")
        await desk.until("Nothing waits for a decision.")
        call = ask(desk)
        await desk.until("pay.send({")
        rest(desk)
        key = events.Key("a", "a")
        key.time -= 3600
        assert desk.app._driver is not None
        desk.app._driver.send_message(key)
        await desk.until("nothing was decided: it has only just come up")
        assert desk.app.world.inbox.waiting == 1
        await desk.press("a")
        assert await result_of(call) == {"amount": 3}
