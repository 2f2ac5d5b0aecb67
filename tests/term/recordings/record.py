"""Records what real programs write to a terminal: `python -m tests.term.recordings.record`, as root, with the programs.

Not a test: the recordings are committed, since machines that run tests have no vim, htop or less. Each runs alone in
namespaces of its own (processes, host name), in an empty folder with an empty environment, so that nothing of the
machine it was recorded on gets into it. A recording is the plain bytes, compressed.
"""

from __future__ import annotations

import fcntl
import gzip
import os
import pty
import select
import struct
import sys
import tempfile
import termios
from pathlib import Path
from typing import NamedTuple

ROWS, COLS = 40, 120
_FOLDER = Path(__file__).parent
_QUIET_S = 0.4
_ENVIRONMENT = {
    "TERM": "xterm-256color",
    "LANG": "C.UTF-8",
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/nowhere",
}

_PROGRAM = '''"""A garden: beds, bells and what grows under them – naïve, but ours: 日本語のテキスト."""

import dataclasses

FROST_C = -2.5
NAMES = {"lettuce": 3, "radish": 5, "bröckli": 8}


@dataclasses.dataclass(frozen=True)
class Bed:
    """One bed of plants."""

    name: str
    plants: int

    def is_covered(self, bells: int) -> bool:
        """Whether there is a bell for every plant."""
        return bells >= self.plants  # one each


def night(beds: list[Bed], bells: int, temperature_c: float) -> list[str]:
    if temperature_c > FROST_C:
        return []
    lost = []
    for bed in beds:
        if not bed.is_covered(bells):
            lost.append(f"{bed.name}: {bed.plants - bells} of {bed.plants}")
        bells = max(0, bells - bed.plants)
    return lost
'''


class Session(NamedTuple):
    """A program, the file it is given, and what is typed."""

    argv: tuple[str, ...]
    keys: tuple[bytes, ...]


_VIM = (
    *("vim", "-N", "-u", "NONE", "-i", "NONE", "-n"),
    *(
        "--cmd",
        "set number ruler laststatus=2 showcmd incsearch hlsearch mouse=a background=dark",
        "garden.py",
    ),
)
SESSIONS = {
    "vim": Session(
        _VIM,
        (
            *(
                b":syntax on\r",
                b"\x06",
                b"\x06",
                b"gg",
                b"/bells\r",
                b"n",
                b"n",
                b"VGy",
                b"Gp",
                b"\x02",
                b"gg",
            ),
            *(
                b":vsplit\r",
                b"\x17l",
                b"10j",
                b"dd",
                b"dd",
                b"u",
                b"\x17h",
                b":set list\r",
                b"zz",
                b"\x04",
                b"\x15",
            ),
            *(
                "oΩmega 日本 é — typed\x1b".encode(),
                b":split\r",
                b"ggVG=",
                b":%s/bed/BED/g\r",
                b"u",
                b":only\r",
            ),
            *(
                b"5\x05",
                b"5\x19",
                b"\x16jjjlllc##\x1b",
                b":set nowrap\r",
                b"20zl",
                b"0",
                b":messages\r",
                b"\r",
            ),
            *(b":echo range(200)\r", b" ", b"\r", b":qa!\r"),
        ),
    ),
    "less": Session(
        ("less", "-N", "-R", "garden.py"),
        (
            b" ",
            b"b",
            b"/plants\r",
            b"n",
            b"N",
            b"G",
            b"g",
            b"3j",
            b"2k",
            b"&def\r",
            b"&\r",
            b"-S\r",
            b"\x1b[C",
            b"h",
            b"q",
            b"q",
        ),
    ),
    "htop": Session(
        ("sh", "-c", "sleep 1001 & sleep 1002 & sleep 1003 & exec htop -d 5"),
        (
            *(
                b"\x1b[B",
                b"\x1b[B",
                b"\x1b[A",
                b"t",
                b"t",
                b"\x1b[17~",
                b"\x1b[B",
                b"\x1b[B",
                b"\r",
                b"/sleep",
                b"\x1b",
            ),
            *(
                b"\x1bOQ",
                b"\x1b[B",
                b"\x1b[B",
                b"\x1b[C",
                b"\x1b[21~",
                b"\\100",
                b"\r",
                b"H",
                b"K",
                b"I",
                b"?",
                b" ",
                b"q",
            ),
        ),
    ),
}


def record(session: Session, folder: Path) -> bytes:
    """Runs a session in a folder; returns what the program wrote."""
    (folder / "garden.py").write_text(_PROGRAM * 3)
    command = (
        *("unshare", "--pid", "--fork", "--mount-proc", "--uts"),
        "sh",
        "-c",
        'hostname garden; exec "$@"',
        "sh",
    )
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        # SAFETY: runs as root what the table above names, in namespaces of its own.
        os.execvpe("unshare", [*command, *session.argv], _ENVIRONMENT)
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLS, 0, 0))
        written = _read(terminal)
        for keys in session.keys:
            os.write(terminal, keys)
            written += _read(terminal)
        return written
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def _read(terminal: int) -> bytes:
    """What is written until it is quiet."""
    written = b""
    while select.select([terminal], [], [], _QUIET_S)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux says so when the program is gone
            break
        if not piece:
            break
        written += piece
    return written


def main() -> None:
    """Records all of them."""
    for name, session in SESSIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            written = record(session, Path(folder))
        (_FOLDER / f"{name}.vt.gz").write_bytes(gzip.compress(written, mtime=0))
        sys.stdout.write(f"{name}: {len(written)} bytes\n")


if __name__ == "__main__":
    main()
