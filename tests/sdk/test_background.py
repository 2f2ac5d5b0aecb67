"""Starting this user's hub in the background."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloche import background
from cloche.aio import Hub
from cloche.background import Started, hub_command, hub_environment, start_hub
from cloche.errors import HubNotRunning, TimedOut, Unsupported
from cloche.together import together
from cloche_wire.rendezvous import locations
from tests.support.fifo import fifo_at
from tests.support.local_hub import LocalHub

_ROOT = str(Path(__file__).resolve().parents[2])


def _playing(script: str) -> list[str]:
    """A program in the hub's place; `--ready-fd N` comes behind it."""
    prelude = "import json, os, sys; ready = int(sys.argv[-1]); "
    return [sys.executable, "-c", prelude + script, "serve"]


@pytest.fixture
def local(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The command of a hub without machines, which is ended with the test."""
    monkeypatch.setenv("PYTHONPATH", _ROOT)
    pids = home / "pids"
    script = f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n'); from tests.support.local_hub import main; main()"
    yield _playing(script)
    for line in pids.read_text().splitlines() if pids.exists() else []:
        _end(int(line))


def _end(pid: int) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        signal.pidfd_send_signal(handle, signal.SIGTERM)
        select.select([handle], [], [], 10)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)


async def test_a_hub_is_there_as_soon_as_it_is_started(home: Path, local: list[str]) -> None:
    started = await start_hub(command=local)
    assert started.address == f"unix://{home}/run/hub.sock"
    async with Hub.connect() as hub:
        assert (await hub.status()).pid == started.pid


async def test_it_is_nobody_s_child_and_has_no_terminal(home: Path, local: list[str]) -> None:
    started = await start_hub(command=local)
    state, parent, _, session, terminal = (
        Path(f"/proc/{started.pid}/stat").read_text().rpartition(")")[2].split()[:5]
    )
    assert state != "Z"
    assert int(parent) != os.getpid()
    assert int(session) != os.getsid(0)
    assert terminal == "0"
    assert Path(f"/proc/{started.pid}/cwd").readlink() == Path("/")


async def test_one_that_runs_already_is_as_good(hub: LocalHub) -> None:
    assert await start_hub(command=["/nonexistent"]) == Started(hub.address, None)


async def test_of_many_who_start_it_at_once_one_does(home: Path, local: list[str]) -> None:
    found = await together(*[start_hub(command=local) for _ in range(4)])
    assert len({started.address for started in found}) == 1
    assert len([started for started in found if started.pid is not None]) == 1
    assert len((home / "pids").read_text().splitlines()) == 1


async def test_a_hub_that_says_why_it_cannot_serve_is_quoted(home: Path) -> None:
    playing = _playing("""os.write(ready, b'{"error": "no space left"}\\n')""")
    with pytest.raises(HubNotRunning, match="did not start: no space left"):
        await start_hub(command=playing)


async def test_a_hub_that_dies_without_a_word_is_told_by_the_end_of_its_log(home: Path) -> None:
    playing = _playing("[print('line', number, flush=True) for number in range(20)]; sys.exit('last words')")
    with pytest.raises(HubNotRunning, match=r"ends with:\nline 16\nline 17\nline 18\nline 19\nlast words$"):
        await start_hub(command=playing)


@pytest.mark.parametrize("line", ["nonsense", "[1]", '{"pid": "x"}', "x" * 100_000])
async def test_a_hub_that_says_something_else_is_told(home: Path, line: str) -> None:
    with pytest.raises(HubNotRunning, match="see its log"):
        await start_hub(command=_playing(f"os.write(ready, {line!r}.encode() + b'\\n')"))


async def test_a_hub_that_says_nothing_is_waited_for_only_so_long(home: Path) -> None:
    fifo = home / "fifo"
    playing = _playing(
        f"print(os.getpid(), file=open({str(fifo)!r}, 'w'), flush=True); import time; time.sleep(60)"
    )
    async with fifo_at(fifo) as told:
        with pytest.raises(TimedOut, match=r"did not start within 0\.5 s; see its log"):
            await start_hub(command=playing, timeout_s=0.5)
        # It may have been slower than that to begin at all.
        _end(int(await told.readline()))


async def test_a_program_there_is_not_is_told_by_its_log(home: Path) -> None:
    with pytest.raises(HubNotRunning, match="did not start"):
        await start_hub(command=["/nonexistent"])


@pytest.mark.parametrize("home", ["/proc/x", "/etc/passwd"])
async def test_a_home_that_cannot_be_used_is_named(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOCHE_HOME", home)
    with pytest.raises(
        HubNotRunning, match=rf"^cannot use {home} as the hub's home \([^\[]*\); set CLOCHE_HOME"
    ):
        await start_hub(command=["/nonexistent"])


async def test_home_and_log_are_this_user_s_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOCHE_HOME", str(tmp_path / "a/b"))
    with pytest.raises(HubNotRunning):
        await start_hub(command=["/nonexistent"])
    places = locations()
    assert places.home.stat().st_mode & 0o777 == 0o700
    assert places.log.stat().st_mode & 0o777 == 0o600


async def test_a_log_that_has_grown_large_makes_room(home: Path) -> None:
    log = locations().log
    with log.open("wb") as file:
        file.truncate(9 << 20)
    with pytest.raises(HubNotRunning):
        await start_hub(command=["/nonexistent"])
    assert log.stat().st_size < 1000
    assert (home / "hub.log.old").stat().st_size == 9 << 20


async def test_whoever_waits_for_another_s_start_has_a_bound_too(home: Path) -> None:
    async def slow() -> Started | None:
        try:
            return await start_hub(command=_playing("import time; time.sleep(1)"), timeout_s=0.5)
        except (TimedOut, HubNotRunning):
            return None

    assert await together(slow(), slow()) == [None, None]


def test_its_places_are_absolute_wherever_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {"CLOCHE_HOME": "state", "CLOCHE_CACHE": "cache", "OTHER": "x"}
    assert hub_environment(locations(environ), environ) == {
        "CLOCHE_HOME": str(tmp_path / "state"),
        "CLOCHE_CACHE": str(tmp_path / "cache"),
        "OTHER": "x",
    }
    assert hub_environment(locations({"HOME": "/h"}), {"HOME": "/h"}) == {"HOME": "/h"}


def test_the_hub_is_this_interpreter_s_and_never_what_lies_in_the_current_folder() -> None:
    assert hub_command("serve") == [sys.executable, "-P", "-m", "cloche_hub", "serve"]


def test_a_client_only_installation_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    monkeypatch.setattr(
        metadata,
        "requires",
        lambda _name: ["msgpack>=1", 'no.such_thing>=1; extra == "hub"', "x; extra == 'dev'"],
    )
    with pytest.raises(
        Unsupported, match=r"client-only installation \(no\.such_thing missing\).*cloche\[hub\]"
    ):
        hub_command("serve")


def test_without_metadata_the_hub_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    def absent(_name: str) -> list[str]:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "requires", absent)
    assert background.hub_command("serve")[-1] == "serve"


async def test_cancelling_the_start_leaves_no_lock(home: Path, local: list[str]) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await start_hub(command=_playing("import time; time.sleep(1)"))
    assert (await start_hub(command=local)).pid is not None
