"""A terminal is opened for its program, and read under credit, at once and without spinning."""

from __future__ import annotations

import itertools
import os
import select
from pathlib import Path

import pytest

from cloche_guest.messages import TerminalSize
from cloche_guest.terminals import Display, Started, resize, start
from cloche_wire.errors import CommandNotStarted
from cloche_wire.events import Ended, Received
from tests.guest.open_terminals import Frames, Terminal, command
from tests.support.stream_bench import Bench


def all_shown(started: Started) -> bytes:
    """Everything until the program has ended."""
    os.close(started.hold)
    os.close(started.writer)
    shown = b""
    while True:
        assert select.select([started.reader], [], [], 10.0)[0], (
            "the program shows nothing more and does not end"
        )
        try:
            shown += os.read(started.reader, 4096)
        except OSError:
            break
    os.close(started.reader)
    os.waitpid(started.pid, 0)
    return shown


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


# Opening.


def test_the_size_is_there_before_the_program_looks() -> None:
    assert all_shown(start(command("stty", "size"), TerminalSize(33, 101))) == b"33 101\r\n"


def test_a_terminal_takes_another_size() -> None:
    started = start(command("sh", "-c", "read go; stty size"), TerminalSize(24, 80))
    resize(started.writer, TerminalSize(65535, 1))
    os.write(started.writer, b"go\n")
    assert all_shown(started) == b"go\r\n65535 1\r\n"


def test_the_terminal_is_the_controlling_one_of_a_session_of_its_own() -> None:
    program = "import os; print(os.getsid(0) == os.tcgetpgrp(0) == os.getpid(), os.isatty(2))"
    assert all_shown(start(command("python3", "-c", program), TerminalSize(24, 80))) == b"True True\r\n"


def test_a_program_that_cannot_start_leaves_nothing_open() -> None:
    before = open_files()
    with pytest.raises(CommandNotStarted):
        start(command("/no/such/program"), TerminalSize(24, 80))
    assert open_files() == before


def test_a_machine_without_terminals_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: str, *_: object) -> int:
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(CommandNotStarted, match="no terminal can be opened") as refusal:
        start(command("true"), TerminalSize(24, 80))
    assert refusal.value.details == {"reason": "no_terminal"}


# Reading.


def test_what_is_shown_goes_out_and_the_end_after_it(terminal: Terminal) -> None:
    bench = Bench()
    display = bench.display(terminal.ours)
    terminal.show(b"hello")
    terminal.hang_up()
    display.program_ended()
    bench.exchange()
    assert bench.arrived == [Received(bench.channel, 1, b"hello"), Ended(bench.channel, 1)]
    assert display.has_ended


def test_no_more_is_read_than_there_is_credit_for(terminal: Terminal) -> None:
    bench = Bench(window=10)
    display = bench.display(terminal.ours)
    terminal.show(b"0123456789abcdef")
    bench.settle()
    bench.exchange()
    assert bench.received() == b"0123456789"
    assert display.is_paused
    bench.far.consume(bench.channel, 1, 4)
    bench.exchange()
    display.resume()
    bench.settle()
    bench.exchange()
    assert bench.received() == b"0123456789abcd"


def test_a_paused_terminal_does_not_wake_the_loop_though_its_program_is_gone(terminal: Terminal) -> None:
    bench = Bench(window=10)
    display = bench.display(terminal.ours)
    terminal.show(b"0123456789abcdef")
    bench.settle()
    terminal.hang_up()
    display.program_ended()
    assert display.owed > 0
    assert bench.turns() <= 2


def test_a_terminal_hung_up_under_a_living_program_wakes_the_loop_once(terminal: Terminal) -> None:
    bench = Bench()
    display = bench.display(terminal.ours)
    name = os.ttyname(terminal.program)
    terminal.hang_up()
    assert bench.turns() <= 3
    assert bench.turns() <= 2
    assert not display.has_ended
    terminal.program = os.open(name, os.O_RDWR | os.O_NOCTTY)
    terminal.show(b"back")
    bench.settle()
    terminal.show(b" again")
    bench.settle()
    bench.exchange()
    assert bench.received() == b"back again"
    display.close()


def test_the_answer_to_each_key_goes_out_at_once(terminal: Terminal) -> None:
    bench = Bench()
    display = bench.display(terminal.ours, clock=lambda: 7.0)
    for key in range(1, 100):
        display.typed()
        terminal.show(b"k")
        bench.loop.turn()
        assert bench.progress == key
    display.close()


def test_little_by_little_without_typing_is_gathered_until_something_is_typed(terminal: Terminal) -> None:
    bench = Bench()
    # A tenth of a millisecond passes between any two looks at the clock.
    ticks = itertools.count()
    display = bench.display(terminal.ours, clock=lambda: next(ticks) / 10_000)
    for _ in range(200):
        terminal.show(b"a line\n")
        # What is written to a terminal comes out at its other end a moment later.
        assert select.select([terminal.ours], [], [], 10)[0]
        bench.turns(0.0)
    before = bench.progress
    assert 16 <= before < 100
    terminal.show(b"a line\n")
    display.typed()
    bench.loop.turn()
    assert bench.progress == before + 1
    display.close()


def test_everything_held_when_the_program_ends_is_owed_and_then_read(terminal: Terminal) -> None:
    bench = Bench(window=100)
    display = bench.display(terminal.ours)
    terminal.show(b"x" * 250)
    bench.settle()
    # Somebody else still has it open: no hang-up tells that this was all.
    display.program_ended()
    assert display.owed > 0
    for count in (100, 100, 50):
        bench.exchange()
        bench.far.consume(bench.channel, 1, count)
        bench.exchange()
        display.resume()
    bench.exchange()
    assert (len(bench.received()), display.owed, display.has_ended) == (250, 0, False)
    display.close()


def test_nothing_is_owed_by_a_program_that_has_shown_no_more_than_was_read(terminal: Terminal) -> None:
    bench = Bench(window=10)
    display = bench.display(terminal.ours)
    terminal.show(b"0123456789")
    bench.settle()
    assert display.is_paused
    display.program_ended()
    assert display.owed == 0
    display.close()


def test_a_closed_display_hangs_up(terminal: Terminal) -> None:
    bench = Bench()
    display = bench.display(terminal.ours)
    display.close()
    display.close()
    with pytest.raises(OSError, match="Input/output error"):
        terminal.show(b"x")


def test_a_flood_leaves_in_few_frames_that_hold_all_of_it(
    flooded: tuple[Bench, Frames, Display],
) -> None:
    bench, frames, _ = flooded
    before = frames.come()
    frames.flood(40)
    assert 10 <= frames.come() - before <= 14
    bench.settle()
    bench.exchange()
    assert len(bench.received()) == 60 * 3000


def test_the_rest_of_a_flood_leaves_when_nothing_follows(flooded: tuple[Bench, Frames, Display]) -> None:
    bench, frames, _ = flooded
    for gulps in (1, 2, 3, 5):
        frames.flood(gulps)
        bench.settle()
        bench.exchange()
        assert len(bench.received()) % 3000 == 0
    assert len(bench.received()) == 31 * 3000


def test_a_key_has_what_waits_sent_at_once(flooded: tuple[Bench, Frames, Display]) -> None:
    bench, frames, display = flooded
    sizes = []
    for _ in range(4):
        frames.flood(1)
        display.typed()
        bench.exchange()
        sizes.append(len(bench.received()))
    assert sizes == [63_000, 66_000, 69_000, 72_000]


def test_a_flood_that_runs_out_of_credit_leaves_and_goes_on(terminal: Terminal) -> None:
    bench = Bench(window=20_000)
    ticks = itertools.count()
    display = bench.display(terminal.ours, clock=lambda: next(ticks) / 500)
    shown = 0
    for _ in range(60):
        terminal.show(b"x" * 3000)
        shown += 3000
        bench.settle()
        bench.exchange()
        had = len(bench.received())
        bench.far.consume(bench.channel, 1, had - (shown - 3000))
        bench.exchange()
        assert had == shown
    display.close()


def test_a_flood_faster_than_a_terminal_holds_is_read_without_waiting(terminal: Terminal) -> None:
    bench = Bench()
    display = bench.display(terminal.ours, clock=lambda: 7.0)
    for shown in range(1, 100):
        terminal.show(b"x" * 2000)
        bench.loop.turn()
        assert bench.progress >= shown
    display.close()
