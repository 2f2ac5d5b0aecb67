"""The dashboard's end of a browser tab: it gets its size from the server, and ends with its tab, come what may.

The server has the dashboard use `TabDriver` by the variable TEXTUAL_DRIVER.

Rule: the process never outlives its tab. Textual's own driver goes on without input, at full speed, when a tab is closed
before the dashboard has begun; so the two pipes to the server are watched from beside the event loop, and who has not
left `GRACE_S` after they broke is ended on the spot.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import messages
from textual.drivers.web_driver import WebDriver

if TYPE_CHECKING:
    from textual.app import App

SIZE = "CLOCHE_TAB_SIZE"
"""The variable with the tab's columns and rows as it begins: `120x40`."""
DRIVER = f"{__name__}:TabDriver"
GRACE_S = 3.0
_LARGEST = 1000


class TabDriver(WebDriver):
    """Textual's driver of a browser tab, which ends with it.

    Args:
        app: the dashboard.
        debug, mouse: as for every driver.
        size: columns and rows; if not given, what the server has told.
    """

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size or take_size(os.environ))
        self._write = partial(_write_while_there, self.fileno)
        end_with((sys.__stdin__, sys.__stdout__), lambda: app.post_message(messages.ExitApp()))


def take_size(environ: MutableMapping[str, str]) -> tuple[int, int] | None:
    """The size the server has told, which is taken out of the environment; None if it has told none.

    Programs that are started later would take a size of their environment for their own terminal's.
    """
    columns, _, rows = environ.pop(SIZE, "").partition("x")
    if not (columns.isdecimal() and rows.isdecimal()):
        return None
    return min(int(columns), _LARGEST), min(int(rows), _LARGEST)


def end_with(
    streams: tuple[Any, ...],
    ask: Callable[[], object],
    *,
    grace_s: float = GRACE_S,
    end: Callable[[int], object] = os._exit,
) -> threading.Thread:
    """Ends this process when the other side of a stream is gone, from a thread that needs nobody's help.

    Args:
        streams: open files on pipes or sockets.
        ask: asks the program to leave.
        grace_s: how long it has to do so.
        end: ends the process with a status.
    """
    poll = select.poll()
    for stream in streams:
        # No event at all: that the other side is gone is told unasked, also with input that nobody has read yet.
        poll.register(stream.fileno(), 0)

    def watch() -> None:
        poll.poll()
        ask()
        time.sleep(grace_s)
        end(1)

    watcher = threading.Thread(target=watch, name="tab-watch", daemon=True)
    watcher.start()
    return watcher


def _write_while_there(descriptor: int, data: bytes) -> int:
    try:
        return os.write(descriptor, data)
    except BrokenPipeError:
        return len(data)  # nobody looks any more: the dashboard is about to leave
