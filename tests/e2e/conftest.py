"""A real hub with real machines, as a program of its own, under a home of this run and the shared cache."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cloche.cli.main import run_command
from cloche_hub.ports import Image
from tests.e2e.guarded import POLICY

_READY_S = 60
_STOP_S = 60
_COMMAND_S = 120


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
            pytest.fail(f"the hub did not start: {said['error']}\n{(self.home / 'hub.log').read_text()}")

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


@pytest.fixture(scope="session")
def python_is_built(python_image: Image) -> Image:
    """The default recipe has an image, so that no test waits for one."""
    return python_image


@pytest.fixture(scope="package")
def real_hub(python_is_built: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHub]:
    """One hub for all tests that leave it as they found it."""
    hub = RealHub(tmp_path_factory.mktemp("e2e"))
    hub.start()
    try:
        yield hub
    finally:
        hub.stop()


@pytest.fixture(scope="package")
def box(real_hub: RealHub) -> Iterator[str]:
    """A sandbox in it that any test may run commands in."""
    created = real_hub.cloche("create", "--name", "box", "--label", "for=tests", "--json")
    assert created.status == 0, created.err
    yield str(json.loads(created.out)["id"])
    real_hub.cloche("rm", "box")


@pytest.fixture
def own_hub(python_is_built: Image, tmp_path: Path) -> Iterator[RealHub]:
    """A hub for one test, which may do anything to it; not started yet."""
    hub = RealHub(tmp_path)
    try:
        yield hub
    finally:
        hub.stop()


@pytest.fixture(scope="module")
def guarded_hub(python_is_built: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHub]:
    """A hub with the policy `guarded.POLICY` that learns soon when a guest is silent; its tests spoil sandboxes."""
    home = tmp_path_factory.mktemp("guarded")
    (home / "policy.toml").write_text(POLICY)
    patience = {"CLOCHE_SILENT_AFTER_S": "2", "CLOCHE_HEARTBEAT_INTERVAL_S": "0.5", "CLOCHE_TCG_SCALE": "3"}
    hub = RealHub(home, **patience)
    hub.start()
    try:
        yield hub
    finally:
        hub.stop()


@pytest.fixture
def client_env(real_hub: RealHub, monkeypatch: pytest.MonkeyPatch) -> RealHub:
    """This process is a client of the hub."""
    monkeypatch.setenv("CLOCHE_HOME", str(real_hub.home))
    return real_hub


@pytest.fixture
def quick(client_env: RealHub, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs a command line in this process, where starting another one would prove nothing more."""

    def run(*words: str) -> Ran:
        capfd.readouterr()
        status = run_command(list(words))
        written = capfd.readouterr()
        return Ran(status, written.out.encode(), written.err)

    return run
