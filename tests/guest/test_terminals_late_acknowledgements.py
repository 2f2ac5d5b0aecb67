"""A terminal whose output is acknowledged late, as by a hub that stores it first, or that goes out elsewhere meanwhile."""

from __future__ import annotations

import select
from collections.abc import Callable

from cloche_guest.backlog import Backlog
from cloche_guest.terminals import Display
from cloche_wire.events import Ended
from tests.guest.open_terminals import Frames, Terminal
from tests.support.stream_bench import Bench


def come_out(terminal: Terminal) -> None:
    """Waits for something to read: what is written to a terminal comes out at its other end a moment later."""
    assert select.select([terminal.ours], [], [], 10)[0]


def turn_until(bench: Bench, has_happened: Callable[[], bool]) -> None:
    """Runs the loop until something has happened."""
    for _ in range(1000):
        if has_happened():
            return
        bench.turns(0.01)
    raise TimeoutError("it has not happened")


def test_the_answer_to_each_key_goes_out_at_once_though_nothing_is_acknowledged(terminal: Terminal) -> None:
    bench = Bench()
    display = bench.display(terminal.ours)
    for key in range(1, 1000):
        display.typed()
        terminal.show(b"k")
        bench.loop.turn()
        bench.exchange()
        assert len(bench.received()) == key
    display.close()


def test_a_key_during_a_flood_has_its_answer_sent_though_nothing_is_acknowledged(
    flooded: tuple[Bench, Frames, Display], terminal: Terminal
) -> None:
    bench, frames, display = flooded
    shown = 60_000
    # Up to where the window is nearly full.
    for _ in range(60):
        frames.flood(1)
        display.typed()
        terminal.show(b"k")
        come_out(terminal)
        bench.turns(0.0)
        bench.exchange()
        shown += 3001
        assert len(bench.received()) == shown


def test_all_of_a_window_is_used_and_each_acknowledged_part_of_it_again(terminal: Terminal) -> None:
    window = 64 << 10
    bench = Bench(window=window)
    # Faster than a terminal fills: nothing is gathered.
    display = bench.display(terminal.ours, clock=lambda: 7.0)

    def shown_until_full() -> int:
        while not display.is_paused:
            terminal.show(b"x" * 1000)
            come_out(terminal)
            bench.turns(0.0)
        bench.exchange()
        return len(bench.received())

    assert shown_until_full() == window
    for quarters in range(1, 9):
        bench.far.consume(bench.channel, 1, window // 4)
        bench.far.acknowledge(bench.channel)
        bench.exchange()
        display.resume()
        assert shown_until_full() == window + quarters * window // 4
    display.close()


def test_a_moved_display_goes_on_where_its_new_outlet_is(terminal: Terminal) -> None:
    bench = Bench(window=10)
    display = bench.display(terminal.ours)
    terminal.show(b"0123456789abc")
    turn_until(bench, lambda: display.is_paused)
    backlog = Backlog(most=6)
    display.move(backlog, 0)
    display.resume()
    terminal.show(b"def")
    terminal.show(b"ghi")
    turn_until(bench, lambda: display.is_paused)
    assert bytes(backlog.take(100)) == b"abcdef"
    bench.exchange()
    bench.far.consume(bench.channel, 1, 10)
    bench.exchange()
    display.move(bench.near, bench.channel)
    display.resume()
    terminal.hang_up()
    display.program_ended()
    bench.exchange()
    assert bench.received() == b"0123456789ghi"
    assert bench.arrived[-1] == Ended(bench.channel, 1)


def test_what_waits_of_a_flood_is_the_old_outlets_when_a_display_moves(
    flooded: tuple[Bench, Frames, Display],
) -> None:
    bench, frames, display = flooded
    bench.settle()
    bench.exchange()
    frames.flood(1)
    backlog = Backlog()
    display.move(backlog, 0)
    display.typed()
    bench.settle()
    assert len(backlog) == 0
    bench.near.hurry(bench.channel)
    bench.exchange()
    assert len(bench.received()) == 63_000
