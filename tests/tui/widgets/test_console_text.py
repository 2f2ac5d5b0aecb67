"""What a console has shown, saved as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche.errors import BadRequest, NotFound
from cloche_term.apart.terminals import ApartTerminal, Terminals
from cloche_tui.widgets import console_text
from cloche_tui.widgets.console_text import save_text
from cloche_tui.widgets.terminal_view import TerminalView
from tests.support.hub import until
from tests.tui.support import HostApp


@pytest.fixture
async def terminal(terminals: Terminals) -> ApartTerminal:
    return await terminals.open(5, 20)


async def test_all_lines_that_are_kept_are_saved_in_pieces(
    terminal: ApartTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console_text, "_LINES_AT_ONCE", 4)
    await terminal.feed(b"\r\n".join(b"line %d" % number for number in range(12)) + b"\r\n\r\n")
    view = TerminalView()
    async with HostApp(view).run_test(size=(20, 5)):
        view.attach(terminal)
        await until(lambda: view.picture.scrollback_rows)
        path = tmp_path / "shown.txt"
        assert await save_text(view, str(path)) == 12
        assert path.read_text() == "".join(f"line {number}\n" for number in range(12))
        with pytest.raises(BadRequest, match="there already"):
            await save_text(view, str(path))
        with pytest.raises(BadRequest, match="cannot be written: No such file"):
            await save_text(view, str(tmp_path / "no" / "where"))
        terminal.kill()
        with pytest.raises(NotFound, match="is lost"):
            await save_text(view, str(tmp_path / "other"))


async def test_where_nothing_was_shown_nothing_is_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nothing has been shown"):
        await save_text(TerminalView(), str(tmp_path / "shown.txt"))
