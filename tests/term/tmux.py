"""tmux as a second opinion: it is fed bytes, and says what its screen shows then.

It runs on a socket of its own, without anybody's configuration. A program in its pane writes the bytes, asks tmux for its
status and waits for the answer: answers come in order, so all that was written has been read by then.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_BOUND_S = 30
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "TERM": "xterm-256color",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "SHELL": "/bin/sh",
}

_WRITER = """
import os, subprocess, sys, tty
folder, command = sys.argv[1], sys.argv[2:]
tty.setraw(0)
for number in range(len(os.listdir(folder))):
    subprocess.run([*command, "wait-for", f"write-{number}"])
    data = open(f"{folder}/{number}", "rb").read() + b"\\x1b[5n"
    while data:
        data = data[os.write(1, data):]
    answer = b""
    while not answer.endswith(b"\\x1b[0n"):
        answer += os.read(0, 1)
    subprocess.run([*command, "wait-for", "-S", f"written-{number}"])
sys.stdin.read()
"""


class Screen(NamedTuple):
    """What tmux shows."""

    text: tuple[str, ...]
    cursor: tuple[int, int]
    is_alternate: bool


@contextmanager
def tmux_screens(pieces: Sequence[bytes], rows: int, cols: int, folder: Path) -> Iterator[Iterator[Screen]]:
    """Feeds the pieces to tmux one by one, and gives its screen after each of them."""
    written = folder / "pieces"
    written.mkdir()
    for number, piece in enumerate(pieces):
        (written / str(number)).write_bytes(piece)
    (folder / "writer.py").write_text(_WRITER)
    # SAFETY: tmux listens in a folder only we can enter; what runs in it is the writer above.
    command = ("tmux", "-u", "-f", "/dev/null", "-S", str(folder / "socket"))
    pane = (sys.executable, str(folder / "writer.py"), str(written), *command)
    start = ("start-server", ";", "set-option", "-g", "status", "off", ";")
    _run(*command, *start, "new-session", "-d", "-x", str(cols), "-y", str(rows), *pane)
    try:
        yield (_screen_after(command, number, cols) for number in range(len(pieces)))
    finally:
        _run(*command, "kill-server")


def _screen_after(command: tuple[str, ...], number: int, cols: int) -> Screen:
    _run(*command, "wait-for", "-S", f"write-{number}")
    _run(*command, "wait-for", f"written-{number}")
    text = tuple(row.rstrip() for row in _run(*command, "capture-pane", "-p").split("\n")[:-1])
    row, col, alternate = _run(
        *command, "display-message", "-p", "#{cursor_y} #{cursor_x} #{alternate_on}"
    ).split()
    # Behind a full row tmux counts one column more than there are.
    return Screen(text, (int(row), min(int(col), cols - 1)), alternate == "1")


def _run(*argv: str) -> str:
    done = subprocess.run(argv, env=_ENVIRONMENT, check=True, capture_output=True, timeout=_BOUND_S)
    return done.stdout.decode()
