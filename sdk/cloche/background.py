"""Starting this user's hub in the background, as a process of its own that outlives the one that asks.

The hub is spawned, never imported: a client works without it, and most installations are clients only.

Rules:
- Several may start it at once: a lock beside the hub's home lets one of them do it, and the others find it running.
- The hub itself says when it listens, in one line of JSON on a pipe; nobody polls for its socket.
- What it writes goes to the log in its home; the end of that is part of the error if it does not come up.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cloche.answers import Answer
from cloche.errors import HubNotRunning, InternalError, TimedOut, Unsupported
from cloche_wire.aio.bounds import within
from cloche_wire.rendezvous import Locations, locations

_READY_S = 60.0
_LOCK_RETRY_S = 0.05
_LARGEST_LOG = 8 << 20
_LONGEST_LINE = 64 << 10
_LOG_TAIL_LINES = 5
_HUB_REQUIREMENT = re.compile(r"""([\w.-]+)[^;]*;\s*extra\s*==\s*['"]hub['"]""")


@dataclass(frozen=True, slots=True)
class Started:
    """A hub that has just begun to listen, or was found listening."""

    address: str
    pid: int | None
    """None if somebody else has started it meanwhile."""


def hub_command(*arguments: str) -> list[str]:
    """The command line of the hub's program, with this very interpreter.

    Raises:
        Unsupported: this is a client-only installation.
    """
    missing = _missing_packages()
    if missing:
        raise Unsupported(
            f"this is a client-only installation ({', '.join(missing)} missing); "
            "install the hub with: pip install 'cloche[hub]'"
        )
    # SAFETY: -P keeps the current folder out of the import path: nothing that lies around there is run.
    return [sys.executable, "-P", "-m", "cloche_hub", *arguments]


async def start_hub(*, timeout_s: float = _READY_S, command: Sequence[str] | None = None) -> Started:
    """Starts this user's hub and returns as soon as it listens; one that runs already is as good.

    Args:
        timeout_s: how long it may take to listen.
        command: the program, for tests.

    Raises:
        Unsupported: no hub is installed here.
        HubNotRunning: it did not come up, or its home cannot be used; the message says why.
        TimedOut: it did not say anything in time.
    """
    program = list(command) if command is not None else hub_command("serve")
    places = locations()
    try:
        places.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        async with within(timeout_s), _only_one(places):
            if await _listens(places.socket):
                return Started(f"unix://{places.socket}", None)
            return await _spawn(program, places)
    except TimeoutError:
        # A TimeoutError is an OSError, too.
        raise TimedOut(f"the hub did not start within {timeout_s:g} s; see its log: {places.log}") from None
    except OSError as error:
        raise HubNotRunning(
            f"cannot use {places.home} as the hub's home ({error.strerror}); set CLOCHE_HOME to another folder"
        ) from None


def hub_environment(places: Locations, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a hub that does not run where its starter stands: its places are absolute."""
    env = dict(os.environ if environ is None else environ)
    for name, place in (("CLOCHE_HOME", places.home), ("CLOCHE_CACHE", places.cache)):
        if env.get(name):
            env[name] = str(place)
    return env


async def _spawn(program: list[str], places: Locations) -> Started:
    read_end, write_end = os.pipe()
    try:
        with os.fdopen(read_end, "rb", buffering=0) as pipe:
            with _opened_log(places.log) as log:
                # SAFETY: the arguments reach the shell as arguments, not as text. The shell is there to end at once:
                # the hub becomes nobody's child, so no zombie of it stays with whoever asked for it.
                shell = await asyncio.create_subprocess_exec(
                    "/bin/sh", "-c", '"$@" &', "sh", *program, "--ready-fd", str(write_end),
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(write_end,),
                    start_new_session=True, cwd="/", env=hub_environment(places),
                )  # fmt: skip
            os.close(write_end)
            write_end = -1
            await shell.wait()
            return _started(await _first_line(pipe), places)
    finally:
        if write_end >= 0:
            os.close(write_end)


async def _first_line(pipe: io.FileIO) -> bytes:
    """What was written up to the first line's end, or up to the end of everything."""
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        return await reader.readline()
    except ValueError:
        return b"(a line without end)"
    finally:
        transport.close()


def _started(line: bytes, places: Locations) -> Started:
    """What the hub said when it was ready, or why it is not."""
    if not line:
        raise HubNotRunning(f"the hub did not start; its log {places.log} ends with:\n{_tail(places.log)}")
    try:
        said = json.loads(line)
        if isinstance(said, dict) and isinstance(said.get("error"), str):
            raise HubNotRunning(f"the hub did not start: {said['error']}")
        answer = Answer("first line", said)
        return Started(answer.text("address"), answer.whole("pid"))
    except (ValueError, InternalError):
        raise HubNotRunning(f"the hub did not start as it should; see its log: {places.log}") from None


@contextlib.asynccontextmanager
async def _only_one(places: Locations) -> AsyncIterator[None]:
    """Holds the lock of starting this user's hub; bounded by the caller."""
    descriptor = os.open(
        places.home / "start.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )
    try:
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            await asyncio.sleep(_LOCK_RETRY_S)
        yield
    finally:
        os.close(descriptor)


async def _listens(socket: Path) -> bool:
    """Whether somebody accepts connections there."""
    try:
        _, writer = await asyncio.open_unix_connection(str(socket))
    except OSError:
        return False
    writer.close()
    return True


@contextlib.contextmanager
def _opened_log(path: Path) -> Iterator[int]:
    """The log, open for appending; a large one makes room for a fresh one."""
    with contextlib.suppress(OSError):
        if path.stat().st_size > _LARGEST_LOG:
            path.replace(path.with_suffix(".log.old"))
    # SAFETY: the log may name what runs in sandboxes: for this user's eyes only, and never through a link.
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _tail(path: Path) -> str:
    with contextlib.suppress(OSError):
        lines = path.read_bytes()[-4096:].decode(errors="replace").splitlines()
        return "\n".join(lines[-_LOG_TAIL_LINES:])
    return ""


def _missing_packages() -> list[str]:
    """The packages the hub needs and this installation lacks."""
    from importlib import metadata

    try:
        wanted = metadata.requires("cloche") or []
    except metadata.PackageNotFoundError:
        return []  # run from its sources: whoever does that knows what is there
    names = [found[1] for text in wanted if (found := _HUB_REQUIREMENT.match(text))]
    return [name for name in names if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    from importlib import metadata

    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True
