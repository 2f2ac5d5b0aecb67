"""A real hub with real machines, as a program of its own, and command lines against it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

_READY_S = 60
_STOP_S = 60
_COMMAND_S = 120
_SHOWN_LOG = 8_000


@dataclass(frozen=True)
class Ran:
    """A command line that has ended."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Its output."""
        return self.out.decode()


class RealHub:
    """A hub's process and what reaches it.

    Args:
        home: its folder.
        variables: its environment, on top of this process's.
    """

    def __init__(self, home: Path, **variables: str) -> None:
        self.home = home
        # A client that is gone for good is noticed soon, one whose link was cut has time enough.
        bounds = {"CLOCHE_RESUME_GRACE_S": "4"}
        self.env = {**os.environ, "CLOCHE_HOME": str(home), **bounds, **variables}
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.home / "run/hub.sock"

    @property
    def address(self) -> str:
        """The same, as clients are told it."""
        return f"unix://{self.socket}"

    @property
    def token(self) -> str:
        """The admin's token."""
        return (self.home / "admin.token").read_text().strip()

    @property
    def log(self) -> str:
        """What it has logged, the newest part."""
        log = self.home / "hub.log"
        return log.read_text(errors="replace")[-_SHOWN_LOG:] if log.exists() else ""

    def start(self) -> None:
        """Starts it and waits until it listens."""
        reader, writer = os.pipe()
        with (self.home / "hub.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "cloche_hub", "serve", "--ready-fd", str(writer)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(writer,), env=self.env,
            )  # fmt: skip
        os.close(writer)
        with os.fdopen(reader, "rb") as ready:
            if not select.select([ready], [], [], _READY_S)[0]:
                self.kill()
                pytest.fail("the hub did not say that it is ready")
            said = json.loads(ready.readline() or '{"error": "it died"}')
        if "error" in said:
            pytest.fail(f"the hub did not start: {said['error']}\n{self.log}")

    def stop(self) -> None:
        """Ends it in good order, or at all."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it on the spot."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(number)
        try:
            self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            pytest.fail(f"the hub did not end within {_STOP_S} s")
        finally:
            self.process = None

    def cloche(self, *words: str, stdin: bytes | None = None, env: dict[str, str] | None = None) -> Ran:
        """Runs a command line against it."""
        done = subprocess.run(
            self.command(*words),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            env={**self.env, **(env or {})},
            timeout=_COMMAND_S,
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    @staticmethod
    def command(*words: str) -> list[str]:
        """A command line, to be started in whatever way."""
        return [sys.executable, "-m", "cloche.cli.main", *words]
