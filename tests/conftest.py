"""What every test stands on: one environment for the whole run, and proof that nothing is left running.

Rules:
- No test can reach the hub of the person who runs the tests: `CLOCHE_HOME` is a folder of this run. Images and
  templates are shared with everybody (`CLOCHE_CACHE`): they cost minutes, and building them twice proves nothing.
- The images that the chosen tests need are built before the first test, with their progress on the terminal.
- A process that outlives the run fails it, and is ended.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from cloche_hub.ports import Image
from cloche_term.apart.terminals import Terminals, open_terminals
from cloche_term.apart.zygote import Zygote
from cloche_wire.errors import CodedError
from tests.support.hub import ZYGOTE
from tests.support.images import FIXTURES, build_image, find_image
from tests.support.real_hub import RealHub

_MACHINE_TEST_S = 180
"""Bound of a test that boots real machines, in software emulation on a busy host."""

# Deadlines and "too slow" judge the host, not the code. The default run tries the same examples every time, so that
# a red run is a change of ours; `make fuzz` looks for new ones.
settings.register_profile(
    "default", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "fuzz", settings.get_profile("default"), derandomize=False, max_examples=5_000, print_blob=True
)
settings.load_profile("default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives tests on real machines a bound of their own, and has them begin first.

    They take longest: begun last, they would leave one processor without work at the end.
    """
    items.sort(key=lambda item: item.get_closest_marker("machine") is None)
    for item in items:
        if item.get_closest_marker("machine") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_MACHINE_TEST_S))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Builds the images that the chosen tests need."""
    if session.config.option.collectonly:
        return
    terminal = session.config.get_terminal_writer()
    used = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    for recipe in (recipe for fixture, recipe in FIXTURES.items() if fixture in used):
        try:
            build_image(recipe, tell=terminal.line)
        except CodedError as error:
            pytest.exit(f"{error.message}\nTests without machines: pytest -m 'not machine'", returncode=1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shows with a failure what the hubs that the test used have logged."""
    report = yield
    if report.failed:
        used = {one for one in getattr(item, "funcargs", {}).values() if isinstance(one, RealHub)}
        report.sections += [(f"log of the hub in {hub.home}", hub.log) for hub in used]
    return report


@pytest.fixture(scope="session")
def minimal_image() -> Image:
    """The image of the recipe `minimal`."""
    return find_image("minimal")


@pytest.fixture(scope="session")
def python_image() -> Image:
    """The image of the recipe `python`."""
    return find_image("python")


@pytest.fixture(scope="session")
def tools_image() -> Image:
    """The image of the recipe `tools`."""
    return find_image("tools")


@pytest.fixture(scope="session")
def zygote() -> Zygote:
    """What the processes of all terminals come from: a terminal costs some milliseconds then."""
    return ZYGOTE


@pytest.fixture
async def terminals(zygote: Zygote) -> AsyncIterator[Terminals]:
    """Opens terminals in processes of their own, which end with the test."""
    async with open_terminals(zygote=zygote) as opened:
        yield opened


@pytest.fixture(scope="session", autouse=True)
def _own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Moves this run's state away from the user's, and ends the run red if a process of it is still there."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CLOCHE_HUB", "CLOCHE_TOKEN"):
            patch.delenv(name, raising=False)
        patch.setenv("CLOCHE_HOME", str(tmp_path_factory.mktemp("home")))
        try:
            yield
        finally:
            ZYGOTE.close()
    left = _end_processes_of(tmp_path_factory.getbasetemp())
    if left:
        pytest.fail("tests left these running:\n" + "\n".join(left))


@pytest.fixture(autouse=True)
def _usual_process() -> Iterator[None]:
    """Every test begins with the usual umask and log: a hub that runs in this process sets its own, as it should."""
    structlog.reset_defaults()
    before = os.umask(0o022)
    yield
    os.umask(before)


def _end_processes_of(folder: Path) -> list[str]:
    """Ends what still runs of `folder` and returns a line about each; what is on its way out has two seconds."""
    ended: list[str] = []
    # More than once: a process may start another one while we look.
    for _ in range(5):
        for pid, words in _processes_of(folder).items():
            if _ends_within(pid, seconds=2):
                continue
            ended.append(f"  {pid}: {words}")
            # SAFETY: only processes whose arguments or environment name the folder of this very run.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    return ended


def _processes_of(folder: Path) -> dict[int, str]:
    """Every process that has `folder` in its arguments or its environment, this one and its ancestors aside."""
    # With the slash: the folder of run 1 begins like that of run 12.
    needle = os.fsencode(f"{folder}/")
    ours = _ancestry()
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in ours:
            continue
        try:
            arguments = (entry / "cmdline").read_bytes()
            if needle in arguments or needle in (entry / "environ").read_bytes():
                found[int(entry.name)] = arguments.replace(b"\0", b" ").decode(errors="replace")[:200]
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # gone meanwhile, or somebody else's
    return found


def _ancestry() -> set[int]:
    pids, pid = set(), os.getpid()
    while pid > 0:
        pids.add(pid)
        # The name, in parentheses, may hold spaces: count fields from its end. The second one after it is the parent.
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pids


def _ends_within(pid: int, *, seconds: float) -> bool:
    """Whether a process on its way out is gone in time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)
