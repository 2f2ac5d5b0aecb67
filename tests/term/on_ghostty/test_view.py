"""The view: which rows have changed, scrolling back, the cursor in it."""

from __future__ import annotations

import pytest

from cloche_term.on_ghostty import GhosttyTerminal
from cloche_term.terminal import Cursor, CursorShape
from tests.term.on_ghostty.conftest import Opener

_LINES = b"\r\n".join(b"line %d" % number for number in range(100))


def _shown(terminal: GhosttyTerminal) -> list[str]:
    terminal.update()
    return ["".join(run.text for run in terminal.row(y)).rstrip() for y in range(terminal.rows)]


def test_all_rows_have_changed_at_first_and_then_those_that_look_different(opened: Opener) -> None:
    terminal = opened(3, 10, b"a\r\nb")
    assert terminal.update() == [0, 1, 2]
    assert terminal.update() == []
    terminal.feed(b"\x1b[1;1Hx")
    assert terminal.update() == [0]
    terminal.feed(b"\x1b[1;1Hx\x1b[2;1Hb")
    assert terminal.update() == []


def test_changes_add_up_until_somebody_looks(opened: Opener) -> None:
    terminal = opened(3, 10)
    terminal.update()
    terminal.feed(b"\x1b[1;1Hx")
    assert terminal.cursor.col == 1
    terminal.feed(b"\x1b[3;1Hy")
    assert terminal.cursor.row == 2
    assert terminal.update() == [0, 2]


def test_a_dump_and_a_snapshot_let_the_view_forget_no_change(opened: Opener) -> None:
    terminal = opened(5, 20, _LINES)
    terminal.update()
    terminal.feed(b"\x1b[1;1Hx")
    terminal.dump(scrollback_lines=50)
    terminal.snapshot()
    assert terminal.update() == [0]
    assert terminal.row(0)[0].text.startswith("xine 95")


@pytest.mark.parametrize("size", [(3, 10), (3, 7), (5, 10), (8, 30)])
def test_every_row_has_changed_after_a_change_of_size(size: tuple[int, int], opened: Opener) -> None:
    terminal = opened(4, 12, _LINES)
    terminal.update()
    terminal.resize(*size)
    assert terminal.update() == list(range(size[0]))
    assert all(sum(run.cells for run in terminal.row(y)) == size[1] for y in range(size[0]))


def test_a_view_that_is_scrolled_back_stays_on_its_lines_while_more_is_written(opened: Opener) -> None:
    terminal = opened(3, 20, _LINES)
    assert _shown(terminal) == ["line 97", "line 98", "line 99"]
    terminal.scroll(-10)
    assert (_shown(terminal), terminal.view_line) == (["line 87", "line 88", "line 89"], 87)
    terminal.feed(b"\r\nmore\r\nmore")
    assert (_shown(terminal), terminal.view_line) == (["line 87", "line 88", "line 89"], 87)
    assert terminal.text() == ("line 99", "more", "more")
    terminal.scroll(4)
    assert terminal.view_line == 91
    terminal.scroll_to_end()
    assert (_shown(terminal), terminal.view_line) == (["line 99", "more", "more"], terminal.first_line)
    terminal.feed(b"\r\nlast")
    assert _shown(terminal)[-1] == "last"


def test_a_view_scrolled_to_its_end_follows_again(opened: Opener) -> None:
    terminal = opened(3, 20, _LINES)
    terminal.scroll(-10)
    terminal.scroll(1000)
    terminal.feed(b"\r\nlast")
    assert _shown(terminal)[-1] == "last"


def test_a_view_goes_to_a_line_as_far_as_there_are_any(opened: Opener) -> None:
    terminal = opened(3, 20, _LINES)
    terminal.scroll_to(42)
    assert (_shown(terminal)[0], terminal.view_line) == ("line 42", 42)
    terminal.scroll_to(-7)
    assert terminal.view_line == 0
    terminal.scroll_to(10_000)
    assert terminal.view_line == terminal.first_line


def test_reading_other_lines_leaves_the_view_where_it_is(opened: Opener) -> None:
    terminal = opened(3, 20, _LINES)
    terminal.scroll_to(42)
    lines = list(terminal._view.read_lines(0, 99))
    assert [line.runs[0].text.rstrip() for line in lines] == [f"line {number}" for number in range(100)]
    assert (_shown(terminal)[0], terminal.view_line) == ("line 42", 42)
    terminal.scroll_to_end()
    assert len(list(terminal._view.read_lines(50, 60))) == 11
    terminal.feed(b"\r\nlast")
    assert _shown(terminal)[-1] == "last"


@pytest.mark.parametrize(
    ("sequence", "shape", "blinks"),
    [
        (b"", CursorShape.BLOCK, False),
        (b"\x1b[1 q", CursorShape.BLOCK, True),
        (b"\x1b[2 q", CursorShape.BLOCK, False),
        (b"\x1b[3 q", CursorShape.UNDERLINE, True),
        (b"\x1b[6 q", CursorShape.BAR, False),
    ],
)
def test_the_cursor_has_its_shape(sequence: bytes, shape: CursorShape, blinks: bool, opened: Opener) -> None:
    assert opened(3, 10, b"ab" + sequence).cursor == Cursor(0, 2, True, shape, blinks)


def test_a_cursor_out_of_the_view_is_not_visible(opened: Opener) -> None:
    terminal = opened(3, 20, _LINES)
    seen = [terminal.cursor.is_visible]
    terminal.scroll(-50)
    seen.append(terminal.cursor.is_visible)
    terminal.scroll_to_end()
    seen.append(terminal.cursor.is_visible)
    assert seen == [True, False, True]


def test_a_hidden_cursor_still_has_its_place(opened: Opener) -> None:
    assert opened(3, 20, _LINES + b"\x1b[?25l").cursor == Cursor(2, 7, False, CursorShape.BLOCK, False)
