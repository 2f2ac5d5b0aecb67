"""What surrounds the views: lines that are said and go again, dialogs, themes, the mouse, an end in order."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.app import ComposeResult

from cloche_tui import frame
from cloche_tui.frame import Frame
from cloche_tui.messages import Said
from cloche_tui.model.roles import Role
from cloche_tui.widgets.footer import Footer


class Program(Frame):
    """As little as there can be."""

    def compose(self) -> ComposeResult:
        """The last line."""
        yield Footer()

    @property
    def said(self) -> str:
        """What the last line says."""
        text = self.query_one(Footer).said
        return "" if text is None else text.plain.strip()


async def test_what_is_said_goes_again_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "SAID_S", 0.01)
    program = Program()
    async with program.run_test() as pilot:
        program.say("saved\nwell", Role.GOOD)
        assert program.said == "saved well"
        async with asyncio.timeout(10):
            while program.said:
                await pilot.pause()


async def test_what_is_said_is_never_read_as_markup() -> None:
    program = Program()
    async with program.run_test():
        program.say("[red]x[/red]")
        assert program.said == "[red]x[/red]"


async def test_what_is_said_does_nothing_to_the_terminal() -> None:
    program = Program()
    async with program.run_test():
        program.say("no file \x1b]0;x\x07 \u202eb")
        assert program.said == r"no file \x1b]0;x\x07 \u202eb"


async def test_widgets_have_things_said_by_a_message() -> None:
    program = Program()
    async with program.run_test() as pilot:
        program.post_message(Said("hello"))
        await pilot.pause()
        assert program.said == "hello"


async def test_what_is_known_before_there_is_a_screen_is_said_as_soon_as_there_is_one() -> None:
    program = Program()
    program.say_first("the keymap has no such key", Role.WARNING)
    async with program.run_test() as pilot:
        await pilot.pause()
        assert program.said == "the keymap has no such key"


async def test_a_theme_file_that_changes_is_seen_while_the_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    program = Program()
    async with program.run_test() as pilot:
        folder = tmp_path / "cloche/themes"
        folder.mkdir(parents=True)
        (folder / "mine.toml").write_text('[colours]\nprimary = "no colour"\n')
        program.look_for_themes()
        await pilot.pause()
        assert "mine.toml" in program.said
        (folder / "mine.toml").write_text('[colours]\nprimary = "#123456"\n')
        program.look_for_themes()
        assert "mine" in program.available_themes


async def test_the_text_of_the_screen_is_its_rows() -> None:
    program = Program()
    async with program.run_test(size=(20, 4)) as pilot:
        program.say("hello")
        await pilot.pause()
        assert program.screen_text() == " hello\n\n\n\n"


async def test_the_mouse_can_be_left_to_a_terminal_that_has_none() -> None:
    program = Program()
    async with program.run_test():
        program.use_mouse(is_on=False)
        assert not program.has_mouse
