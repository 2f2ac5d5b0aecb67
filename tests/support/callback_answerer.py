"""The agent's callback socket, played by a thread: for tests of the library that programs in a machine import.

One connection after another gets the next of the scripted answers; what was asked stays to be looked at.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_BOUND_S = 10.0

SILENCE = None
"""In place of an answer: none is given until the caller has gone."""


class Unheard(bytes):
    """An answer that is given, and the connection closed, before anything of the request is read."""


class CallbackAnswerer:
    """What was asked, and how it is answered."""

    def __init__(self, path: Path, answers: Sequence[bytes | None]) -> None:
        self.path = path
        self.requests: list[dict[str, Any]] = []
        """What was asked, in order."""
        self.hung_up = threading.Event()
        """Set when a caller that got no answer has gone."""
        self._answers = answers
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        self._listening.settimeout(_BOUND_S)
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """Begins to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Ends it, however many have come."""
        # A listening socket that is shut down wakes the one who waits for it.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join(_BOUND_S)
        self._listening.close()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            for answer in self._answers:
                caller, _ = self._listening.accept()
                caller.settimeout(_BOUND_S)
                if isinstance(answer, Unheard):
                    caller.sendall(answer)
                    caller.close()
                    continue
                with caller, caller.makefile("rb") as lines:
                    self.requests.append(json.loads(lines.readline()))
                    if answer is None:
                        if lines.readline() == b"":
                            self.hung_up.set()
                    else:
                        caller.sendall(answer)


@contextlib.contextmanager
def answering(folder: Path, *answers: bytes | None) -> Iterator[CallbackAnswerer]:
    """A callback socket in this folder; ended afterwards."""
    answerer = CallbackAnswerer(folder / "callback.sock", answers)
    answerer.start()
    try:
        yield answerer
    finally:
        answerer.stop()


def result(value: Any) -> bytes:
    """The line that gives a result."""
    return json.dumps({"result": value}).encode() + b"\n"


def error(code: str, message: str = "because") -> bytes:
    """The line that says why there is none."""
    return json.dumps({"error": {"code": code, "message": message}}).encode() + b"\n"
