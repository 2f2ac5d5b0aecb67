"""A program of a tab's: a small Textual app that says who it is, and can misbehave.

    python -m tests.tui.serve.small_app FILE [slow | deaf | stuck | dies]

It writes its pid to FILE as it begins. `slow` begins when its tab is gone, `deaf` does nothing that it is asked, `stuck`
can only be killed, `dies` ends before it has begun. All but `deaf` have as much time to leave as they take.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from functools import partial
from pathlib import Path

from textual.app import App, ComposeResult
from textual.widgets import Label

from cloche_tui.serve import tab
from cloche_tui.serve.tab import end_with


class SmallApp(App[None]):
    """Says how large it is and what the environment says of that."""

    def compose(self) -> ComposeResult:
        """One line."""
        told = [name for name in ("COLUMNS", "LINES", "ROWS", "CLOCHE_TAB_SIZE") if name in os.environ]
        yield Label(f"size {self.size.width}x{self.size.height} told {told}", markup=False)

    def on_key(self) -> None:
        """Leaves."""
        self.exit()


class DeafApp(SmallApp):
    """Whatever it is asked, it is busy."""

    def on_mount(self) -> None:
        """Never comes back to its event loop."""
        while True:
            time.sleep(0.01)


def wait_for_end_of(descriptor: int) -> None:
    """Waits until the other side is gone, 20 seconds at most."""
    poll = select.poll()
    poll.register(descriptor, 0)
    poll.poll(20_000)


def main() -> None:
    """The program."""
    file, manner = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    with file.open("a") as pids:
        pids.write(f"{os.getpid()}\n")
    if manner == "stuck":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.stdout.write("__GANGLION__\n")
        sys.stdout.flush()
        while True:
            signal.pause()
    if manner == "slow":
        wait_for_end_of(sys.stdin.fileno())
    if manner != "deaf":
        tab.end_with = partial(end_with, grace_s=60)
    if manner != "dies":
        (DeafApp if manner == "deaf" else SmallApp)().run()


if __name__ == "__main__":
    main()
