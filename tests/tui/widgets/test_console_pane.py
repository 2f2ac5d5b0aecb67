"""A console in a pane: on a real hub on fakes, with a real emulator, as a person sees it and types into it."""

from __future__ import annotations

import pytest

from cloche import ConsoleInfo
from cloche_tui.messages import Said
from cloche_tui.model.console_status import Phase
from cloche_tui.widgets import console_pane, pane_notice
from tests.support.hub import until
from tests.tui.feed.console_links import shell
from tests.tui.widgets.pane_bench import WAY_OUT, PaneBench


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_pane, "AGAIN_WITHIN_S", 0.01)


async def test_a_console_is_watched_and_its_edge_says_so(bench: PaneBench, info: ConsoleInfo) -> None:
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching", "box/1", "nobody drives: enter drives")
        assert pane.has_class("-watching")
        assert "╭" in bench.screen
        pane.focus()
        await bench.pilot.press("x")
        assert "x" not in "".join(line.split("│")[1] for line in bench.screen.splitlines() if "│" in line)


async def test_who_drives_sees_it_in_the_border_a_word_and_the_way_out(
    bench: PaneBench, info: ConsoleInfo
) -> None:
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        await bench.drive()
        await bench.until_seen("┏", "ctrl+] leaves")
        assert pane.has_class("-driving")
        await bench.type("hello")
        await bench.until_seen("hello")
        assert bench.hub.machine.agent.sizes == [(11, 78)]


async def test_the_way_out_gives_the_keys_back_and_then_the_wheel(
    bench: PaneBench, info: ConsoleInfo, no_patience: None
) -> None:
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        await bench.drive()
        await bench.pilot.press(WAY_OUT)
        assert not pane.status.has_keys
        await bench.until_seen("○ watching", "nobody drives")
        assert pane.view.has_focus
        await bench.type("no")
        assert not pane.view.is_driving


async def test_the_way_out_twice_at_once_is_typed_and_nothing_is_left(
    bench: PaneBench, info: ConsoleInfo
) -> None:
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        await bench.drive()
        await bench.pilot.press(WAY_OUT, WAY_OUT, "!")
        await bench.until_seen("▶ DRIVING")
        await until(lambda: bench.hub.machine.agent.written == 2)
        assert pane.status.is_driving


async def test_a_wheel_that_is_taken_ends_typing_at_once_and_keys_mean_nothing_for_a_moment(
    bench: PaneBench, info: ConsoleInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        await bench.drive()
        monkeypatch.setattr(console_pane, "QUIET_S", 60.0)
        async with (await bench.client.sandbox("box")).attach(info.id, mode="take"):
            await bench.until_seen("first admin drives now (taken)")
            assert not pane.view.is_driving
            bench.host.heard_keys.clear()
            await bench.type("x")
            assert bench.host.heard_keys == []
            await bench.until_seen("drives now (taken) · keys not taken yet: pause a moment")
            monkeypatch.setattr(console_pane, "QUIET_S", 0.0)
            await bench.type("y")
            await bench.type("z")
            assert bench.host.heard_keys == ["z"]


async def test_that_keys_are_not_taken_is_said_no_longer_than_it_is_so(
    bench: PaneBench, info: ConsoleInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pane_notice, "NOTICE_S", 60.0)
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        pane.focus()
        pane._deaf_until = float("inf")
        await bench.type("x")
        await bench.until_seen("keys not taken yet")
        await bench.drive()
        assert "keys not taken" not in bench.screen


async def test_typing_elsewhere_lets_the_wheel_go(
    bench: PaneBench, info: ConsoleInfo, no_patience: None
) -> None:
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        await bench.drive()
        bench.elsewhere.focus()
        await bench.until_seen("○ watching", "nobody drives")
        await bench.type("x")
        assert bench.elsewhere.value == "x"
        assert pane.status.info is not None


async def test_a_sandbox_without_a_console_offers_a_shell(bench: PaneBench) -> None:
    async with bench.showing(None) as pane:
        assert pane.status.phase is Phase.NONE
        await bench.until_seen("· no console", "enter opens a shell")
        await bench.drive()
        await bench.type("hi")
        await bench.until_seen("hi")
        assert bench.hub.machine.agent.consoles[-1]["cols"] == 78
        assert pane.console == pane.status.info.id  # type: ignore[union-attr]


async def test_a_new_shell_has_the_size_of_its_pane_from_the_beginning(bench: PaneBench) -> None:
    async with bench.showing(None, is_new=True) as pane:
        pane.focus()
        await bench.until_seen("▶ DRIVING")
        assert (bench.hub.machine.agent.consoles[-1]["rows"], bench.hub.machine.agent.sizes) == (11, [])


async def test_what_the_machine_says_is_watched_and_a_shell_offered(bench: PaneBench) -> None:
    (boot,) = await bench.client.consoles(sandbox="box")
    async with bench.showing(boot.id) as pane:
        await bench.until_seen("box/boot", "what the machine says: enter opens a shell")
        await bench.drive()
        assert pane.console != boot.id


async def test_where_the_sandbox_does_not_run_no_shell_is_offered_but_how_to_go_on(
    bench: PaneBench, info: ConsoleInfo
) -> None:
    await (await bench.client.sandbox("box")).remove()
    async with bench.showing(info.id, is_machine_up=False) as pane:
        await bench.until_seen("✗ not shown", "its sandbox is gone · x hides")
        assert "enter" not in bench.screen
        pane.drive()
        await bench.until_seen("its sandbox does not run: x hides it")
        pane.machine_changed(is_up=True)
        pane._notice.clear()
        await bench.until_seen("enter opens another")


async def test_what_is_pressed_before_there_is_a_console_is_answered(bench: PaneBench) -> None:
    async with bench.showing(None) as pane:
        pane.take()
        await bench.until_seen("not yet: there is no console here")


async def test_a_dashboard_that_only_looks_on_offers_nothing(bench: PaneBench) -> None:
    async with bench.showing(None, can_drive=False) as pane:
        await bench.until_seen("nothing runs here")
        assert "enter" not in bench.screen
        pane.drive()
        await bench.until_seen("this dashboard only looks on")


async def test_a_console_that_ends_says_how_and_offers_another(bench: PaneBench, info: ConsoleInfo) -> None:
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        await bench.drive()
        await bench.type("bye")
        await bench.pilot.press("ctrl+d")
        await bench.until_seen("■ ended", "its program has ended with 0 · enter opens another", "bye")
        assert pane.has_class("-over")
        await bench.drive()
        assert pane.console != info.id
        assert "bye" not in bench.screen


async def test_another_console_is_shown_in_the_same_pane(bench: PaneBench, info: ConsoleInfo) -> None:
    other = await shell(bench.client)
    async with bench.showing(info.id) as pane:
        await bench.until_seen("box/1")
        pane.show(other.id)
        await bench.until_seen("box/2")


async def test_a_notice_stands_for_a_moment(
    bench: PaneBench, info: ConsoleInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pane_notice, "NOTICE_S", 0.05)
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        pane.give()
        await bench.until_seen("nobody asks you to drive")
        await bench.until_seen("nobody drives: enter drives")


async def test_what_would_not_be_seen_in_its_pane_is_told_by_the_app(
    bench: PaneBench, info: ConsoleInfo
) -> None:
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        bench.host.listens_to = (Said,)
        pane.display = False
        await until(lambda: not pane.view.is_seen)
        pane.give()
        await bench.pilot.pause()
        assert [message.text for message in bench.host.heard if isinstance(message, Said)] == [
            "box: nobody asks you to drive"
        ]


async def test_who_asks_is_told_with_the_key_that_lets_them(
    bench: PaneBench, info: ConsoleInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pane_notice, "NOTICE_S", 0.1)
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        await bench.drive()
        async with (await bench.client.sandbox("box")).attach(info.id, mode="watch") as other:
            await other.ask()
            await bench.until_seen("first admin asks to drive: ctrl+] g lets them")
            await bench.pilot.press(WAY_OUT)
            pane.give()
            await bench.until_seen("○ watching", "first admin drives: a asks, t takes over")


async def test_lines_that_are_read_stay_and_that_is_said(bench: PaneBench, info: ConsoleInfo) -> None:
    async with bench.showing(info.id) as pane, (await bench.client.sandbox("box")).attach(info.id) as other:
        await other.write("".join(f"{number}\r\n" for number in range(30)))
        await bench.until_seen("29")
        pane.view.scroll_console(-8)
        await bench.until_seen("older lines")
        assert pane._link is not None
        assert pane._link.screen.is_held
        pane.view.scroll_to_newest()
        await until(lambda: "older lines" not in bench.screen)


async def test_a_console_that_cannot_be_reached_is_dim_and_takes_no_keys(
    bench: PaneBench, info: ConsoleInfo
) -> None:
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        await bench.drive()
        await bench.hub.end()
        await bench.until_seen("✗ NOT CONNECTED", "ctrl+] leaves", "no keys until the hub is back")
        assert (pane.has_class("-away"), pane.view.is_driving) == (True, True)
        await bench.type("x")
        await bench.until_seen("not connected: what you type goes nowhere")


async def test_a_pane_that_goes_detaches_and_leaves_nothing_running(
    bench: PaneBench, info: ConsoleInfo
) -> None:
    async with bench.showing(info.id) as pane:
        await until(lambda: pane.view.terminal is not None)
        terminal = pane.view.terminal
        assert terminal is not None
        await pane.remove()
        await until(lambda: terminal.has_ended)
        async with (await bench.client.sandbox("box")).attach(info.id, mode="watch") as other:
            async for _ in other.events():
                if [one.id for one in other.info.viewers] == [other.viewer]:
                    break
