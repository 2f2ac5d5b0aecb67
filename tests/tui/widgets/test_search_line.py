"""The line in which is typed what to find in a console."""

from __future__ import annotations

from cloche_tui.widgets.search_line import SearchLine
from tests.tui.support import HostApp


async def _asked(*keys: str, text: str = "old") -> tuple[list[str], bool]:
    """What was wanted, and whether the line is still there."""
    line = SearchLine()
    host = HostApp(line)
    host.listens_to = (SearchLine.Wanted,)
    async with host.run_test() as pilot:
        assert not line.display
        line.ask(text)
        await pilot.press(*keys)
        await pilot.pause()
        return [
            message.text for message in host.heard if isinstance(message, SearchLine.Wanted)
        ], line.display


async def test_what_is_typed_is_wanted_in_the_place_of_what_was_before() -> None:
    assert await _asked("n", "e", "w", "enter") == (["new"], False)


async def test_leaving_wants_nothing() -> None:
    assert await _asked("x", "escape") == ([""], False)


async def test_it_is_there_until_it_is_answered() -> None:
    assert await _asked("x") == ([], True)
