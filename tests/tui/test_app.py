"""The whole dashboard on a hub: what comes in is shown where it belongs, what is pressed does what it says, once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.widgets import Input

from cloche import Event
from cloche_tui.frame import Options
from cloche_tui.messages import ChoiceChanged
from cloche_tui.remembered import Remembered
from cloche_tui.widgets import console_pane
from cloche_tui.widgets.choice import Choice
from cloche_tui.widgets.footer import Footer
from tests.support.approvals import apr
from tests.tui.whole import GUARD_S, whole_dashboard


class Never:
    """What is never done."""

    def cancel(self) -> None:
        """It was not going to happen."""


async def test_the_sandboxes_of_the_hub_are_shown_and_new_ones_come_by_themselves(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path, size=(120, 30)) as desk:
        await desk.client.create(name="newcomer", labels={"team": "blue"})
        await desk.until("newcomer", "team=blue")


async def test_the_footer_has_the_keys_of_the_place_that_has_the_focus(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        assert " n new  ctrl+d destroy" in desk.last_line
        await desk.press("2")
        await desk.until("Nothing waits for a decision.")
        assert "destroy" not in desk.last_line


async def test_what_is_typed_behind_the_slash_filters_with_all_of_its_letters(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.press("/", "b", "o")
        await desk.until("/bo", "1/2")
        assert "web" not in desk.text
        await desk.press("escape")
        await desk.until("web", "n new")


async def test_what_is_typed_behind_a_command_waits_for_it(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.press(*":approvals", "enter", *":help", "enter")
        await desk.until("Show the calls that wait for a decision")
        assert desk.app.view.id == "approvals"


async def test_what_is_typed_behind_a_filter_is_no_part_of_it(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.press(*"/web", "enter", "?")
        await desk.until("Hold the table still")
        await desk.press("x")
        await desk.until_gone("Hold the table still")
        await desk.press(*"/bo", "escape", "2")
        await desk.until("Nothing waits for a decision.")


async def test_letters_typed_fast_land_in_the_fields_of_a_form_in_their_order(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.press("n")
        await desk.until("A new sandbox")
        await desk.press(*"node", "tab", "right", "tab", *"wex", "backspace", *"b", "tab", *"a=1", "tab")
        await desk.press(*"1h", "shift+tab", "end", *" b=2", "tab", "end", *"3m")
        await desk.until_so(lambda: not desk.app._typed_ahead.is_holding, "keys still wait")
        await desk.pilot.pause()
        fields = {field.id: field.value for field in desk.app.screen.query(Input)}
        assert fields == {
            "recipe": "node", "name": "web", "labels": "a=1 b=2", "lease": "1h3m", "env": "", "secrets": "",
        }  # fmt: skip
        assert desk.app.screen.query_one(Choice).value == "medium"
        await desk.press("escape", "3", "1")
        await desk.until("● running  box")


async def test_a_key_behind_one_that_moves_is_about_what_was_moved_to(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.press("down", "ctrl+d")
        await desk.until("Yes, destroy", "web ● running")
        assert "box ● running" not in desk.text


@pytest.mark.parametrize("width", [110, 120])
async def test_beside_a_console_the_list_says_what_a_sandbox_uses(tmp_path: Path, width: int) -> None:
    async with whole_dashboard(tmp_path, size=(width, 30)) as desk:
        await desk.press("enter")
        await desk.until("╭")
        await desk.until_so(
            lambda: desk.text.splitlines()[1].partition("╭")[0].split()[-2:] == ["CPU", "Memory"],
            "what a sandbox uses is not shown",
        )


async def test_a_filter_that_is_wrong_says_why(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.press("/", *"re:(")
        await desk.until("/re:(", "is no expression")
        # Enter keeps no other filter than the one that is typed.
        await desk.press("enter")
        await desk.until("/re:(", "is no expression")
        await desk.press("backspace")
        await desk.press(*"web", "enter")
        await desk.until_so(lambda: desk.last_line.endswith("/re:web"), "the filter is not kept")
        await desk.until_gone("● running  box")


async def test_a_filter_that_is_kept_is_seen_and_remembered(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.press("/", *"web", "enter")
        await desk.until_gone("● running  box")
        assert desk.last_line.endswith("/web")
        desk.app.remembered.flush()
        again = Remembered(tmp_path / "remembered.json")
        assert again.get("sandboxes.filter", "") == "web"
        await desk.press("/", "escape")
        await desk.until("● running  box")
        assert "/web" not in desk.text


async def test_escape_takes_a_kept_filter_away(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.press("/", *"nothing", "enter")
        await desk.until("No sandbox matches /nothing", "esc takes it away")
        await desk.press("escape")
        await desk.until("● running  box")
        await desk.until_so(lambda: "/nothing" not in desk.last_line, "the filter is still told")
        await desk.press("/")
        await desk.until_so(lambda: desk.last_line.startswith("/  "), "the filter is still kept")


async def test_a_filter_that_was_remembered_counts_and_is_seen(tmp_path: Path) -> None:
    remembered = Remembered(tmp_path / "remembered.json", later=lambda _seconds, _action: Never())
    remembered.set("sandboxes.filter", "web")
    remembered.flush()
    async with whole_dashboard(tmp_path, view_text="● running  web") as desk:
        await desk.until("/web")
        assert "● running  box" not in desk.text


async def test_the_slash_brings_the_last_filter_back(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.press("/", *"web", "enter")
        await desk.until_gone("● running  box")
        await desk.press("/")
        await desk.until("/web", "1/2")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("fly", "there is no command 'fly'"),
        ("theme purple", "there is no theme 'purple'"),
        ("take", "this is done where the focus is on: console"),
    ],
)
async def test_a_command_that_cannot_be_done_says_why(tmp_path: Path, typed: str, said: str) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.press(":", *typed, "enter")
        await desk.until(said)


async def test_who_only_looks_on_can_change_nothing(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path, options=Options(is_readonly=True)) as desk:
        assert "read-only" in desk.text
        await desk.press("n")
        await desk.until("started with --readonly")


async def test_a_key_of_ones_own_counts_and_its_old_one_does_not(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path, keymap='[keys]\nview.approvals = "A"\n') as desk:
        await desk.press("2")
        assert "Nothing waits" not in desk.text
        await desk.press("A")
        await desk.until("Nothing waits for a decision.")


async def test_the_heading_has_the_keys_of_ones_own(tmp_path: Path) -> None:
    keymap = '[keys]\nview.approvals = ["f2", "A"]\nview.audit = "L"\nview.files = []\n'
    async with whole_dashboard(tmp_path, keymap=keymap) as desk:
        assert " 1 Sandboxes  f2 Approvals  L Audit  Files " in desk.text.splitlines()[0]


async def test_a_call_that_begins_to_wait_shows_in_the_heading_and_moves_nothing(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        focused, view = desk.app.focused, desk.app.view
        desk.tell(Event("approval", "changed", apr(1)))
        await desk.until("2 Approvals ●1")
        assert (desk.app.focused, desk.app.view) == (focused, view)


async def test_calls_that_a_filter_hides_are_counted_in_the_heading_and_in_the_view(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        desk.tell(Event("approval", "changed", apr(1)), Event("approval", "changed", apr(2)))
        await desk.until("2 Approvals ●2")
        await desk.press("2", "/", *"nothing", "enter")
        await desk.until("2 Approvals ●2", "2 waiting calls hidden by /nothing", "No call matches /nothing")
        await desk.press("escape")
        await desk.until_gone("hidden by")
        assert "2 Approvals ●2" in desk.text


async def test_the_key_that_approves_does_nothing_in_other_places(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        desk.tell(Event("approval", "changed", apr(1)))
        await desk.until("●1")
        await asyncio.sleep(GUARD_S)
        await desk.press("a", "a", "a")
        await desk.pilot.pause()
        assert not desk.app.workers._workers & {
            worker for worker in desk.app.workers if worker.group == "deciding"
        }


async def test_a_key_typed_behind_one_that_asks_decides_nothing(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        desk.tell(Event("approval", "changed", apr(1, method="pay.send")))
        await desk.press("2")
        await desk.until("pay.send")
        await asyncio.sleep(GUARD_S)
        # A reason is typed that begins with the key that approves.
        await desk.press("d", "a")
        await desk.until("Deny")
        assert "nothing is known to be decided" not in desk.text
        assert "asking the hub" not in desk.text


async def test_a_focus_that_still_moves_while_things_are_taken_down_is_nothing_to_anybody(
    tmp_path: Path,
) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.app.query_one(Footer).remove()
        desk.app.on_descendant_focus()
        desk.app.say("the hub is gone")
        desk.app.post_message(ChoiceChanged())
        await desk.pilot.pause()


async def test_a_lost_hub_is_said_above_everything_and_nothing_can_be_changed(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.hub.end()
        await desk.until("connection lost")
        await desk.press("n")
        await desk.until("not connected to the hub")
        assert "box" in desk.text


async def test_what_was_typed_for_a_console_does_nothing_here_when_the_wheel_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with whole_dashboard(tmp_path, size=(120, 30)) as desk:
        await desk.press("c")
        await desk.until("▶ DRIVING")
        box = await desk.client.sandbox("box")
        console = next(one for one in await box.consoles() if one.driver is not None)
        monkeypatch.setattr(console_pane, "QUIET_S", 60.0)
        async with box.attach(console.id, mode="take"):
            await desk.until("drives now (taken)")
            # Hides the pane, takes the wheel back, leaves the program: none of it was meant.
            await desk.press("x", "t", "q")
            assert "first admin drives now (taken)" in desk.text
            assert desk.app.is_running
            monkeypatch.setattr(console_pane, "QUIET_S", 0.0)
            await desk.press("t", "x")
            await desk.until_gone("first admin drives now (taken)")
