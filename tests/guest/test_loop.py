"""The loop: descriptors, timers, children, and errors that stay where they happen."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator

import pytest

from cloche_guest.loop import Loop, Scope


class Watched:
    """A loop that keeps the errors that escape its handlers, and a pipe."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []
        self.loop = Loop(self.errors.append)
        self.reader, self.writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)


@pytest.fixture
def watched() -> Iterator[Watched]:
    one = Watched()
    yield one
    os.close(one.reader)
    os.close(one.writer)


def test_a_handler_is_called_while_its_descriptor_has_something(watched: Watched) -> None:
    calls: list[int] = []
    watched.loop.watch(watched.reader, select.EPOLLIN, calls.append)
    os.write(watched.writer, b"x")
    watched.loop.turn()
    watched.loop.turn()
    assert calls == [select.EPOLLIN, select.EPOLLIN]


def test_a_forgotten_descriptor_is_not_heard_of_again(watched: Watched) -> None:
    calls: list[int] = []
    watched.loop.watch(watched.reader, select.EPOLLIN, calls.append)
    watched.loop.forget(watched.reader)
    watched.loop.forget(watched.reader)
    os.write(watched.writer, b"x")
    watched.loop.call_later(0, lambda: None)
    watched.loop.turn()
    assert calls == []


def test_a_handler_forgotten_in_the_same_turn_is_not_called(watched: Watched) -> None:
    other_reader, other_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    calls: list[str] = []

    def first(_events: int) -> None:
        calls.append("first")
        watched.loop.forget(other_reader)

    def second(_events: int) -> None:
        calls.append("second")
        watched.loop.forget(watched.reader)

    watched.loop.watch(watched.reader, select.EPOLLIN, first)
    watched.loop.watch(other_reader, select.EPOLLIN, second)
    os.write(watched.writer, b"x")
    os.write(other_writer, b"x")
    watched.loop.turn()
    assert len(calls) == 1
    assert watched.errors == []
    os.close(other_reader)
    os.close(other_writer)


def test_timers_run_in_the_order_they_are_due_and_cancelled_ones_do_not(watched: Watched) -> None:
    calls: list[str] = []
    watched.loop.call_later(0.002, lambda: calls.append("second"))
    watched.loop.call_later(0.001, lambda: calls.append("cancelled")).cancel()
    watched.loop.call_later(0.001, lambda: calls.append("first"))
    watched.loop.call_later(0.003, watched.loop.stop)
    watched.loop.run()
    assert calls == ["first", "second"]


def test_many_cancelled_timers_do_not_pile_up(watched: Watched) -> None:
    for _ in range(10_000):
        watched.loop.call_later(3600, lambda: None).cancel()
    assert len(watched.loop._timers) < 200


def test_a_timer_may_cancel_itself_while_it_runs(watched: Watched) -> None:
    timers = [watched.loop.call_later(0, lambda: timers[0].cancel())]
    watched.loop.turn()
    assert watched.errors == []


def test_idle_work_waits_until_nothing_else_is_to_be_done(watched: Watched) -> None:
    calls: list[str] = []

    def on_readable(_events: int) -> None:
        os.read(watched.reader, 1)
        calls.append("read")

    watched.loop.watch(watched.reader, select.EPOLLIN, on_readable)
    watched.loop.when_idle(lambda: calls.append("idle"))
    os.write(watched.writer, b"xx")
    for _ in range(3):
        watched.loop.turn()
    assert calls == ["read", "read", "idle"]


def test_an_error_in_a_handler_is_reported_and_the_loop_goes_on(watched: Watched) -> None:
    def broken(_events: int) -> None:
        os.read(watched.reader, 1)
        raise RuntimeError("handler")

    def broken_timer() -> None:
        raise RuntimeError("timer")

    turns: list[int] = []
    watched.loop.on_turn_end = lambda: turns.append(1)
    watched.loop.watch(watched.reader, select.EPOLLIN, broken)
    os.write(watched.writer, b"x")
    watched.loop.call_later(0, broken_timer)
    watched.loop.turn()
    assert [str(error) for error in watched.errors] == ["handler", "timer"]
    assert turns == [1]


def test_an_error_in_a_scope_goes_to_its_owner(watched: Watched) -> None:
    mine: list[Exception] = []
    scope = Scope(watched.loop, mine.append)

    def broken(_events: int) -> None:
        scope.forget(watched.reader)
        raise RuntimeError("handler")

    def broken_timer() -> None:
        raise RuntimeError("timer")

    scope.watch(watched.reader, select.EPOLLIN, broken)
    scope.call_later(0, broken_timer)
    os.write(watched.writer, b"x")
    watched.loop.turn()
    assert [str(error) for error in mine] == ["handler", "timer"]
    assert watched.errors == []


def test_an_ended_child_wakes_the_loop(watched: Watched) -> None:
    before = signal.getsignal(signal.SIGCHLD)
    statuses: list[int] = []
    try:
        child = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 3"], {})

        def on_children() -> None:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                statuses.append(os.waitstatus_to_exitcode(status))
                watched.loop.stop()

        watched.loop.watch_children(on_children)
        # It may have ended before it was watched for.
        watched.loop.call_later(0, on_children)
        watched.loop.run()
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, before)
    assert statuses == [3]
