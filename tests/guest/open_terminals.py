"""A terminal without a program, to be shown things on, and a flood of them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from cloche_guest import spawn
from cloche_guest.users import look_up
from cloche_wire.events import Received
from tests.support.stream_bench import Bench

ME = look_up(str(os.geteuid()))


def command(*argv: str) -> spawn.Command:
    return spawn.Command(argv, {"PATH": spawn.DEFAULT_PATH}, "/", ME)


@dataclass
class Terminal:
    """Our end and the program's, without a program. A raw one: what is written is what is read."""

    ours: int
    program: int

    def show(self, data: bytes) -> None:
        os.write(self.program, data)

    def hang_up(self) -> None:
        """Nobody has the program's side open any more."""
        if self.program >= 0:
            os.close(self.program)
            self.program = -1


class Frames:
    """A flood on a terminal, and how many frames and bytes of it have come at the far end."""

    def __init__(self, bench: Bench, terminal: Terminal) -> None:
        self._bench, self._terminal = bench, terminal

    def flood(self, gulps: int) -> None:
        for _ in range(gulps):
            self._terminal.show(b"x" * 3000)
            before = self._bench.progress
            while self._bench.progress == before:
                self._bench.loop.turn()
            self._bench.exchange()

    def come(self) -> int:
        return len([event for event in self._bench.arrived if isinstance(event, Received)])
