"""Work in steps: how many at a time, and what ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cloche_guest.files.slices import SLICE_S, Sliced, Steps, Wait
from cloche_guest.loop import Loop
from cloche_guest.trees import ProcessTrees
from cloche_guest.users import Account, Accounts
from cloche_guest.works import Surroundings
from cloche_wire.errors import CodedError, NotFound

CHANNEL = 7


class Connection:
    """Takes down what is said on channels."""

    def __init__(self) -> None:
        self.said: list[tuple[Any, ...]] = []

    def close(self, channel: int, result: dict[str, Any]) -> None:
        self.said.append(("close", channel, result))

    def reset(self, channel: int, error: CodedError) -> None:
        self.said.append(("reset", channel, error.code))

    def consume(self, channel: int, stream: int, count: int) -> None:
        self.said.append(("consume", channel, stream, count))


class Bench:
    """Sliced work, where time passes as the steps say."""

    def __init__(self, me: Account, steps: Callable[[Bench], Steps]) -> None:
        self.now = 0.0
        self.taken: list[str] = []
        self.ends = 0
        self.reports: list[str] = []
        self.connection = Connection()
        errors: list[Exception] = []
        self.loop = Loop(errors.append)
        connection: Any = self.connection
        self.around = Surroundings(
            self.loop,
            connection,
            ProcessTrees(),
            Accounts(),
            me.name,
            lambda _, what: self.reports.append(what),
        )
        self.work = Sliced(self.around, CHANNEL, me, steps(self), on_end=self._on_end, clock=lambda: self.now)
        self.around.works.add(CHANNEL, self.work)

    def _on_end(self) -> None:
        self.ends += 1

    def is_over(self) -> bool:
        return self.ends == 1 and self.around.works.on(CHANNEL) is None


def test_steps_are_taken_until_the_slice_is_over(me: Account) -> None:
    def steps(bench: Bench) -> Steps:
        for _ in range(5):
            bench.now += SLICE_S / 2
            bench.taken.append("step")
            yield Wait.TURN
        yield {"done": 5}

    bench = Bench(me, steps)
    counts = []
    bench.work.begin()
    while not bench.is_over():
        counts.append(len(bench.taken))
        bench.loop.turn()
    assert counts == [2, 4]
    assert bench.connection.said == [("close", CHANNEL, {"done": 5})]


def test_a_step_that_waits_for_credit_is_taken_when_there_is_some(me: Account) -> None:
    def steps(bench: Bench) -> Steps:
        bench.taken.append("first")
        yield Wait.CREDIT
        bench.taken.append("second")
        yield {}

    bench = Bench(me, steps)
    bench.work.begin()
    assert bench.taken == ["first"]
    bench.work.acknowledged(1)
    bench.work.acknowledged(1)
    assert bench.taken == ["first", "second"]
    assert bench.is_over()


def test_credit_that_nobody_waits_for_takes_no_step(me: Account) -> None:
    def steps(bench: Bench) -> Steps:
        bench.now += SLICE_S
        yield Wait.TURN
        bench.taken.append("second")
        yield {}

    bench = Bench(me, steps)
    bench.work.begin()
    bench.work.acknowledged(1)
    assert bench.taken == []
    bench.loop.turn()
    assert bench.taken == ["second"]


def test_work_that_is_killed_takes_no_more_steps_and_cleans_up_once(me: Account) -> None:
    def steps(bench: Bench) -> Steps:
        try:
            while True:
                bench.now += SLICE_S
                yield Wait.TURN
        finally:
            bench.taken.append("cleaned up")

    bench = Bench(me, steps)
    bench.work.begin()
    bench.work.kill()
    bench.work.kill()
    bench.loop.when_idle(lambda: bench.taken.append("turn"))
    bench.loop.turn()
    assert bench.taken == ["cleaned up", "turn"]
    assert bench.is_over()
    assert bench.connection.said == []


@pytest.mark.parametrize(
    ("error", "code", "reports"),
    [(NotFound("gone"), "not_found", []), (ZeroDivisionError(), "internal", [f"files, channel {CHANNEL}"])],
)
def test_a_later_step_that_fails_is_the_channels_end(
    me: Account, error: Exception, code: str, reports: list[str]
) -> None:
    def steps(bench: Bench) -> Steps:
        bench.now += SLICE_S
        yield Wait.TURN
        raise error

    bench = Bench(me, steps)
    bench.work.begin()
    bench.loop.turn()
    assert bench.connection.said == [("reset", CHANNEL, code)]
    assert bench.reports == reports
    assert bench.is_over()


def test_what_comes_on_a_stream_is_dropped(me: Account) -> None:
    def steps(_bench: Bench) -> Steps:
        yield Wait.CREDIT

    bench = Bench(me, steps)
    bench.work.begin()
    bench.work.received(1, b"12345")
    bench.work.ended(1)
    assert bench.connection.said == [("consume", CHANNEL, 1, 5)]
