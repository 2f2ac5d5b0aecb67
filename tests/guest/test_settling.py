"""When a command's output counts as complete: what is owed is waited for, who is left behind is not."""

from __future__ import annotations

from dataclasses import dataclass

from cloche_guest.loop import Callback, Loop, Scope, Timer
from cloche_guest.settling import SETTLE_S, SILENCE_S, Settling


@dataclass
class FakeOutput:
    has_ended: bool = False
    is_paused: bool = False
    owed: int = 0


class HastyScope(Scope):
    """Notes for how long it is asked to wait, and waits for nothing."""

    def __init__(self, loop: Loop) -> None:
        super().__init__(loop, _fail)
        self.delays: list[float] = []

    def call_later(self, delay_s: float, callback: Callback) -> Timer:
        self.delays.append(round(delay_s, 6))
        return super().call_later(0, callback)


class Bench:
    """Outputs, a clock that stands still until it is moved, and timers that run when they are asked to."""

    def __init__(self, *outputs: FakeOutput) -> None:
        self.outputs, self.now, self.completed = outputs, 100.0, 0
        self._loop = Loop(_fail)
        self._scope = HastyScope(self._loop)
        self.settling = Settling(self._scope, outputs, self._on_complete, clock=lambda: self.now)

    @property
    def delays(self) -> list[float]:
        """How long it was asked to wait."""
        return self._scope.delays

    def time_passes(self, seconds: float) -> None:
        """The clock moves, and the timer that waits runs."""
        self.now += seconds
        self._loop.call_later(0, lambda: None)
        self._loop.turn()

    def _on_complete(self) -> None:
        self.completed += 1


def _fail(error: Exception) -> None:
    raise AssertionError from error


def test_nothing_is_complete_before_the_command_has_ended() -> None:
    bench = Bench(FakeOutput(has_ended=True))
    bench.settling.progressed()
    assert bench.completed == 0
    bench.settling.begin()
    assert bench.completed == 1


def test_output_that_has_ended_is_complete_at_once() -> None:
    bench = Bench(FakeOutput(), FakeOutput(has_ended=True))
    bench.settling.begin()
    bench.outputs[0].has_ended = True
    bench.settling.progressed()
    bench.settling.progressed()
    assert bench.completed == 1


def test_silence_makes_output_complete_that_somebody_holds_open() -> None:
    bench = Bench(FakeOutput())
    bench.settling.begin()
    bench.now += 0.06
    bench.settling.progressed()
    bench.time_passes(0.04)
    assert bench.completed == 0
    bench.time_passes(0.06)
    assert bench.completed == 1
    assert bench.delays == [SILENCE_S, 0.06]


def test_output_without_silence_is_complete_after_a_second() -> None:
    bench = Bench(FakeOutput())
    bench.settling.begin()
    while not bench.completed:
        bench.now += SILENCE_S / 2
        bench.settling.progressed()
        bench.time_passes(SILENCE_S / 4)
        assert bench.now <= 100 + SETTLE_S + SILENCE_S
    assert bench.now >= 100 + SETTLE_S


def test_what_is_owed_is_waited_for_without_end_and_without_a_timer() -> None:
    bench = Bench(FakeOutput(is_paused=True, owed=1))
    bench.settling.begin()
    bench.now += 1000
    bench.settling.progressed()
    assert (bench.completed, bench.delays) == (0, [])
    bench.outputs[0].owed = 0
    bench.settling.progressed()
    assert bench.completed == 1


def test_waiting_that_was_cancelled_says_nothing() -> None:
    bench = Bench(FakeOutput())
    bench.settling.begin()
    bench.settling.cancel()
    bench.settling.cancel()
    bench.now += 1000
    bench.settling.progressed()
    assert bench.completed == 0
