"""The view of sandboxes: what is shown follows the hub, what is chosen follows the person, and nothing else does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot

from cloche import Event
from cloche.errors import BadRequest
from cloche.filters import parse_filter
from cloche_tui.dialogs.confirm import Confirm
from cloche_tui.messages import ChoiceChanged, RunAction
from cloche_tui.model.chosen import Chosen
from cloche_tui.model.link import Connecting
from cloche_tui.model.roles import Role
from cloche_tui.model.world import World
from cloche_tui.remembered import Remembered
from cloche_tui.views.sandboxes import SandboxesView
from cloche_tui.views.view import ALL, TICK
from tests.support.approvals import apr
from tests.tui.consoles import console, viewer
from tests.tui.sandbox_values import NOW, has_changed, is_gone, is_now, sandbox, usage
from tests.tui.support import HostApp, screen_text


class Screen:
    """The view on a screen, with a world that a test tells things."""

    def __init__(self, names: tuple[str, ...], remembered: Remembered, *, is_readonly: bool) -> None:
        self.world = World(Connecting(), now=NOW)
        self.view = SandboxesView(id="sandboxes", pace_s=0)
        self.app = HostApp(self.view, world=self.world, remembered=remembered, is_readonly=is_readonly)
        self.app.listens_to = (RunAction, ChoiceChanged)
        self.pilot: Pilot[None]
        self.world.begin()
        self.world.apply([*(is_now(sandbox(name)) for name in names), Event("current_end", None, None)])

    async def tell(self, *events: Event) -> None:
        """The hub has told something."""
        self.view.show(self.world, self.world.apply(events))
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        """Presses keys, one after the other."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def run(self, action: str, argument: str = "") -> None:
        """Has the view do an action of its own."""
        assert await self.view.run(action, argument)
        await self.pilot.pause()

    @property
    def lines(self) -> list[str]:
        """What is on the screen."""
        return screen_text(self.app).splitlines()

    @property
    def names(self) -> list[str]:
        """The names in the table, from above."""
        known = {row.info.name for row in self.world.fleet.rows()}
        words = (line.lstrip("✓ ").split() for line in self.lines[1:20])
        return [row[2] for row in words if len(row) > 2 and row[2] in known]


@asynccontextmanager
async def _shown(
    *names: str,
    size: tuple[int, int] = (100, 24),
    remembered: Remembered | None = None,
    is_readonly: bool = False,
) -> AsyncIterator[Screen]:
    screen = Screen(names, remembered or Remembered(Path("/dev/null/nowhere")), is_readonly=is_readonly)
    async with screen.app.run_test(size=size) as screen.pilot:
        screen.view.show(screen.world, ALL)
        screen.view.focus_main()
        await screen.pilot.pause()
        yield screen


# What is shown.


async def test_sandboxes_stand_in_a_table_with_the_first_one_selected() -> None:
    async with _shown("b", "a") as screen:
        assert screen.names == ["a", "b"]
        assert screen.view.chosen() == Chosen(("sb_a",), ("a",), "sb_a")
        assert screen.lines[0].split()[:2] == ["State", "Name"]


async def test_what_changes_is_on_the_screen() -> None:
    async with _shown("a") as screen:
        await screen.tell(has_changed(sandbox("a", state="failed", end_reason="out of memory")))
        assert "✗ failed" in screen.lines[1]
        assert "✗ failed: out of memory" in screen.lines[-1]
        await screen.tell(is_gone(sandbox("a")))
        assert "There are no sandboxes." in "\n".join(screen.lines)


async def test_who_looks_and_what_waits_is_in_the_table() -> None:
    async with _shown("a", "b") as screen:
        await screen.tell(
            Event("console", "changed", console(sandbox="sb_a", viewers=(viewer(1, "bob"),), driver="v1")),
            Event("approval", "changed", apr(1, sandbox="sb_b")),
        )
        assert "1 ▶ bob" in screen.lines[1]
        assert "⚑ 1" in screen.lines[2]
        screen.view.show_asks({"sb_a": ["eve"]})
        await screen.pilot.pause()
        assert "? eve" in screen.lines[1]


async def test_ages_go_on_with_the_time() -> None:
    async with _shown("a") as screen:
        assert " 3m " in screen.lines[1]
        screen.world.now = NOW + timedelta(minutes=4)
        screen.view.show(screen.world, TICK)
        await screen.pilot.pause()
        assert " 7m " in screen.lines[1]


async def test_costs_are_shown_at_their_pace_and_everything_else_at_once() -> None:
    async with _shown("a") as screen:
        screen.view._pace_s = 3600
        await screen.tell(has_changed(usage("sb_a", 37)))
        await screen.tell(has_changed(usage("sb_a", 38)))
        assert "%" not in screen.lines[1]
        await screen.tell(has_changed(sandbox("b")))
        assert "38%" in screen.lines[1]


async def test_costs_that_were_told_too_soon_are_shown_a_moment_later() -> None:
    async with _shown("a") as screen:
        screen.view._pace_s = 0.1
        screen.view.show(screen.world, TICK)
        await screen.tell(has_changed(usage("sb_a", 37)))
        for _ in range(200):
            if "37%" in screen.lines[1]:
                break
            await screen.pilot.pause(0.01)
        assert "37%" in screen.lines[1]


@pytest.mark.parametrize(("is_readonly", "says"), [(False, True), (True, False)])
async def test_an_empty_table_says_what_to_do(is_readonly: bool, says: bool) -> None:
    async with _shown(is_readonly=is_readonly) as screen:
        shown = "\n".join(screen.lines)
        assert ("n makes one here" in shown) is says
        assert "cloche create makes one from a shell" in shown
        assert screen.view.chosen() == Chosen()


async def test_before_the_hub_has_told_anything_it_says_so() -> None:
    async with _shown() as screen:
        screen.world = World(Connecting(), now=NOW)
        screen.view.show(screen.world, ALL)
        await screen.pilot.pause()
        assert "Waiting for the hub" in "\n".join(screen.lines)


async def test_before_there_is_a_world_nothing_is_chosen() -> None:
    view = SandboxesView()
    async with HostApp(view, remembered=Remembered(Path("/dev/null/nowhere"))).run_test() as pilot:
        await pilot.pause()
        view.show_asks({"sb_a": ["eve"]})
        assert view.chosen() == Chosen()
        assert view.set_filter(None) == (0, 0)


async def test_a_filter_shows_what_matches_and_says_so_where_nothing_does() -> None:
    async with _shown("web1", "web2", "db") as screen:
        assert screen.view.set_filter(parse_filter("web")) == (2, 3)
        await screen.pilot.pause()
        assert screen.names == ["web1", "web2"]
        assert screen.view.set_filter(parse_filter("nothing")) == (0, 3)
        await screen.pilot.pause()
        assert "No sandbox matches /nothing" in "\n".join(screen.lines)
        assert screen.view.chosen().sandbox is None


@pytest.mark.parametrize(("size", "lines"), [((100, 40), 6), ((100, 24), 1), ((100, 8), 0), ((60, 40), 6)])
async def test_the_detail_takes_what_room_there_is(size: tuple[int, int], lines: int) -> None:
    async with _shown("a", size=size) as screen:
        assert screen.view._table.size.height == size[1] - lines
        assert ("id sb_a" in "\n".join(screen.lines)) is (lines > 0)


# What a person does.


async def test_keys_go_from_one_to_the_next_and_the_choice_is_told() -> None:
    async with _shown("a", "b", "c") as screen:
        screen.app.heard.clear()
        await screen.press("down", "j")
        assert screen.view.chosen().sandbox == "sb_c"
        assert "c  ● running" in screen.lines[-1]
        assert len(screen.app.heard) == 2


async def test_the_selection_stays_with_its_sandbox_while_others_come_and_go() -> None:
    async with _shown("b", "c") as screen:
        await screen.press("down")
        await screen.tell(has_changed(sandbox("a")), is_gone(sandbox("b")))
        assert screen.names == ["a", "c"]
        assert screen.view.chosen().sandbox == "sb_c"


async def test_marks_are_set_and_the_next_one_is_selected() -> None:
    async with _shown("a", "b", "c") as screen:
        await screen.run("sandbox.mark")
        await screen.run("sandbox.mark")
        assert screen.view.chosen() == Chosen(("sb_a", "sb_b"), ("a", "b"), "sb_c")
        assert [line[0] for line in screen.lines[1:4]] == ["✓", "✓", " "]
        assert "✓ 2 marked" in "\n".join(screen.lines)
        screen.view.set_filter(parse_filter("name=b"))
        await screen.pilot.pause()
        assert "✓ 2 marked, 1 of them hidden by the filter" in "\n".join(screen.lines)
        await screen.run("sandbox.clear_marks")
        assert "marked" not in "\n".join(screen.lines)
        await screen.run("sandbox.mark_all")
        assert screen.view.chosen().sandboxes == ("sb_b",)


async def test_nothing_is_marked_where_there_is_nothing() -> None:
    async with _shown() as screen:
        await screen.run("sandbox.mark")
        assert screen.view.chosen() == Chosen()


async def test_a_click_selects_and_one_on_the_mark_marks() -> None:
    async with _shown("a", "b") as screen:
        await screen.pilot.click("#sandboxes-table", offset=(20, 2))
        await screen.pilot.pause()
        assert screen.view.chosen() == Chosen(("sb_b",), ("b",), "sb_b")
        await screen.pilot.click("#sandboxes-table", offset=(0, 1))
        await screen.pilot.pause()
        assert screen.view.chosen().sandboxes == ("sb_a",)


async def test_a_double_click_opens_the_console() -> None:
    async with _shown("a", "b") as screen:
        await screen.pilot.click("#sandboxes-table", offset=(20, 2), times=2)
        await screen.pilot.pause()
        wanted = [message for message in screen.app.heard if isinstance(message, RunAction)]
        assert [message.id for message in wanted] == ["console.open"]
        assert screen.view.chosen().sandbox == "sb_b"


async def test_sorting_goes_from_column_to_column_or_by_name() -> None:
    async with _shown("a", "b") as screen:
        await screen.tell(has_changed(sandbox("b", state="failed")))
        await screen.run("table.sort")
        assert screen.names == ["b", "a"]
        assert "State ▲" in screen.lines[0]
        await screen.run("table.reverse")
        assert "State ▼" in screen.lines[0]
        await screen.run("table.sort", "cpu")
        assert "CPU ▼" in screen.lines[0]
        with pytest.raises(BadRequest, match="no column 'colour' to sort by; there are: name, state"):
            await screen.view.run("table.sort", "colour")


async def test_sorting_goes_round_the_columns_that_are_on_the_screen() -> None:
    async with _shown("a", size=(60, 24)) as screen:
        seen = []
        for _ in range(7):
            await screen.run("table.sort")
            seen.append(screen.world.fleet.sort[0])
        assert seen == ["state", "waits", "cpu", "memory", "lease", "name", "state"]


async def test_a_click_on_a_heading_sorts_and_a_second_one_turns_it_round() -> None:
    async with _shown("a", "b") as screen:
        at = screen.lines[0].index("CPU")
        for heading in ("CPU ▼", "CPU ▲"):
            await screen.pilot.click("#sandboxes-table", offset=(at, 0))
            await screen.pilot.pause()
            assert heading in screen.lines[0]
        await screen.pilot.click("#sandboxes-table", offset=(0, 0))
        await screen.pilot.pause()
        assert "CPU ▲" in screen.lines[0]


async def test_the_order_is_remembered(tmp_path: Path) -> None:
    remembered = Remembered(tmp_path / "kept")
    async with _shown("a", "b", remembered=remembered) as screen:
        await screen.run("table.sort", "age")
        await screen.run("table.reverse")
    remembered.flush()
    async with _shown("a", "b", remembered=Remembered(tmp_path / "kept")) as screen:
        assert screen.world.fleet.sort == ("age", True)
        assert "Age ▼" in screen.lines[0]


async def test_an_order_that_is_none_any_more_is_forgotten(tmp_path: Path) -> None:
    remembered = Remembered(tmp_path / "kept")
    remembered.set("sandboxes.sort", "colour")
    async with _shown("a", remembered=remembered) as screen:
        assert screen.world.fleet.sort == ("name", False)
    remembered.flush()


async def test_the_table_can_be_held_still_and_says_what_it_misses() -> None:
    async with _shown("b") as screen:
        await screen.run("table.freeze")
        await screen.tell(has_changed(sandbox("a")), has_changed(sandbox("b", state="failed")))
        assert screen.names == ["b"]
        assert "● running" in screen.lines[1]
        assert "standing still, 1 new" in "\n".join(screen.lines)
        await screen.tell(is_gone(sandbox("b")))
        assert "○ gone" in screen.lines[1]
        assert screen.view.chosen() == Chosen()
        await screen.run("table.freeze")
        assert screen.names == ["a"]


async def test_an_action_that_is_none_of_its_own_is_left_to_others() -> None:
    async with _shown("a") as screen:
        assert not await screen.view.run("console.open", "")


# What would end something.


async def test_one_that_took_the_place_of_what_went_is_not_destroyed_by_the_key_that_was_meant_for_that() -> (
    None
):
    async with _shown("a", "b", "c") as screen:
        await screen.press("down")
        await screen.tell(is_gone(sandbox("b")))
        await screen.run("sandbox.destroy")
        assert screen.app.said == [
            ("what was selected is gone; now it is c: once more destroys that", Role.WARNING)
        ]
        assert screen.app.asked == []
        screen.app.answers.append(None)
        await screen.run("sandbox.destroy")
        [dialog] = screen.app.asked
        assert isinstance(dialog, Confirm)
        assert dialog.heading == "Destroy c?"


async def test_moving_after_it_went_is_a_choice() -> None:
    async with _shown("a", "b", "c") as screen:
        await screen.tell(is_gone(sandbox("a")))
        await screen.press("down")
        screen.app.answers.append(None)
        await screen.run("sandbox.destroy")
        assert [dialog.heading for dialog in screen.app.asked if isinstance(dialog, Confirm)] == [
            "Destroy c?"
        ]


async def test_one_that_is_named_is_destroyed_whatever_is_selected() -> None:
    async with _shown("a", "b") as screen:
        screen.app.answers.append(None)
        await screen.run("sandbox.destroy", "b")
        assert [dialog.heading for dialog in screen.app.asked if isinstance(dialog, Confirm)] == [
            "Destroy b?"
        ]
        with pytest.raises(BadRequest, match="there is no sandbox 'x'"):
            await screen.view.run("sandbox.destroy", "x")
