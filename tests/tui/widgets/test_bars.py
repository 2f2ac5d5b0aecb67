"""The lines that are typed into: commands with their completion and history, filters as they are typed."""

from __future__ import annotations

from collections.abc import Sequence

from cloche_tui.model.commands import History, complete
from cloche_tui.model.roles import Role
from cloche_tui.widgets.bars import CommandBar, FilterBar
from tests.tui.support import HostApp, screen_text

COMMANDS = ("create", "destroy", "detail", "theme")


def _complete(text: str) -> Sequence[str]:
    return complete(text, COMMANDS, ("cloche-dark", "cloche-light"))


def _typed(host: HostApp) -> list[str]:
    return [message.line for message in host.heard if isinstance(message, CommandBar.Typed)]


async def test_a_command_is_typed_completed_and_done() -> None:
    bar = CommandBar(History(), _complete)
    host = HostApp(bar)
    host.listens_to = (CommandBar.Typed,)
    async with host.run_test(size=(60, 4)) as pilot:
        bar.open()
        await pilot.press("d", "e")
        await pilot.pause()
        assert screen_text(host).splitlines()[0].split() == [":de", "destroy", "detail"]
        await pilot.press("t", "tab", "enter")
        await pilot.pause()
    assert _typed(host) == ["detail"]


async def test_an_argument_is_completed_behind_its_command() -> None:
    bar = CommandBar(History(), _complete)
    host = HostApp(bar)
    host.listens_to = (CommandBar.Typed,)
    async with host.run_test(size=(60, 4)) as pilot:
        bar.open("theme ")
        await pilot.press("l", "i", "tab", "enter")
        await pilot.pause()
    assert _typed(host) == ["theme cloche-light"]


async def test_nothing_typed_or_escape_or_backspace_on_nothing_leaves() -> None:
    bar = CommandBar(History(), _complete)
    host = HostApp(bar)
    host.listens_to = (CommandBar.Typed, CommandBar.Left)
    async with host.run_test(size=(60, 4)) as pilot:
        bar.open()
        await pilot.press("enter", "escape", "backspace")
        await pilot.pause()
    assert [type(message) for message in host.heard] == [CommandBar.Left] * 3


async def test_the_arrows_walk_through_what_was_typed_before() -> None:
    bar = CommandBar(History(("create a", "destroy b")), _complete)
    host = HostApp(bar)
    async with host.run_test(size=(60, 4)) as pilot:
        bar.open()
        await pilot.press("up", "up")
        assert bar.line.value == "create a"
        await pilot.press("down")
        assert bar.line.value == "destroy b"


async def test_a_filter_is_told_with_every_letter_and_kept_by_enter() -> None:
    bar = FilterBar(History())
    host = HostApp(bar)
    host.listens_to = (FilterBar.Changed, FilterBar.Left)
    async with host.run_test(size=(60, 4)) as pilot:
        bar.open()
        await pilot.press("w", "e", "enter")
        await pilot.pause()
    texts = [message.text for message in host.heard if isinstance(message, FilterBar.Changed)]
    assert texts == ["w", "we"]
    assert [message.is_kept for message in host.heard if isinstance(message, FilterBar.Left)] == [True]
    assert bar.line.history.lines == ("we",)


async def test_escape_takes_a_filter_away() -> None:
    bar = FilterBar(History())
    host = HostApp(bar)
    host.listens_to = (FilterBar.Left,)
    async with host.run_test(size=(60, 4)) as pilot:
        bar.open("web")
        await pilot.press("escape")
        await pilot.pause()
    assert [message.is_kept for message in host.heard if isinstance(message, FilterBar.Left)] == [False]


async def test_a_line_that_is_wrong_stays_until_it_is_right_or_given_up() -> None:
    bar = FilterBar(History())
    async with HostApp(bar).run_test(size=(60, 4)):
        bar.open("re:(")
        bar.tell("that is no expression", Role.BAD)
        assert not bar.gives_way(FilterBar.Left(is_kept=True))
        assert bar.display
        assert bar.gives_way(FilterBar.Left(is_kept=False))
        bar.open("re:x")
        bar.tell("1/2")
        assert bar.gives_way(FilterBar.Left(is_kept=True))
        assert not bar.display


async def test_what_stands_at_the_right_does_nothing_to_the_terminal() -> None:
    bar = FilterBar(History())
    host = HostApp(bar)
    async with host.run_test(size=(60, 4)) as pilot:
        bar.open()
        bar.tell("/\x1b[2J/ is no expression")
        await pilot.pause()
        assert r"/\x1b[2J/ is no expression" in screen_text(host)


async def test_what_there_is_no_room_for_at_the_right_ends_with_an_ellipsis() -> None:
    bar = FilterBar(History())
    host = HostApp(bar)
    async with host.run_test(size=(40, 4)) as pilot:
        bar.open("stat=x")
        bar.tell("there is no field stat; there are: label, actor and many more", Role.BAD)
        await pilot.pause()
        assert screen_text(host).splitlines()[0] == "/stat=x      there is no field stat; th…"
        bar.tell("there is no such field", Role.BAD)
        await pilot.pause()
        assert screen_text(host).splitlines()[0].endswith("there is no such field")
