"""Terminals that are closed when their test ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from cloche_term.on_ghostty import GhosttyTerminal
from cloche_term.on_ghostty.native import NativeTerminal
from cloche_term.terminal import DEFAULT_SCROLLBACK_LINES

Opener = Callable[..., GhosttyTerminal]
NativeOpener = Callable[..., NativeTerminal]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens terminals: rows, cols, what is fed to them at once."""
    with ExitStack() as stack:

        def open_(
            rows: int = 5,
            cols: int = 20,
            fed: bytes = b"",
            *,
            scrollback_lines: int = DEFAULT_SCROLLBACK_LINES,
        ) -> GhosttyTerminal:
            terminal = GhosttyTerminal.open(rows, cols, scrollback_lines=scrollback_lines)
            stack.enter_context(closing(terminal))
            terminal.feed(fed)
            return terminal

        yield open_


@pytest.fixture
def native() -> Iterator[NativeOpener]:
    """Opens native terminals: rows, cols, what is written to them at once."""
    with ExitStack() as stack:

        def open_(
            rows: int = 5, cols: int = 20, fed: bytes = b"", *, scrollback_lines: int = 100
        ) -> NativeTerminal:
            terminal = NativeTerminal.new(rows, cols, scrollback_lines=scrollback_lines)
            stack.enter_context(closing(terminal))
            terminal.write(fed)
            return terminal

        yield open_
