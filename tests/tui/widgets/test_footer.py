"""The last line: keys and their words as far as there is room, or a line for the person."""

from __future__ import annotations

from rich.text import Text

from cloche_tui.messages import RunAction
from cloche_tui.widgets.footer import Footer
from tests.tui.support import HostApp, screen_text

HINTS = (("n", "new", "sandbox.create"), ("escape", "back", "console.leave"), ("?", "help", "help.show"))


async def _last_line(width: int, said: Text | None = None) -> str:
    footer = Footer()
    host = HostApp(footer)
    async with host.run_test(size=(width, 3)) as pilot:
        footer.hints = HINTS
        footer.said = said
        await pilot.pause()
        return screen_text(host).splitlines()[0]


async def test_keys_stand_with_their_words() -> None:
    assert await _last_line(60) == " n new  esc back  ? help"


async def test_what_does_not_fit_is_left_out_whole() -> None:
    assert await _last_line(20) == " n new  ? help"


async def test_the_key_of_the_help_is_left_out_last() -> None:
    assert await _last_line(10) == " ? help"
    assert await _last_line(5) == ""


async def test_a_line_for_the_person_takes_their_place() -> None:
    assert await _last_line(60, Text(" saved")) == " saved"


async def test_a_line_that_is_too_long_is_seen_to_go_on() -> None:
    """Cut between two words it would look whole."""
    said = Text(" there are: name, state, waits, cpu, memory", no_wrap=True, overflow="ellipsis")
    assert await _last_line(30, said) == " there are: name, state, wait…"


async def test_a_filter_that_is_kept_stands_at_the_end_whatever_else_there_is_no_room_for() -> None:
    footer = Footer()
    host = HostApp(footer)
    async with host.run_test(size=(30, 3)) as pilot:
        footer.hints, footer.filter = HINTS, "web"
        await pilot.pause()
        line = screen_text(host).splitlines()[0]
        assert (line.split(), len(line)) == (["n", "new", "?", "help", "/web"], 29)
        footer.filter = "a filter that is quite long"
        await pilot.pause()
        line = screen_text(host).splitlines()[0]
        assert (line.split(), len(line)) == (["n", "new", "?", "help", "/a", "filte…"], 30)


async def test_a_click_on_a_hint_wants_its_action() -> None:
    footer = Footer()
    host = HostApp(footer)
    host.listens_to = (RunAction,)
    async with host.run_test(size=(60, 3)) as pilot:
        footer.hints = HINTS
        await pilot.pause()
        await pilot.click(Footer, offset=(12, 0))
        await pilot.click(Footer, offset=(50, 0))
        await pilot.pause()
    assert [message.id for message in host.heard if isinstance(message, RunAction)] == ["console.leave"]
