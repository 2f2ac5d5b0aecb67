"""The callback socket and who connects to it, hostile ones among them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cloche_guest import callers
from cloche_guest.callback_messages import MAX_LINE
from cloche_guest.callers import MOST_SILENT, MOST_SLOW, Caller, Callers, listen, program_behind
from cloche_guest.loop import Loop

BOUND_S = 10.0


class Side:
    """The agent's side: a loop that runs as far as a test asks, and what has come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.errors: list[Exception] = []
        self.loop = Loop(self.errors.append)
        self.lines: list[bytes] = []
        self.callers: list[Caller] = []
        self.gone: list[Caller] = []
        self.on_line: Callable[[Caller, bytes], None] = lambda _caller, _line: None
        self.listening = listen(str(path))
        self.all = Callers(
            self.loop,
            self.listening,
            on_line=self._on_line,
            report=lambda error, _what: self.errors.append(error),
        )

    def _on_line(self, caller: Caller, line: bytes) -> None:
        self.lines.append(line)
        self.callers.append(caller)
        caller.on_gone = lambda: self.gone.append(caller)
        self.on_line(caller, line)

    def run_until(self, has_happened: Callable[[], bool]) -> None:
        """Turns the loop until something has happened."""
        ends_at = time.monotonic() + BOUND_S
        while not has_happened():
            assert time.monotonic() < ends_at, "it did not happen in time"
            self.loop.call_later(0.005, lambda: None)
            self.loop.turn()

    def connect(self) -> socket.socket:
        """A program's end."""
        caller = socket.socket(socket.AF_UNIX)
        caller.settimeout(BOUND_S)
        caller.connect(str(self.path))
        return caller

    def read_answer(self, caller: socket.socket) -> dict[str, Any]:
        """What a caller has got by the end of its connection."""
        caller.settimeout(0)
        pieces: list[bytes] = []

        def is_over() -> bool:
            try:
                pieces.append(caller.recv(1 << 20))
            except BlockingIOError:
                return False
            except ConnectionResetError:
                return True
            return pieces[-1] == b""

        self.run_until(is_over)
        answer: dict[str, Any] = json.loads(b"".join(pieces))
        return answer


@pytest.fixture
def side(tmp_path: Path) -> Iterator[Side]:
    made = Side(tmp_path / "callback.sock")
    made.all.serve()
    yield made
    made.listening.close()
    for caller in [*made.callers, *made.all._silent, *made.all._asking, *made.all._answering]:
        caller.close()
    assert made.errors == []


def test_everybody_may_connect(side: Side) -> None:
    assert side.path.stat().st_mode & 0o777 == 0o666


def test_a_line_comes_whole_however_it_was_sent(side: Side) -> None:
    with side.connect() as caller:
        for piece in (b"one ", b"line", b"\nand what nobody asked for"):
            caller.sendall(piece)
            side.loop.call_later(0, lambda: None)
            side.loop.turn()
        side.run_until(lambda: bool(side.lines))
        side.callers[0].answer(b'{"result":1}\n')
        assert side.read_answer(caller) == {"result": 1}
    assert side.lines == [b"one line"]


def test_those_who_came_before_serving_began_are_served(tmp_path: Path) -> None:
    side = Side(tmp_path / "early.sock")
    with side.connect() as caller:
        caller.sendall(b"early\n")
        side.loop.call_later(0, lambda: None)
        side.loop.turn()
        assert side.lines == []
        side.all.serve()
        side.run_until(lambda: side.lines == [b"early"])
        side.callers[0].close()
    side.listening.close()


def test_a_caller_that_closes_while_it_waits_is_told_of_once(side: Side) -> None:
    with side.connect() as caller:
        caller.sendall(b"x\n")
        side.run_until(lambda: bool(side.callers))
    side.run_until(lambda: bool(side.gone))
    side.callers[0].answer(b"late\n")
    assert side.gone == side.callers


def test_a_hang_up_of_somebody_who_had_the_same_number_is_not_this_callers(side: Side) -> None:
    with side.connect() as caller:
        caller.sendall(b"x\n")
        side.run_until(lambda: bool(side.callers))
        side.callers[0]._on_events(select.EPOLLHUP)
        assert side.gone == []


def test_a_caller_that_only_sends_no_more_still_gets_its_answer(side: Side) -> None:
    with side.connect() as caller:
        caller.sendall(b"x\n")
        caller.shutdown(socket.SHUT_WR)
        side.run_until(lambda: bool(side.callers))
        for _ in range(3):
            side.loop.call_later(0, lambda: None)
            side.loop.turn()
        assert side.gone == []
        side.callers[0].answer(b'{"result":2}\n')
        assert side.read_answer(caller) == {"result": 2}


def test_a_caller_that_says_nothing_has_to_go_at_a_deadline(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "LINE_S", 0.02)
    with side.connect() as caller:
        caller.sendall(b"no newline")
        assert side.read_answer(caller)["error"]["code"] == "timed_out"


def test_a_caller_that_ends_without_a_newline_is_told(side: Side) -> None:
    with side.connect() as caller:
        caller.sendall(b"half a line")
        caller.shutdown(socket.SHUT_WR)
        assert side.read_answer(caller)["error"]["code"] == "bad_request"


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_a_line_that_is_too_long_is_refused_when_it_is(side: Side, ending: bytes) -> None:
    with side.connect() as caller:
        caller.settimeout(0)
        left = memoryview(b"x" * MAX_LINE + ending)
        while left:
            with contextlib.suppress(BlockingIOError):
                left = left[caller.send(left) :]
            side.loop.call_later(0, lambda: None)
            side.loop.turn()
            if not ending and not left:
                left, ending = memoryview(b"x"), b"sent"
        assert side.read_answer(caller)["error"]["code"] == "too_large"
    assert side.lines == []


def test_the_one_that_is_silent_for_longest_makes_room(side: Side) -> None:
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(side.connect()) for _ in range(MOST_SILENT + 1)]
        assert side.read_answer(silent[0])["error"]["code"] == "too_large"
        silent[1].sendall(b"still here\n")
        side.run_until(lambda: side.lines == [b"still here"])


def test_of_those_that_have_begun_to_ask_the_slowest_makes_room(side: Side) -> None:
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(side.connect()) for _ in range(MOST_SLOW + 1)]
        for caller in slow:
            caller.sendall(b"half ")
        assert side.read_answer(slow[0])["error"]["code"] == "too_large"
        slow[1].sendall(b"a line\n")
        side.run_until(lambda: side.lines == [b"half a line"])


def test_who_does_not_take_an_answer_has_to_go(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers, "LINE_S", 0.02)
    with side.connect() as caller:
        caller.sendall(b"x\n")
        side.run_until(lambda: bool(side.callers))
        # More than a socket's buffers hold.
        side.callers[0].answer(b"y" * (8 << 20) + b"\n")
        assert len(side.all._answering) == 1
        side.run_until(lambda: not side.all._answering)


def test_the_one_that_has_not_taken_its_answer_for_longest_makes_room(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "MOST_SLOW", 2)
    with contextlib.ExitStack() as stack:
        for count in range(1, 4):
            stack.enter_context(side.connect()).sendall(b"x\n")
            side.run_until(lambda expected=count: len(side.callers) == expected)  # type: ignore[misc]
            side.callers[-1].answer(b"y" * (8 << 20) + b"\n")
        assert list(side.all._answering) == side.callers[1:]


def test_a_large_answer_arrives_whole(side: Side) -> None:
    text = "y" * (4 << 20)
    with side.connect() as caller:
        caller.sendall(b"x\n")
        side.run_until(lambda: bool(side.callers))
        side.callers[0].answer(json.dumps({"result": text}).encode() + b"\n")
        assert side.read_answer(caller) == {"result": text}


def test_a_defect_costs_the_caller_that_met_it_and_no_other(side: Side) -> None:
    def fail(_caller: Caller, _line: bytes) -> None:
        raise LookupError("a defect")

    side.on_line = fail
    with side.connect() as unlucky, side.connect() as other:
        unlucky.sendall(b"x\n")
        side.run_until(lambda: bool(side.errors))
        assert unlucky.recv(10) == b""
        side.errors.clear()
        side.on_line = lambda _caller, _line: None
        other.sendall(b"fine\n")
        side.run_until(lambda: side.lines == [b"x", b"fine"])


def test_who_calls_is_what_the_kernel_says(side: Side) -> None:
    with side.connect() as caller:
        caller.sendall(b"x\n")
        side.run_until(lambda: bool(side.callers))
    program = side.callers[0].program
    assert (program.pid, program.uid) == (os.getpid(), os.getuid())
    assert program.name == Path("/proc/self/comm").read_text().strip()


def test_a_name_that_would_move_a_cursor_does_not(tmp_path: Path) -> None:
    here, there = socket.socketpair()
    comm = Path("/proc/self/comm")
    before = comm.read_text().strip()
    try:
        comm.write_bytes(b"a\x1b[2J\xff\nb")
        with here, there:
            name = program_behind(here.fileno()).name
    finally:
        comm.write_text(before)
    assert name == "a?[2J�?b"


def test_without_a_free_descriptor_nothing_spins_and_nobody_is_lost(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "_PAUSE_S", 0.01)
    tries: list[int] = []

    def refuse(_listening: object) -> int:
        tries.append(1)
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as full, side.connect() as caller:
        full.setattr(callers, "_accept", refuse)
        caller.sendall(b"patient\n")
        side.run_until(lambda: len(tries) == 1)
        assert side.listening.fileno() not in side.loop._handlers
        side.run_until(lambda: len(tries) == 2)
        full.undo()
        side.run_until(lambda: side.lines == [b"patient"])
