"""One channel between two connections joined in memory, and a loop for what is read and written at its near end."""

from __future__ import annotations

import time
from collections.abc import Callable

from cloche_guest.loop import Loop, Scope
from cloche_guest.pipes import Input, Output
from cloche_guest.terminals import Display
from cloche_wire.connection import Connection
from cloche_wire.events import Event, Received
from cloche_wire.limits import Limits


class Bench:
    """The near end is the agent's.

    Args:
        window: bytes a stream may carry ahead of what was consumed.
    """

    def __init__(self, window: int = 256 << 10) -> None:
        self.errors: list[Exception] = []
        self.loop = Loop(self.errors.append)
        self.scope = Scope(self.loop, self.errors.append)
        limits = Limits(window=window)
        self.near = Connection(leader=False, software="agent/1", limits=limits)
        self.far = Connection(leader=True, software="hub/1", session=bytes(16), limits=limits)
        self.near.link_up()
        self.far.link_up()
        self.arrived: list[Event] = []
        self.to_near: list[Event] = []
        self.frames = 0
        self.exchange()
        self.channel = self.far.open("exec", {})
        self.exchange()
        self.near.accept(self.channel)
        self.exchange()
        self.arrived.clear()
        self.progress = 0

    def exchange(self) -> None:
        """Both connections say what they have to say."""
        while True:
            there, back = self.near.data_to_send(), self.far.data_to_send()
            if not there and not back:
                return
            if there:
                events = self.far.feed(there)
                self.arrived += events
            if back:
                self.to_near += self.near.feed(back)

    def output(self, fd: int, clock: Callable[[], float] = time.monotonic) -> Output:
        """A pipe that is read from."""
        output = Output(
            self.scope,
            self.near,
            channel=self.channel,
            stream=1,
            fd=fd,
            on_progress=self._on_progress,
            clock=clock,
        )
        output.resume()
        return output

    def display(self, fd: int, clock: Callable[[], float] = time.monotonic) -> Display:
        """A terminal that is read from."""
        display = Display(
            self.scope,
            self.near,
            channel=self.channel,
            stream=1,
            fd=fd,
            on_progress=self._on_progress,
            clock=clock,
        )
        display.resume()
        return display

    def input(self, fd: int | None) -> Input:
        """A pipe or a terminal that is written to."""
        return Input(self.scope, self.near, channel=self.channel, stream=1, fd=fd)

    def received(self) -> bytes:
        """What has come at the far end."""
        return b"".join(event.data for event in self.arrived if isinstance(event, Received))

    def turns(self, seconds: float = 0.02) -> int:
        """Runs the loop for a while; returns how often it woke up."""
        turns = 0

        def count() -> None:
            nonlocal turns
            turns += 1

        self.loop.on_turn_end = count
        self.loop.call_later(seconds, self.loop.stop)
        self.loop.run()
        return turns

    def settle(self) -> None:
        """Runs the loop until what little there is to do is done."""
        # In steps: where the host stands still for longer than one, the next has its turns all the same.
        for _ in range(4):
            self.turns(0.01)

    def _on_progress(self) -> None:
        self.progress += 1
