"""A tab's program: its size, and its end with the tab, whatever it is doing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cloche_tui.serve.tab import DRIVER, SIZE, end_with, take_size

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("told", "size"),
    [("120x40", (120, 40)), ("", None), ("x", None), ("12", None), ("-1x5", None), ("9999x2", (1000, 2))],
)
def test_the_size_is_what_the_server_has_told_and_is_told_to_nobody_else(
    told: str, size: tuple[int, int] | None
) -> None:
    environ = {SIZE: told, "HOME": "/"}
    assert take_size(environ) == size
    assert environ == {"HOME": "/"}


class _Ending:
    """Writes down what happens to a program that is to end."""

    def __init__(self) -> None:
        self.asked, self.ended = threading.Event(), threading.Event()
        self.status: int | None = None

    def end(self, status: int) -> None:
        self.status = status
        self.ended.set()


def _watch(*streams: object) -> _Ending:
    ending = _Ending()
    end_with(streams, ending.asked.set, grace_s=0.01, end=ending.end)
    return ending


def test_a_program_whose_input_has_ended_is_asked_to_leave_and_then_ended() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        ending = _watch(ours)
        assert not ending.asked.wait(0.05)
        # What nobody has read is no reason to stay.
        theirs.send(b"keys")
        theirs.close()
        assert ending.asked.wait(10)
        assert ending.ended.wait(10)
    assert ending.status == 1


def test_a_program_whose_output_nobody_reads_is_ended_too() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb", buffering=0) as output:
        ending = _watch(output)
        os.close(read_end)
        assert ending.ended.wait(10)


def _program(file: Path, manner: str) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "TEXTUAL_DRIVER": DRIVER, SIZE: "60x10"}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.tui.serve.small_app", file, manner],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ, cwd=ROOT,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("manner", "broken"),
    [("", {"stdin"}), ("", {"stdout"}), ("slow", {"stdin", "stdout"}), ("deaf", {"stdin"})],
)
def test_a_program_ends_by_itself_when_its_server_is_gone(
    tmp_path: Path, manner: str, broken: set[str]
) -> None:
    program = _program(tmp_path / "pids", manner)
    assert program.stdin is not None
    assert program.stdout is not None
    streams = {"stdin": program.stdin, "stdout": program.stdout}
    try:
        if manner != "slow":
            # It has begun: the word that every Textual program in a tab says first.
            assert program.stdout.readline() == b"__GANGLION__\n"
        for name in broken:
            streams[name].close()
        program.wait(timeout=20)
    finally:
        if program.poll() is None:
            program.send_signal(signal.SIGKILL)
            program.wait(timeout=5)
        for stream in streams.values():
            stream.close()
    assert program.returncode == (1 if manner == "deaf" else 0)
