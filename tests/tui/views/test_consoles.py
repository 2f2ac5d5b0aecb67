"""The consoles beside a view: opened, laid out, gone through, searched, saved, ended; on a real hub on fakes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cloche import Event
from cloche.errors import BadRequest, NotFound
from cloche_term.apart.terminals import Terminals
from cloche_tui.model.chosen import Chosen
from cloche_tui.model.link import Connecting
from cloche_tui.model.world import World
from cloche_tui.views.view import ALL, TICK
from cloche_tui.widgets import console_pane
from cloche_tui.widgets.console_pane import ConsolePane
from cloche_tui.widgets.terminal_view import TerminalView
from tests.support.hub import until
from tests.tui.feed.console_links import dashboard, shell
from tests.tui.views.console_bench import Bench, console_bench, own_bench


@pytest.fixture
async def bench(tmp_path: Path, terminals: Terminals) -> AsyncIterator[Bench]:
    async with own_bench(tmp_path, terminals, *"abc") as bench:
        yield bench


# Opening.


async def test_without_a_console_the_area_takes_no_room_and_says_what_to_do(bench: Bench) -> None:
    assert not bench.area.display
    assert bench.area.chosen() == Chosen()
    for action in ("drive", "full", "hide", "search", "save", "layout"):
        with pytest.raises((NotFound, BadRequest), match=r"enter on a sandbox opens one|save where"):
            await bench.run(action, "x" if action == "save" else "")
    assert not await bench.area.run("sandbox.create", "")


async def test_opening_watches_the_newest_console_and_goes_there(bench: Bench) -> None:
    bench.host.world.fleet.select(bench.sandbox("b"))
    await bench.run("open")
    await bench.until_seen("THE LIST", "○ watching", "b/1")
    assert bench.focused == "b"
    assert bench.area.chosen() == Chosen(
        sandboxes=(bench.sandbox("b"),), names=("b",), sandbox=bench.sandbox("b"),
        console=bench.infos["b"].id, console_label="b/1", is_driving=False,
        words={"console.ask": "", "console.take": ""},
    )  # fmt: skip
    await bench.run("open", "c")
    await bench.until_seen("c/1")
    assert bench.seen == "c"
    with pytest.raises(NotFound, match="no sandbox 'zebra'"):
        await bench.run("open", "zebra")


async def test_the_sandboxes_that_are_marked_are_opened_side_by_side(bench: Bench) -> None:
    fleet = bench.host.world.fleet
    fleet.select(bench.sandbox("c"))
    await bench.run("open", "b")
    await bench.run("leave")
    fleet.mark(bench.sandbox("a"))
    await bench.run("open")
    # One mark is no wish for several: what is selected is opened.
    assert bench.seen == "c"
    await bench.run("leave")
    fleet.mark(bench.sandbox("b"))
    await bench.run("open")
    assert (bench.seen, bench.focused) == ("a b", "a")
    await bench.run("leave")
    fleet.mark(bench.sandbox("c"))
    await bench.run("open")
    assert (bench.seen, bench.focused) == ("a b c", "a")
    # From within a pane it is about that pane's sandbox.
    await bench.run("open", "b")
    assert bench.focused == "b"


async def test_nothing_is_meant_where_nothing_is_selected(bench: Bench) -> None:
    bench.host.world = World(Connecting(), now=datetime.now(UTC))
    with pytest.raises(NotFound, match="select a sandbox first"):
        await bench.run("open")


async def test_a_sandbox_without_a_console_of_its_own_shows_what_its_machine_says(bench: Bench) -> None:
    await (await bench.client.sandbox("a")).close_console("1")
    await bench.tell_of_consoles()
    bench.open("a")
    await bench.until_seen("a/boot", "what the machine says: enter opens a shell")


async def test_a_console_that_comes_later_is_shown_where_there_was_none(bench: Bench) -> None:
    for info in bench.host.world.consoles.of(bench.sandbox("a")):
        bench.host.world.consoles.apply(Event("console", "gone", info))
    bench.open("a")
    await bench.until_seen("· no console")
    await bench.tell_of_consoles()
    await bench.until_seen("a/1", "○ watching")


async def test_a_new_shell_is_opened_and_driven(bench: Bench) -> None:
    bench.host.world.fleet.select(bench.sandbox("a"))
    await bench.run("new")
    await bench.until_seen("▶ DRIVING", "a/2")
    await bench.run("new", "b")
    await bench.until_seen("b/2")
    # What is driven makes no room, but it is let go by who goes elsewhere.
    assert [bench.infos["a"].id] != [pane.console for pane in bench.host.query(ConsolePane)]


async def test_the_consoles_of_a_sandbox_are_gone_through(bench: Bench) -> None:
    await shell(bench.client, "a")
    await bench.tell_of_consoles()
    bench.open("a")
    await bench.until_seen("a/2")
    await bench.run("next")
    await bench.until_seen("a/boot")
    await bench.run("next")
    await bench.until_seen("a/1")
    await bench.run("boot")
    await bench.until_seen("a/boot")


async def test_where_there_is_no_other_console_that_is_said(bench: Bench) -> None:
    boots = [one for one in bench.host.world.consoles.values() if one.kind == "boot"]
    for boot in boots:
        bench.host.world.consoles.apply(Event("console", "gone", boot))
    bench.open("a")
    with pytest.raises(NotFound, match="no other console"):
        await bench.run("next")
    with pytest.raises(NotFound, match="says nothing any more"):
        await bench.run("boot")


async def test_a_console_is_gone_to_by_its_id(bench: Bench) -> None:
    await bench.run("open", "a")
    await bench.run("layout", "split")
    bench.open("b")
    await until(lambda: bench.focused == "b")
    assert bench.area.focus_pane(bench.infos["a"].id)
    await until(lambda: bench.focused == "a")
    assert not bench.area.focus_pane("con_nowhere")


# Layouts.


async def test_layouts_show_one_two_or_four_and_the_list_where_there_is_room(bench: Bench) -> None:
    bench.open("a")
    await bench.run("layout", "grid")
    bench.open("b", "c")
    await bench.until_seen("a/1", "b/1", "c/1")
    assert (bench.seen, "THE LIST" in bench.screen) == ("a b c", False)
    await bench.run("layout")
    await bench.until_seen("THE LIST", "c/1")
    assert bench.seen == "c"
    await bench.run("layout")
    assert bench.seen == "c"
    await bench.run("previous_pane")
    await bench.run("full")
    await until(lambda: "THE LIST" not in bench.screen)
    await bench.run("full")
    await bench.until_seen("THE LIST")
    with pytest.raises(BadRequest, match="beside, split, grid, full"):
        await bench.run("layout", "huge")


async def test_a_layout_with_room_for_more_than_there_is_says_so(bench: Bench) -> None:
    bench.open("a")
    await bench.run("layout")
    said = "room for 2, but one console is open: c, or enter on a sandbox, adds one"
    assert bench.host.said[-1][0] == said
    bench.open("b")
    await bench.run("layout")
    assert [text for text, _ in bench.host.said] == [said]


async def test_a_layout_that_covers_the_list_takes_the_focus_from_it(bench: Bench) -> None:
    bench.open("a")
    await until(lambda: bench.focused == "a")
    bench.host.the_list.focus()
    await until(lambda: bench.focused == "list")
    await bench.run("layout", "split")
    assert bench.focused == "list"
    await bench.run("layout", "grid")
    await until(lambda: bench.focused == "a")


async def test_the_focus_goes_around_and_back_to_the_list(bench: Bench) -> None:
    bench.open("a")
    await bench.run("layout", "split")
    bench.open("b")
    await until(lambda: bench.focused == "b")
    stops = []
    for _ in range(3):
        await bench.run("next_pane")
        await bench.pilot.pause()
        stops.append(bench.focused)
    assert stops == ["list", "a", "b"]
    await bench.run("layout", "grid")
    await bench.run("leave")
    await until(lambda: bench.focused == "list")
    assert "THE LIST" in bench.screen
    await bench.run("previous_pane")
    await until(lambda: bench.focused == "b")
    assert bench.host.heard


async def test_without_a_pane_the_focus_stays_on_the_list(bench: Bench) -> None:
    await bench.run("next_pane")
    assert bench.focused == "list"


async def test_a_pane_is_put_away_and_the_console_goes_on(bench: Bench) -> None:
    bench.open("a")
    await bench.run("layout", "split")
    bench.open("b")
    await bench.until_seen("b/1")
    await bench.run("hide")
    await until(lambda: (bench.seen, bench.focused) == ("a", "a"))
    await bench.run("hide")
    await until(lambda: bench.focused == "list")
    assert not bench.area.display
    open_ones = [one for one in await bench.client.consoles() if one.kind == "pty"]
    assert len(open_ones) == 3


async def test_what_was_shown_is_found_again(bench: Bench, tmp_path: Path, terminals: Terminals) -> None:
    bench.open("a")
    await bench.run("layout", "split")
    bench.open("b")
    await bench.until_seen("a/1", "b/1")
    bench.host.remembered.flush()
    await (await bench.client.sandbox("b")).close_console("1")
    async with (
        dashboard(bench.hub, terminals) as desk,
        console_bench(bench.hub, bench.client, desk, terminals, tmp_path, "a", "b") as later,
    ):
        # The one that has ended is not shown, but the newest of its sandbox.
        await later.until_seen("THE LIST", "a/1", "b/1", "○ watching")
        panes = [pane.console for pane in later.host.query(ConsolePane)]
        assert panes == [bench.infos["a"].id, later.infos["b"].id]
        assert (later.seen, later.focused) == ("a b", "list")
        later.area.show(later.host.world, ALL)
        assert later.seen == "a b"


async def test_what_somebody_has_opened_already_is_not_replaced_by_what_is_remembered(bench: Bench) -> None:
    bench.area._is_restored = False
    bench.open("a")
    bench.area.show(bench.host.world, ALL)
    assert bench.seen == "a"


# What is done with a console.


async def test_a_console_is_driven_asked_for_taken_and_given_through_actions(bench: Bench) -> None:
    bench.open("a")
    await bench.until_seen("○ watching")
    await bench.run("give")
    await bench.until_seen("nobody asks you to drive")
    async with (await bench.client.sandbox("a")).attach("1") as other:
        await bench.until_seen("first admin drives")
        await bench.run("drive")
        await bench.until_seen("first admin drives: ask, or take over")
        await bench.run("ask")
        await bench.until_seen("asked first admin to let you drive")
        await bench.run("take")
        await bench.until_seen("▶ DRIVING")
        assert bench.area.chosen().is_driving
        await other.take()
        await until(lambda: not bench.area.chosen().is_driving)


async def test_a_text_is_found_in_what_was_shown(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_pane, "QUIET_S", 0.0)
    bench.open("a")
    async with (await bench.client.sandbox("a")).attach("1") as other:
        await other.write("needle\r\n" * 3)
        await bench.until_seen("needle")
        await bench.run("search", "needle")
        assert bench.host.said[-1][0] == "3 times: n and N go from one to the next"
        await bench.run("search_next")
        await bench.run("search_previous")
        await bench.run("search", "haystack")
        assert bench.host.said[-1][0] == "not found: haystack"
        await bench.run("search")
        await bench.pilot.press(*"dle", "enter")
        await until(lambda: bench.host.said[-1][0].startswith("3 times"))
        await until(lambda: bench.focused == "a")
        await bench.run("search")
        await bench.pilot.press("escape")
        await until(lambda: bench.focused == "a")
        pane = bench.host.query_one(ConsolePane)
        assert pane.view.matches is None
        await bench.run("to_end")


async def test_a_text_that_is_there_once_is_not_said_to_be_there_several_times(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.run("open", "a")
    await bench.until_seen("a/1")

    async def once(_self: TerminalView, text: str) -> int:
        return len(text)

    monkeypatch.setattr(TerminalView, "search", once)
    await bench.run("search", "x")
    assert bench.host.said[-1][0] == "found once"


async def test_what_was_shown_is_copied_and_saved(bench: Bench, tmp_path: Path) -> None:
    bench.open("a")
    async with (await bench.client.sandbox("a")).attach("1") as other:
        await other.write("one\r\ntwo")
        await bench.until_seen("two")
    await bench.run("copy")
    await bench.until_seen("copied")
    path = tmp_path / "shown.txt"
    await bench.run("save", str(path))
    assert (path.read_text(), bench.host.said[-1][0]) == ("one\ntwo\n", f"saved 2 lines to {path}")


async def test_the_keys_below_a_console_are_the_person_s_own(bench: Bench) -> None:
    bench.host.keys = {"console.drive": ("ctrl+e", "enter"), "console.take": ()}
    bench.open("a")
    await bench.until_seen("nobody drives: ctrl+e drives")
    async with (await bench.client.sandbox("a")).attach("1"):
        await bench.until_seen("first admin drives: a asks, :take takes over")


# What comes from elsewhere.


async def test_where_a_machine_has_ended_no_shell_is_offered_any_more(bench: Bench) -> None:
    bench.host.world.fleet.select(bench.sandbox("a"))
    await bench.run("boot")
    await bench.until_seen("a/boot")
    assert bench.area.chosen().words["console.drive"] == "new shell"
    info = (await bench.client.sandbox("a")).info
    bench.host.world.apply([Event("sandbox", "changed", replace(info, state="failed"))])
    bench.area.show(bench.host.world, frozenset({"sandbox"}))
    assert bench.area.chosen().words["console.drive"] == ""
    await bench.run("drive")
    await bench.until_seen("its sandbox does not run: x hides it")


async def test_panes_hear_of_the_link_and_of_time(bench: Bench) -> None:
    bench.open("a")
    await bench.until_seen("○ watching")
    bench.area.show(bench.host.world, frozenset({"link"}))
    bench.area.show(bench.host.world, TICK)
    await bench.hub.end()
    bench.area.show(bench.host.world, frozenset({"link"}))
    await bench.until_seen("✗ NOT CONNECTED")
