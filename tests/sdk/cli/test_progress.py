"""The steps of a long work, for whoever looks on."""

from __future__ import annotations

import io
import sys

import pytest

from cloche.cli.progress import shown_copy, shown_progress
from cloche.messages import Progress


def test_without_a_terminal_each_step_is_a_line_once(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress() as tell:
        tell(Progress("packages", "fetching packages", 0.1))
        tell(Progress("packages", "fetching packages: 3 of 9", 0.2))
        tell(Progress("template", "booting \033[2J", None))
    assert capsys.readouterr() == ("", "cloche: fetching packages\ncloche: booting \\x1b[2J\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_copy_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with shown_copy(quiet=False) as tell:
        assert tell is None
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with shown_copy(quiet=True) as tell:
        assert tell is None
    with shown_copy(quiet=False) as tell:
        assert tell is not None
        tell(1 << 20, 4 << 20, "a/[bold]\033[2J")
    assert "1.0/4.0 MiB" in terminal.getvalue()
    assert "a/[bold]\\x1b[2J" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K"), "the line is gone"


def test_on_a_terminal_there_is_one_line_that_moves_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with shown_progress() as tell:
        tell(Progress("packages", "fetching [bold]packages", 0.5))
        tell(Progress("template", "booting", None))
    written = terminal.getvalue()
    assert "booting" in written
    assert written.endswith("\x1b[2K"), "the line is gone"
