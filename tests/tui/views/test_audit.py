"""The audit is followed, read, filtered, left for where it happened, and written to a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche.filters import parse_filter
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.store.offline import verify_file
from cloche_tui.model.chosen import Chosen
from cloche_tui.model.roles import Role
from cloche_tui.model.trail import row_of
from cloche_tui.views.view import ALL
from cloche_tui.widgets.strip_table import StripTable
from tests.tui.trail_values import event, part
from tests.tui.views.audit_desk import audit_desk

MANY = 5000


async def test_the_newest_is_shown_and_what_comes_is_followed(tmp_path: Path) -> None:
    async with audit_desk(tmp_path, events=MANY) as desk:
        head = desk.hub.store.audit.head.seq
        await desk.until(lambda: desk.view.chosen().event == head)
        assert desk.rows == list(range(head - 17, head + 1))
        assert desk.last_line == f"{head:,} events · following"
        await desk.note(3)
        await desk.until(lambda: head + 3 in desk.rows)
        assert desk.view.chosen().event == head + 3


async def test_rows_that_come_late_stop_no_following(tmp_path: Path) -> None:
    async with audit_desk(tmp_path) as desk:
        await desk.until(lambda: desk.view.chosen().event == desk.hub.store.audit.head.seq)
        # More happens while the row of what was the newest is still on its way.
        for _ in range(20):
            await desk.note()
            await desk.pilot.pause(0.02)
        await desk.until(lambda: desk.view.chosen().event == desk.hub.store.audit.head.seq)
        assert desk.last_line.endswith("following")


async def test_who_scrolls_away_stands_still_and_is_told_how_many_have_come(tmp_path: Path) -> None:
    async with audit_desk(tmp_path, events=MANY) as desk:
        head = desk.hub.store.audit.head.seq
        await desk.until(lambda: desk.view.chosen().event == head)
        await desk.press("pageup", "pageup")
        await desk.until(lambda: desk.last_line.endswith("standing still") and len(desk.rows) == 18)
        before = desk.rows
        assert before[-1] < head
        await desk.note(132)
        await desk.until(lambda: desk.last_line.endswith("+132 new"))
        assert desk.rows == before
        await desk.press("F")
        await desk.until(lambda: head + 132 in desk.rows)
        assert desk.last_line.endswith("following")


async def test_who_goes_to_the_newest_follows_again(tmp_path: Path) -> None:
    async with audit_desk(tmp_path, events=MANY) as desk:
        head = desk.hub.store.audit.head.seq
        await desk.until(lambda: desk.view.chosen().event == head)
        await desk.press("up", "up")
        await desk.until(lambda: desk.last_line.endswith("standing still"))
        await desk.press("end")
        await desk.until(lambda: desk.last_line.endswith("following"))
        await desk.press("F")
        await desk.until(lambda: desk.last_line.endswith("standing still"))


async def test_a_wheel_turned_away_stops_the_following_too(tmp_path: Path) -> None:
    async with audit_desk(tmp_path, events=MANY) as desk:
        head = desk.hub.store.audit.head.seq
        await desk.until(lambda: desk.view.chosen().event == head)
        desk.view.query_one("#trail").scroll_relative(y=-100, animate=False)
        await desk.until(lambda: desk.last_line.endswith("standing still"))
        await desk.until(lambda: len(desk.rows) == 18)
        assert desk.rows[0] == head - 117


async def test_a_window_of_another_height_still_follows(tmp_path: Path) -> None:
    async with audit_desk(tmp_path, events=MANY) as desk:
        head = desk.hub.store.audit.head.seq
        await desk.until(lambda: desk.view.chosen().event == head)
        for height in (40, 12, 30):
            await desk.pilot.resize_terminal(100, height)
            await desk.until(lambda: len(desk.rows) == height - 2 and desk.rows[-1] == head)  # noqa: B023
            assert desk.last_line.endswith("following")


async def test_one_row_up_stands_still_on_that_event(tmp_path: Path) -> None:
    async with audit_desk(tmp_path, events=MANY) as desk:
        head = desk.hub.store.audit.head.seq
        await desk.until(lambda: desk.view.chosen().event == head)
        await desk.press("up")
        await desk.note(50)
        await desk.until(lambda: desk.last_line.endswith("+50 new"))
        assert desk.view.chosen().event == head - 1
        assert head - 1 in desk.rows


async def test_the_first_of_many_events_is_a_key_away(tmp_path: Path) -> None:
    async with audit_desk(tmp_path, events=MANY) as desk:
        await desk.until(lambda: desk.view.chosen().event == desk.hub.store.audit.head.seq)
        await desk.press("home")
        await desk.until(lambda: desk.rows[:1] == [1])
        assert desk.view.chosen() == Chosen(("sb_1",), ("sb_1",), sandbox="sb_1", event=1)


async def test_a_filter_leaves_what_is_wanted_and_says_how_much_that_is(tmp_path: Path) -> None:
    async with audit_desk(tmp_path, events=MANY) as desk:
        head = desk.hub.store.audit.head.seq
        await desk.until(lambda: desk.view.chosen().event == desk.hub.store.audit.head.seq)
        desk.filter("event=exec.failed")
        await desk.until(lambda: desk.last_line == f"50 of {head:,} events · following")
        await desk.until(lambda: desk.rows == list(range(MANY - 1700, MANY + 1, 100)))
        desk.filter("nowhere")
        await desk.until(lambda: "No event matches /nowhere" in desk.text)
        assert "esc takes it away" in desk.text
        desk.filter("")
        await desk.until(lambda: desk.last_line == f"{head:,} events · following")


async def test_what_is_read_stays_where_it_is_while_older_events_are_found(tmp_path: Path) -> None:
    async with audit_desk(tmp_path) as desk:
        desk.filter("nowhere")
        await desk.until(lambda: "No event matches" in desk.text)
        trail = desk.view.trail
        trail.put(row_of(event(number), {}) for number in range(1, 1001))
        trail.add(part(901, 1000, *range(901, 1001), head=1000))
        desk.view.show(desk.world, ALL)
        await desk.until(lambda: desk.rows == list(range(983, 1001)))
        await desk.press("pageup", "pageup")
        await desk.until(lambda: desk.rows == list(range(966, 984)))
        for first in (801, 601, 1):
            trail.add(part(first, first + 99, *range(first, first + 100), head=1000))
            desk.view.show(desk.world, ALL)
            await desk.pilot.pause(0.1)
            assert desk.rows == list(range(966, 984))
        desk.view.query_one("#trail").scroll_relative(y=-30, animate=False)
        await desk.until(lambda: desk.rows == list(range(936, 954)))


@pytest.mark.parametrize("is_followed", [True, False])
async def test_an_event_is_gone_to_also_where_older_ones_are_found_before_its_row_is_here(
    tmp_path: Path, is_followed: bool
) -> None:
    async with audit_desk(tmp_path) as desk:
        desk.filter("nowhere")
        await desk.until(lambda: "No event matches" in desk.text)
        trail, wanted = desk.view.trail, 1000 if is_followed else 970
        trail.put(row_of(event(number), {}) for number in range(1, 1001) if number != wanted)
        trail.add(part(951, 1000, *range(951, 1001), head=1000))
        desk.view._update()
        if not is_followed:
            desk.view.query_one(StripTable).go_to(trail.index_of(wanted) or 0)
        trail.add(part(901, 920, *range(901, 921), head=1000))
        trail.put([row_of(event(wanted), {})])
        desk.view._update()
        assert desk.view.chosen().event == wanted
        assert trail.is_followed is is_followed
        await desk.until(lambda: wanted in desk.rows)


@pytest.mark.parametrize("size", [(80, 30), (160, 30)])
async def test_an_event_is_shown_in_full_and_hidden_again(tmp_path: Path, size: tuple[int, int]) -> None:
    async with audit_desk(tmp_path, events=MANY, size=size) as desk:
        await desk.until(lambda: desk.view.chosen().event == desk.hub.store.audit.head.seq)
        await desk.press("up", "up", "up", "enter")
        await desk.until(lambda: f"event    {MANY:,}" in desk.text)
        assert "hash     " in desk.text
        assert "follows  " in desk.text
        assert f'"argv": ["print", "{MANY}"]' in desk.text
        assert "standing still" in desk.last_line
        await desk.press("up")
        await desk.until(lambda: f"event    {MANY - 1:,}" in desk.text)
        await desk.press("enter")
        assert "follows" not in desk.text


async def test_the_newest_event_stands_still_while_it_is_read(tmp_path: Path) -> None:
    async with audit_desk(tmp_path, events=100) as desk:
        head = desk.hub.store.audit.head.seq
        await desk.until(lambda: desk.view.chosen().event == head)
        await desk.press("enter")
        await desk.note(2)
        await desk.until(lambda: desk.last_line.endswith("+2 new"))
        assert desk.view.chosen().event == head


async def test_an_event_that_cannot_be_had_says_why(tmp_path: Path) -> None:
    async with audit_desk(tmp_path, events=50) as desk:
        head = desk.hub.store.audit.head.seq
        await desk.until(lambda: desk.view.chosen().event == head)
        await desk.press("up", "enter")
        await desk.until(lambda: f"event    {head - 1}" in desk.text)
        async with desk.hub.client() as client:
            await client.call("hub.stop")
        await desk.until(lambda: not desk.session.is_up)
        await desk.press("up")
        await desk.until(lambda: "connection to the hub was lost" in desk.text)


async def test_what_the_filter_hides_is_not_chosen(tmp_path: Path) -> None:
    async with audit_desk(tmp_path, events=MANY) as desk:
        await desk.until(lambda: desk.view.chosen().event == desk.hub.store.audit.head.seq)
        await desk.press("up", "up")
        await desk.until(lambda: desk.last_line.endswith("standing still"))
        desk.filter("event=exec.failed")
        await desk.until(lambda: desk.last_line.startswith("50 of"))
        await desk.press("g", "enter")
        await desk.until(lambda: desk.said == [("select an event first", Role.BAD)])
        assert desk.view.chosen() == Chosen()
        await desk.press("down")
        await desk.until(lambda: desk.view.chosen().event is not None)


async def test_a_long_detail_unfolds_in_place(tmp_path: Path) -> None:
    async with audit_desk(tmp_path) as desk, desk.hub.client() as client:
        await client.create(name="box", labels={f"label-{number}": "x" * 60 for number in range(50)})
        created = desk.hub.store.audit.head.seq - 1
        await desk.until(lambda: desk.view.chosen().event == created + 1)
        await desk.press("up", "enter", "right", "end")
        await desk.until(lambda: desk.view.chosen().event == created and "enter unfolds" in desk.text)
        await desk.press(*["up"] * 5, "enter")
        await desk.until(lambda: '"label-0"' in desk.text)
        await desk.press("left", "enter")
        assert "label-0" not in desk.text


async def test_the_way_leads_to_the_console_or_to_the_sandbox(tmp_path: Path) -> None:
    async with audit_desk(tmp_path) as desk, desk.hub.client() as client:
        await client.create(name="another")
        made = await client.create(name="box")
        console = await client.call("console.create", sandbox="box", argv=["sleep", "9"], rows=24, cols=80)
        await desk.until(lambda: "console.opened" in desk.text and desk.world.fleet.get(made["id"]))
        await desk.until(lambda: console["id"] in desk.world.consoles)
        await desk.until(lambda: desk.view.chosen().event == desk.hub.store.audit.head.seq)
        await desk.press("g")
        await desk.until(lambda: desk.opened == [(made["id"], console["id"])])
        await desk.press("up", "g")
        await desk.until(lambda: desk.actions == [("view.sandboxes", "")])
        assert desk.world.fleet.selected == made["id"]
        desk.world.fleet.set_filter(parse_filter("nothing"))
        await desk.press("g")
        await desk.until(
            lambda: desk.said == [("box is hidden by the filter of the sandboxes", Role.WARNING)]
        )


async def test_there_is_no_way_to_what_is_gone_or_was_never_a_sandboxs(tmp_path: Path) -> None:
    async with audit_desk(tmp_path) as desk, desk.hub.client() as client:
        box = (await client.create(name="box"))["id"]
        await desk.until(lambda: desk.world.fleet.get(box) is not None)
        await client.call("sandbox.remove", sandbox="box")
        await desk.until(lambda: "sandbox.removed" in desk.text and desk.world.fleet.get(box) is None)
        await desk.press("g")
        await desk.until(lambda: desk.said)
        assert desk.said[0][0].startswith("box is not there any more")
        await desk.press("home", "g")
        await desk.until(lambda: len(desk.said) > 1)
        assert desk.said[1] == ("this event is about no sandbox", Role.BAD)


async def test_the_audit_is_written_to_a_file_with_its_progress(tmp_path: Path) -> None:
    target = tmp_path / "audit.jsonl"
    async with audit_desk(tmp_path) as desk:
        await desk.note(3000)
        head = desk.hub.store.audit.head.seq
        await desk.until(lambda: desk.view.chosen().event == head)
        exporting = desk.run_worker(desk.view.run("audit.export", str(target)))
        await desk.until(lambda: "exporting" in desk.last_line)
        await exporting.wait()
        assert desk.said == [(f"wrote {target}: {head:,} events, verified by the hub", Role.GOOD)]
        assert "exporting" not in desk.last_line
        assert verify_file(target).events == head


async def test_what_cannot_be_exported_says_why(tmp_path: Path) -> None:
    async with audit_desk(tmp_path, events=3) as desk:
        await desk.until(lambda: desk.rows)
        await desk.press("ctrl+e")
        await desk.until(lambda: desk.said)
        assert "broken" in desk.said[0][0]
        assert "exporting" not in desk.last_line


async def test_an_owner_sees_the_events_of_its_own_sandboxes(tmp_path: Path) -> None:
    async with audit_desk(tmp_path, events=2000, owner="alice") as desk, desk.hub.client() as admin:
        await desk.until(lambda: "Nothing has happened yet." in desk.text)
        await admin.create(name="theirs")
        async with desk.hub.client(await desk.hub.mint("alice")) as alice:
            await alice.create(name="mine")
        await desk.until(lambda: "sandbox.started" in desk.text)
        assert "mine" in desk.text
        assert "theirs" not in desk.text
        assert desk.last_line.startswith("2 of 2,00")


async def test_an_unknown_action_is_somebody_elses(tmp_path: Path) -> None:
    async with audit_desk(tmp_path) as desk:
        assert not await desk.view.run("table.sort", "")


async def test_a_failure_stands_out_by_its_word(tmp_path: Path) -> None:
    async with audit_desk(tmp_path) as desk:
        await desk.note(1, AuditName.EXEC_FAILED)
        await desk.until(lambda: "exec.failed" in desk.text)
