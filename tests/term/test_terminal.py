"""What every terminal promises, whichever emulator is behind it."""

from __future__ import annotations

import pytest

from cloche_term import Terminal, open_terminal
from cloche_term.opening import BACKENDS
from cloche_term.terminal import MOST_ANSWER_BYTES, MOST_TITLE_CHARACTERS, check_size


@pytest.mark.parametrize("size", [(1, 1), (1000, 1000)])
def test_the_smallest_and_the_largest_size_are_sizes(size: tuple[int, int]) -> None:
    check_size(*size)


@pytest.mark.parametrize("size", [(0, 80), (24, 0), (1001, 80), (24, 1001), (-1, 80)])
def test_a_size_beyond_them_is_refused_with_what_would_do(size: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="1 to 1000"):
        check_size(*size)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_terminal_keeps_its_promises(backend: str) -> None:
    terminal: Terminal = open_terminal(3, 10, backend=backend)
    try:
        assert terminal.backend == backend
        assert (terminal.rows, terminal.cols) == (3, 10)
        assert list(terminal.update()) == [0, 1, 2]
        assert terminal.feed(b"hello\x1b[6n") == b"\x1b[1;6R"
        assert list(terminal.update()) == [0]
        assert terminal.text() == ("hello", "", "")
        assert sum(run.cells for run in terminal.row(0)) == 10
        assert len(terminal.feed(b"\x1b[6n" * 10_000)) <= MOST_ANSWER_BYTES
        terminal.feed(b"\x1b]2;" + b"t\x01" * 5000 + b"\x07")
        assert len(terminal.title) <= MOST_TITLE_CHARACTERS
        assert terminal.title == "" or terminal.title.isprintable()
        with pytest.raises(ValueError, match="1 to 1000"):
            terminal.resize(0, 10)
    finally:
        terminal.close()
        terminal.close()
