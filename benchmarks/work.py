"""What files, callbacks and the audit cost beside the same guest's work without hub and client."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from pathlib import Path

from benchmarks.bare import BareMachine
from benchmarks.report import Goal, Row, Tell, milliseconds, row
from cloche.aio import Sandbox
from cloche.callback_messages import CallbackCall
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.services.records import noting
from cloche_hub.store.store import Store, open_store

FILE_MIB = 64
_AT_ONCE = 16
"""Requests that wait for the disk together."""
_CALLS = """
import sys, time
from cloche_callback import callback
for _ in range(int(sys.argv[1])):
    began = time.perf_counter()
    assert callback("bench.echo", {"n": 7}) == {"n": 7}
    print(time.perf_counter() - began, flush=True)
"""


# Files.


async def file_rows(sandbox: Sandbox, machine: BareMachine, n: int, tell: Tell) -> list[Row]:
    """How fast a large file goes in and comes out; ours are hashed by hub and client on the way."""
    tell(f"files of {FILE_MIB} MiB")
    data = bytes(range(256)) * (FILE_MIB << 12)
    ups, bare_ups, downs, bare_downs = [], [], [], []
    for _ in range(n):
        began = time.perf_counter()
        await sandbox.files.write("bench", data)
        ups.append(len(data) / 1e6 / (time.perf_counter() - began))
        bare_ups.append(_bare_upload(machine, data))
        began = time.perf_counter()
        _expect(len(await sandbox.files.read("bench")), FILE_MIB)
        downs.append(len(data) / 1e6 / (time.perf_counter() - began))
        bare_downs.append(_bare_download(machine))
    return [
        row(f"upload of {FILE_MIB} MiB", "MB/s", ups, bare_ups, goal=Goal(least=0.6)),
        row(f"download of {FILE_MIB} MiB", "MB/s", downs, bare_downs, goal=Goal(least=0.6)),
    ]


def _bare_upload(machine: BareMachine, data: bytes) -> float:
    began = time.perf_counter()
    upload = machine.link.open("file.write", {"path": "bench", "exclusive": False, "parents": False})
    upload.wait_accepted()
    upload.write(data)
    upload.end()
    upload.result()
    return len(data) / 1e6 / (time.perf_counter() - began)


def _bare_download(machine: BareMachine) -> float:
    began = time.perf_counter()
    download = machine.link.open("file.read", {"path": "bench", "offset": 0})
    download.result()
    _expect(len(download.stdout), FILE_MIB)
    return len(download.stdout) / 1e6 / (time.perf_counter() - began)


# Callbacks.


async def callback_rows(sandbox: Sandbox, machine: BareMachine, n: int, tell: Tell) -> list[Row]:
    """A call out of a running program, allowed by a rule and answered by this program."""
    tell("callbacks")

    @sandbox.callback("bench.*")
    async def echo(call: CallbackCall) -> object:
        return call.params

    async with echo:
        completed = await sandbox.run(["python3", "-c", _CALLS, str(n + 3)], check=True)
    ours = [float(line) for line in completed.stdout.split()]
    bare = _bare_calls(machine, n + 3)
    # The first few warm up both guests' translated code.
    return [row("callback under an allow rule", "ms", milliseconds(ours[3:]), milliseconds(bare[3:]))]


def _bare_calls(machine: BareMachine, n: int) -> list[float]:
    link = machine.link
    program = link.start("python3", "-c", _CALLS, str(n))
    for _ in range(n):
        link.wait_until(lambda: bool(link.offered) or program.is_over, "a callback")
        offered = link.offered.pop()
        link.connection.accept(offered.channel)
        link.connection.close(offered.channel, {"result": offered.params["params"]})
    return [float(line) for line in program.wait().stdout.split()]


# The audit.


async def audit_rows(home: Path, n: int, tell: Tell) -> list[Row]:
    """How many events a second the hub's store makes durable where several requests wait for theirs at once.

    Bare is a loop that commits one row after another to a database on the same disk, without chain and digest.
    """
    tell("durable audit events")
    ours, bare = [], []
    async with open_store(home / "audit") as store:
        for _ in range(5):
            began = time.perf_counter()
            async with asyncio.TaskGroup() as tasks:
                for _ in range(_AT_ONCE):
                    tasks.create_task(_record(store, n // _AT_ONCE))
            ours.append(n / (time.perf_counter() - began))
            bare.append(await asyncio.to_thread(_commits_a_second, home / "bare.db", n))
    return [row(f"durable audit events, {_AT_ONCE} at once", "1/s", ours, bare)]


async def _record(store: Store, n: int) -> None:
    event = noting(AuditName.EXEC_STARTED, actor="bench", detail={"argv": ["true"], "exec": "ex_bench"})
    for _ in range(n):
        await store.write(event)


def _commits_a_second(path: Path, n: int) -> float:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, detail TEXT)")
        began = time.perf_counter()
        for _ in range(n):
            database.execute("INSERT INTO events (detail) VALUES (?)", ("x" * 300,))
        return n / (time.perf_counter() - began)


def _expect(received: int, mib: int) -> None:
    if received != mib << 20:
        raise RuntimeError(f"received {received} bytes of {mib << 20}")
