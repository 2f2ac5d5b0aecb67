"""A command's pipes under credit: nothing read without room for it, nothing acknowledged before it was taken."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

import pytest

from cloche_guest.pipes import GROWN_PIPE, READ_SIZE
from cloche_wire.events import Ended, Received
from tests.support.stream_bench import Bench


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    yield reader, writer
    for fd in (reader, writer):
        with contextlib.suppress(OSError):
            os.close(fd)


def fill(fd: int) -> int:
    """Writes until a pipe is full; returns how much."""
    written = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            written += os.write(fd, b"x" * 4096)
    return written


# Output.


def test_output_goes_out_and_its_end_after_it(pipe: tuple[int, int]) -> None:
    bench = Bench()
    output = bench.output(pipe[0])
    os.write(pipe[1], b"hello")
    bench.loop.turn()
    os.close(pipe[1])
    bench.loop.turn()
    bench.exchange()
    assert bench.arrived == [Received(bench.channel, 1, b"hello"), Ended(bench.channel, 1)]
    assert output.has_ended
    assert bench.progress == 2


def test_no_more_is_read_than_there_is_credit_for(pipe: tuple[int, int]) -> None:
    bench = Bench(window=10)
    output = bench.output(pipe[0])
    os.write(pipe[1], b"0123456789abcdef")
    bench.settle()
    bench.exchange()
    assert bench.received() == b"0123456789"
    assert output.is_paused
    bench.far.consume(bench.channel, 1, 4)
    bench.exchange()
    output.resume()
    bench.settle()
    bench.exchange()
    assert bench.received() == b"0123456789abcd"


def test_a_paused_pipe_does_not_wake_the_loop_though_its_writers_are_gone(pipe: tuple[int, int]) -> None:
    bench = Bench(window=10)
    bench.output(pipe[0])
    os.write(pipe[1], b"0123456789abcdef")
    os.close(pipe[1])
    bench.settle()
    assert bench.turns() <= 2


def test_small_writes_in_quick_succession_are_gathered(pipe: tuple[int, int]) -> None:
    bench = Bench()
    bench.output(pipe[0], clock=lambda: 7.0)
    for _ in range(2):
        os.write(pipe[1], b"at once\n")
        bench.loop.turn()
    assert bench.progress == 2
    for _ in range(200):
        os.write(pipe[1], b"a line\n")
    bench.settle()
    bench.exchange()
    assert bench.received() == b"at once\n" * 2 + b"a line\n" * 200
    assert bench.progress == 3


def test_small_writes_now_and_then_go_out_at_once(pipe: tuple[int, int]) -> None:
    bench = Bench()
    now = [7.0]
    bench.output(pipe[0], clock=lambda: now[0])
    for written in range(1, 10):
        os.write(pipe[1], b"a line\n")
        bench.loop.turn()
        assert bench.progress == written
        now[0] += 0.01


def test_the_end_of_the_command_ends_the_gathering(pipe: tuple[int, int]) -> None:
    bench = Bench()
    output = bench.output(pipe[0], clock=lambda: 7.0)
    for _ in range(2):
        os.write(pipe[1], b"x")
        bench.loop.turn()
    os.write(pipe[1], b"last words")
    os.close(pipe[1])
    output.command_ended()
    bench.loop.turn()
    bench.exchange()
    assert bench.received() == b"xxlast words"


def test_what_is_in_the_pipe_when_the_command_ends_is_owed(pipe: tuple[int, int]) -> None:
    bench = Bench(window=4)
    output = bench.output(pipe[0])
    os.write(pipe[1], b"0123456789")
    bench.settle()
    output.command_ended()
    assert output.owed == 6
    bench.exchange()
    bench.far.consume(bench.channel, 1, 4)
    bench.exchange()
    output.resume()
    bench.settle()
    assert output.owed == 2


def test_a_pipe_that_was_filled_is_enlarged(pipe: tuple[int, int]) -> None:
    bench = Bench()
    bench.output(pipe[0])
    assert fill(pipe[1]) == READ_SIZE
    bench.settle()
    assert fcntl.fcntl(pipe[0], fcntl.F_GETPIPE_SZ) == GROWN_PIPE


def test_discarded_output_is_taken_without_end_and_without_haste(pipe: tuple[int, int]) -> None:
    bench = Bench()
    output = bench.output(pipe[0])
    output.discard()
    assert output.has_ended
    for _ in range(3):
        assert fill(pipe[1]) > 0
        assert bench.turns(0.12) < 12
    assert fill(pipe[1]) > 0
    os.close(pipe[1])
    bench.turns(0.12)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(pipe[0])
    bench.exchange()
    assert bench.arrived == []


def test_a_closed_output_leaves_its_writer_without_a_reader(pipe: tuple[int, int]) -> None:
    bench = Bench()
    output = bench.output(pipe[0])
    output.close()
    output.close()
    with pytest.raises(BrokenPipeError):
        os.write(pipe[1], b"x")


# Input.


def test_input_is_written_and_acknowledged_as_it_is_taken(pipe: tuple[int, int]) -> None:
    bench = Bench(window=1 << 20)
    into = bench.input(pipe[1])
    bench.far.send(bench.channel, 1, bytes(300_000))
    bench.exchange()
    for event in bench.to_near:
        if isinstance(event, Received):
            into.received(event.data)
    bench.exchange()
    # The pipe has taken its 64 KiB; the rest waits, unacknowledged.
    assert bench.far.credit(bench.channel, 1) <= (1 << 20) - 300_000 + READ_SIZE
    into.ended()
    taken = 0
    while piece := read_some(bench, pipe[0]):
        taken += len(piece)
    assert taken == 300_000
    bench.exchange()
    # Acknowledgements are gathered until they are worth a frame: a quarter of the window.
    assert bench.far.credit(bench.channel, 1) >= (1 << 20) - 300_000 + (1 << 18)
    assert bench.errors == []


def read_some(bench: Bench, fd: int) -> bytes:
    """The next bytes from the pipe; empty at its end."""
    for _ in range(100):
        try:
            return os.read(fd, 1 << 16)
        except BlockingIOError:
            bench.turns(0.001)
    raise TimeoutError("the pipe stays empty")


def test_a_full_input_waits_without_waking_the_loop(pipe: tuple[int, int]) -> None:
    bench = Bench(window=1 << 20)
    fill(pipe[1])
    bench.far.send(bench.channel, 1, b"x")
    bench.exchange()
    into = bench.input(pipe[1])
    into.received(b"x")
    assert bench.turns() <= 2


def test_input_that_nobody_reads_any_more_is_acknowledged_and_dropped(pipe: tuple[int, int]) -> None:
    bench = Bench(window=1000)
    into = bench.input(pipe[1])
    os.close(pipe[0])
    bench.far.send(bench.channel, 1, bytes(1000))
    bench.exchange()
    into.received(bytes(1000))
    bench.exchange()
    assert bench.far.credit(bench.channel, 1) == 1000
    bench.far.send(bench.channel, 1, bytes(1000))
    bench.exchange()
    into.received(bytes(1000))
    bench.exchange()
    assert bench.far.credit(bench.channel, 1) == 1000


def test_input_for_a_terminal_that_nobody_has_open_is_acknowledged_and_dropped() -> None:
    bench = Bench(window=1000)
    terminal, programs_side = os.openpty()
    os.close(programs_side)
    into = bench.input(terminal)
    bench.far.send(bench.channel, 1, bytes(1000))
    bench.exchange()
    into.received(bytes(1000))
    bench.exchange()
    assert bench.far.credit(bench.channel, 1) == 1000


def test_input_for_a_command_without_a_pipe_is_dropped() -> None:
    bench = Bench(window=1000)
    into = bench.input(None)
    bench.far.send(bench.channel, 1, bytes(1000))
    bench.exchange()
    into.received(bytes(1000))
    into.ended()
    bench.exchange()
    assert bench.far.credit(bench.channel, 1) == 1000


def test_input_of_a_channel_that_is_gone_is_written_and_told_to_nobody(pipe: tuple[int, int]) -> None:
    bench = Bench(window=1000)
    fill(pipe[1])
    into = bench.input(pipe[1])
    into.received(b"one " * 100)
    into.leave()
    other = bench.far.open("exec", {})
    bench.exchange()
    bench.near.accept(other)
    bench.exchange()
    into.join(other)
    bench.far.send(other, 1, bytes(500))
    bench.exchange()
    into.received(bytes(500))
    written = b""
    while not written.endswith(bytes(500)):
        written += read_some(bench, pipe[0])
    bench.exchange()
    assert written.replace(b"x", b"") == b"one " * 100 + bytes(500)
    assert (bench.far.credit(bench.channel, 1), bench.far.credit(other, 1)) == (1000, 1000)


def test_input_that_nobody_reads_is_told_to_who_is_there_only(pipe: tuple[int, int]) -> None:
    bench = Bench(window=1000)
    fill(pipe[1])
    into = bench.input(pipe[1])
    bench.far.send(bench.channel, 1, bytes(600))
    bench.exchange()
    into.received(bytes(400))
    into.leave()
    into.join(bench.channel)
    into.received(bytes(600))
    os.close(pipe[0])
    bench.settle()
    bench.exchange()
    assert bench.far.credit(bench.channel, 1) == 1000
