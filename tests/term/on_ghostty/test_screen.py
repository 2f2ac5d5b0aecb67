"""The terminal as a whole: what it shows and knows, whatever a hostile program writes and however often it is resized."""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cloche_term.errors import SnapshotUnreadable, TerminalError
from cloche_term.on_ghostty import GhosttyTerminal
from cloche_term.opening import restore
from cloche_term.snapshots import Snapshot, unpack
from cloche_term.terminal import MOST_TITLE_CHARACTERS, Modes, MouseTracking
from tests.term.hostile import soup
from tests.term.looks import look_of
from tests.term.on_ghostty.conftest import Opener


def test_what_was_written_is_shown_and_queries_are_answered(opened: Opener) -> None:
    terminal = opened(3, 10)
    assert terminal.feed(b"hello\r\n\x1b[6n\x1b[c") == b"\x1b[2;1R\x1b[?62;22c"
    assert terminal.text() == ("hello", "", "")
    assert (terminal.rows, terminal.cols, terminal.backend) == (3, 10, "ghostty")


def test_a_program_cannot_change_the_size(opened: Opener) -> None:
    terminal = opened(5, 20, b"\x1b[?40h\x1b[?3h" + b"x" * 50)
    assert (terminal.rows, terminal.cols) == (5, 20)
    assert terminal.update() == [0, 1, 2, 3, 4]
    assert all(sum(run.cells for run in terminal.row(y)) == 20 for y in range(5))


@pytest.mark.parametrize("size", [(0, 20), (5, 0), (1001, 20), (5, 1001)])
def test_a_size_that_is_none_is_refused_and_changes_nothing(size: tuple[int, int], opened: Opener) -> None:
    terminal = opened(5, 20, b"hello")
    with pytest.raises(ValueError, match="1 to 1000"):
        terminal.resize(*size)
    with pytest.raises(ValueError, match="1 to 1000"):
        GhosttyTerminal.open(*size, scrollback_lines=10)
    assert (terminal.rows, terminal.text()[0]) == (5, "hello")


def test_a_narrower_screen_wraps_its_lines_anew(opened: Opener) -> None:
    terminal = opened(5, 20, b"hello world")
    terminal.resize(5, 6)
    assert terminal.text() == ("hello", "world", "", "", "")
    terminal.resize(5, 20)
    assert terminal.text()[0] == "hello world"


@pytest.mark.parametrize(
    ("written", "modes"),
    [
        (b"", Modes(alternate_scroll=True)),
        (b"\x1b[?1049h", Modes(alternate_scroll=True, is_alternate=True)),
        (b"\x1b[?47h", Modes(alternate_scroll=True, is_alternate=True)),
        (b"\x1b[?1h\x1b=", Modes(alternate_scroll=True, application_cursor=True, application_keypad=True)),
        (b"\x1b[?2004h\x1b[?1004h", Modes(alternate_scroll=True, bracketed_paste=True, focus_events=True)),
        (b"\x1b[?9h", Modes(alternate_scroll=True, mouse=MouseTracking.PRESSES)),
        (b"\x1b[?1000h", Modes(alternate_scroll=True, mouse=MouseTracking.BUTTONS)),
        (b"\x1b[?1002h", Modes(alternate_scroll=True, mouse=MouseTracking.DRAGS)),
        (b"\x1b[?1003h", Modes(alternate_scroll=True, mouse=MouseTracking.MOVES)),
        (b"\x1b[?1007l\x1b[?2026h\x1b[?5h", Modes(is_held=True, is_reversed=True)),
        (b"\x1b[>5u", Modes(alternate_scroll=True, kitty_keyboard=5)),
    ],
)
def test_modes_are_those_the_program_has_switched_on(written: bytes, modes: Modes, opened: Opener) -> None:
    assert opened(fed=written).modes == modes


def test_a_title_is_bounded_and_has_no_controls(opened: Opener) -> None:
    terminal = opened()
    assert terminal.title == ""
    terminal.feed("\x1b]2;vim – é\u009b2J\x07".encode())
    assert terminal.title == "vim – é2J"
    terminal.feed(b"\x1b]0;" + b"t" * 5_000 + b"\x07")
    assert len(terminal.title) <= MOST_TITLE_CHARACTERS
    terminal.feed(b"\x1b]0;" + b"t" * 1_000 + b"\x07")
    assert terminal.title == "t" * MOST_TITLE_CHARACTERS


def test_a_link_is_that_of_the_cell_in_the_view(opened: Opener) -> None:
    terminal = opened(3, 20, b"\x1b]8;;http://a\x07here\x1b]8;;\x07" + b"\r\n" * 10)
    assert terminal.link(0, 0) == ""
    terminal.scroll_to(0)
    assert terminal.link(0, 0) == "http://a"
    assert terminal.link(0, 4) == ""


def test_lines_are_read_by_number_on_the_screen_that_is_on(opened: Opener) -> None:
    terminal = opened(3, 20, b"\r\n".join(b"line %d" % number for number in range(10)))
    assert terminal.lines(6, 8) == ("line 6", "line 7")
    assert terminal.lines(8, 100) == ("line 8", "line 9")
    assert terminal.lines(5, 5) == terminal.lines(90, 95) == ()
    terminal.feed(b"\x1b[?1049h\x1b[Heditor")
    assert terminal.lines(0, 100) == ("editor", "", "")


def test_a_snapshot_of_another_build_is_refused(opened: Opener) -> None:
    made = unpack(opened().snapshot())
    with pytest.raises(SnapshotUnreadable, match="ask for a dump"):
        GhosttyTerminal.restore(Snapshot(made.backend, "0.9", made.beside, made.body), scrollback_lines=10)


@pytest.mark.parametrize("beside", [{}, {"first_line": "x", "known_row": 0, "cancelled": None}])
def test_a_snapshot_that_lacks_what_stands_beside_it_is_refused(
    beside: dict[str, object], opened: Opener
) -> None:
    made = unpack(opened().snapshot())
    with pytest.raises(SnapshotUnreadable, match="beside"):
        GhosttyTerminal.restore(Snapshot(made.backend, made.library, beside, made.body), scrollback_lines=10)


def test_a_program_that_wants_to_hear_of_sizes_is_told_with_the_next_answers(opened: Opener) -> None:
    terminal = opened(5, 20, b"\x1b[?2048h")
    terminal.resize(6, 30)
    assert terminal.feed(b"") == b"\x1b[48;6;30;96;240t"


def test_a_snapshot_brings_everything_back(opened: Opener) -> None:
    terminal = opened(
        5, 20, b"x\r\n" * 50 + b"\x1b]2;t\x07\x1b[?2004h\x1b[3 q\x1b[?1049h\x1b[44meditor\x1b[38;5"
    )
    restored = restore(terminal.snapshot())
    for more in (b";1mred", b"\x1b[?1049l", b"\x1b[6n"):
        assert restored.feed(more) == terminal.feed(more)
        assert look_of(restored) == look_of(terminal)
    assert restored.snapshot() == terminal.snapshot()
    restored.close()


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_written_the_terminal_stays_whole(seed: int, opened: Opener) -> None:
    chance = random.Random(seed)
    terminal = opened(5, 20)
    first_line = 0
    for _ in range(12):
        terminal.feed(soup(chance, 200))
        first_line, before = terminal.first_line, first_line
        assert first_line >= before
        for y in terminal.update():
            runs = terminal.row(y)
            assert sum(run.cells for run in runs) == 20
        assert len(terminal.text()) == 5
        cursor = terminal.cursor
        assert (0 <= cursor.row < 5, 0 <= cursor.col < 20) == (True, True)
        restored = restore(terminal.snapshot())
        assert look_of(restored)["rows"] == look_of(terminal)["rows"]
        restored.close()
        terminal.dump(scrollback_lines=10)
        terminal.search("hello")


@pytest.mark.parametrize("seed", range(20))
def test_a_storm_of_sizes_leaves_a_whole_terminal(seed: int, opened: Opener) -> None:
    chance = random.Random(seed)
    terminal = opened(24, 80)
    for _ in range(30):
        terminal.feed(soup(chance, 30) + "日本語 text ".encode() * 5)
        rows, cols = chance.choice(
            ((1, 1), (1, 80), (50, 2), (chance.randint(1, 60), chance.randint(1, 200)))
        )
        is_other = (rows, cols) != (terminal.rows, terminal.cols)
        terminal.resize(rows, cols)
        changed = terminal.update()
        assert not is_other or changed == list(range(rows))
        assert all(sum(run.cells for run in terminal.row(y)) == cols for y in range(rows))
        terminal.dump(scrollback_lines=5)
        restore(terminal.snapshot()).close()
        terminal.scroll(-chance.randint(0, 20))
    terminal.feed(b"\x18\x1b\\\x1bc\x1b[?1049lhello")
    terminal.resize(24, 80)
    terminal.scroll_to_end()
    assert terminal.text()[0] == "hello"


def _resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def _use_up(count: int) -> None:
    for _ in range(count):
        terminal = GhosttyTerminal.open(24, 80, scrollback_lines=1000)
        terminal.feed(b"\x1b[31mline\r\n" * 2000 + b"\x1b[?1049heditor")
        terminal.update()
        terminal.dump(scrollback_lines=10)
        restore(terminal.snapshot()).close()
        terminal.search("line", limit=3)
        terminal.close()


@pytest.mark.parametrize(
    "ask",
    [
        lambda terminal: terminal.feed(b"x"),
        lambda terminal: terminal.resize(3, 10),
        lambda terminal: terminal.update(),
        lambda terminal: terminal.text(),
        lambda terminal: terminal.first_line,
        lambda terminal: terminal.snapshot(),
        lambda terminal: terminal.dump(scrollback_lines=1),
    ],
)
def test_a_closed_terminal_says_so(ask: Callable[[GhosttyTerminal], object], opened: Opener) -> None:
    terminal = opened(5, 20, b"hello")
    terminal.close()
    terminal.close()
    with pytest.raises(TerminalError, match="closed"):
        ask(terminal)


def test_terminals_that_were_closed_keep_no_memory() -> None:
    _use_up(20)
    before = _resident_mib()
    _use_up(60)
    # Each of them has about a MiB of cells while it is open.
    assert _resident_mib() - before < 20


def test_a_terminal_nobody_closed_is_given_back_when_nobody_has_it() -> None:
    terminal = GhosttyTerminal.open(5, 20, scrollback_lines=10)
    give_back, native = terminal._close, terminal._native._give_back
    del terminal
    gc.collect()
    assert (give_back.alive, native.alive) == (False, False)


def test_other_threads_run_while_much_is_written(opened: Opener) -> None:
    terminal, turns, done = opened(24, 80), 0, threading.Event()

    def feed() -> None:
        terminal.feed(b"line of some length\r\n" * 200_000)
        done.set()

    feeding = threading.Thread(target=feed)
    feeding.start()
    while not done.is_set():
        turns += 1
    feeding.join(timeout=30)
    assert terminal.first_line == 200_000 - 23
    assert turns > 1
