"""A real hub with real machines, as a program of its own, under a home of this run and the shared cache."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cloche.cli.main import run_command
from cloche_hub.ports import Image
from tests.e2e.guarded import POLICY
from tests.support.real_hub import Ran, RealHub


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
