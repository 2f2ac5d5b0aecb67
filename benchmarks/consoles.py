"""What consoles cost: keys and floods beside the same guest's terminal alone; viewers, attaching and recording."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.bare import BareMachine
from benchmarks.report import Goal, Row, Tell, milliseconds, overheads, row
from cloche.aio import Console, Hub, Sandbox
from cloche.console_events import Live, Output, ScreenBegins
from cloche_wire.errors import Cancelled

FLOOD_MIB = 8
MANY = 20
"""Viewers of one console."""
LINES = 10_000
TYPING_S = 0.05
"""Between two keys of somebody who types fast."""
_LOOK_S = 0.05
CAT = ["sh", "-c", "stty raw -echo; echo ready; exec cat"]
"""Says what it is told, byte for byte."""
_TEXT_FLOOD = (
    f'stty raw -echo; echo ready; head -c 1 >/dev/null; yes "$(seq -s " " 1 20)" | head -c {FLOOD_MIB << 20}'
)
"""Lines of text, once a key has been typed: all viewers are there by then."""
_LINES = f'i=0; while [ $i -lt {LINES} ]; do i=$((i+1)); echo "\033[3$((i % 8))m$i\033[0m {"x" * 60}"; done'


async def console_rows(sandbox: Sandbox, machine: BareMachine, n: int, tell: Tell) -> list[Row]:
    """A key's way to the guest's terminal and back at typing pace, and a terminal's flood."""
    tell("keys in a console")
    ours, bare = [], []
    for _ in range(n):
        ours += await echoes(sandbox, 20)
        bare += _bare_echoes(machine, 20)
    above = milliseconds(overheads(ours, bare))
    tell(f"a console's flood of {FLOOD_MIB} MiB")
    floods, unrecorded, bare_floods = [], [], []
    for _ in range(n):
        floods.append(await _flood(sandbox))
        unrecorded.append(await _flood(sandbox, record=False))
        bare_floods.append(_bare_flood(machine))
    return [
        row("key echo", "ms", milliseconds(ours), milliseconds(bare)),
        row("key echo above bare", "ms", above, goal=Goal(most=1.0)),
        row("console flood", "MB/s", floods, bare_floods),
        row("console flood, recorded beside not", "MB/s", floods, unrecorded),
    ]


async def viewer_rows(hub: Hub, sandbox: Sandbox, n: int, tell: Tell) -> list[Row]:
    """What viewers cost each other, the hub and other sandboxes."""
    tell(f"a flood to one viewer and to {MANY}")
    pid = (await hub.status()).pid
    one, many, grown = [], [], []
    for _ in range(n):
        one.append(await _flood_to(sandbox, 1))
        before = _rss_mib(pid)
        async with _highest(pid) as highest:
            many.append(await _flood_to(sandbox, MANY))
        grown.append(highest[0] - before)
    tell(f"attaching to {LINES} lines")
    attached = await _attachings(sandbox, n)
    return [
        row(f"flood to {MANY} viewers beside one", "MB/s", many, one),
        row(f"the hub's growth by {MANY} viewers", "MiB", grown, goal=Goal(most=MANY)),
        row(f"attach to {LINES} lines", "ms", milliseconds(attached), goal=Goal(most=100)),
    ]


async def flooded_rows(hub: Hub, sandbox: Sandbox, recipe: str, n: int, tell: Tell) -> list[Row]:
    """Keys in one sandbox while the console of another one floods."""
    tell("keys while another sandbox floods")
    quiet = await echoes(sandbox, n)
    async with (
        hub.create(recipe=recipe) as noisy,
        noisy.console(["sh", "-c", "while :; do seq 1 99999; done"]) as flood,
        asyncio.TaskGroup() as tasks,
    ):
        reading = tasks.create_task(_read_on(flood))
        flooded = await echoes(sandbox, n)
        reading.cancel()
    return [
        row("key echo while another floods", "ms", milliseconds(flooded), milliseconds(quiet)),
        row("the slowest in a hundred of these", "ms", milliseconds([_p99(flooded)]), goal=Goal(most=50)),
    ]


async def echoes(sandbox: Sandbox, n: int) -> list[float]:
    """Seconds from each of so many keys, typed into a new console, to its echo."""
    samples = []
    async with sandbox.console(CAT) as console:
        seen = b""
        while b"ready" not in seen:
            seen += await console.read()
        for _ in range(n):
            await asyncio.sleep(TYPING_S)
            began = time.perf_counter()
            await console.write(b"x")
            while b"x" not in await console.read():
                pass
            samples.append(time.perf_counter() - began)
    return samples


def _bare_echoes(machine: BareMachine, n: int) -> list[float]:
    samples = []
    console = machine.link.open("pty", _pty(CAT))
    console.wait_output(b"ready")
    for _ in range(n):
        # The link is idle meanwhile, as a client's is.
        time.sleep(TYPING_S)
        began = time.perf_counter()
        console.write(b"x")
        console.wait_more()
        samples.append(time.perf_counter() - began)
    console.reset(Cancelled("enough"))
    machine.link.ping()
    return samples


def _flooding() -> list[str]:
    # No translation of line ends: then as many bytes come as are written.
    return ["sh", "-c", f"stty raw; exec head -c {FLOOD_MIB << 20} /dev/zero"]


async def _flood(sandbox: Sandbox, *, record: bool = True) -> float:
    began, received = time.perf_counter(), 0
    async with sandbox.console(_flooding(), record=record) as console:
        async for event in console.events():
            if isinstance(event, ScreenBegins):
                # A viewer that is too slow is told a screen instead; who wants every byte must keep up.
                received += event.lost_bytes
            elif isinstance(event, Output):
                received += len(event.data)
    if received < FLOOD_MIB << 20:
        raise RuntimeError(f"received {received} bytes of {FLOOD_MIB << 20}")
    return (FLOOD_MIB << 20) / 1e6 / (time.perf_counter() - began)


def _bare_flood(machine: BareMachine) -> float:
    began = time.perf_counter()
    console = machine.link.open("pty", _pty(_flooding()))
    console.result()
    if len(console.stdout) != FLOOD_MIB << 20:
        raise RuntimeError(f"received {len(console.stdout)} bytes of {FLOOD_MIB << 20}")
    return len(console.stdout) / 1e6 / (time.perf_counter() - began)


def _pty(argv: list[str]) -> dict[str, object]:
    return {"console": "con_bench", "argv": argv, "env": {"TERM": "xterm"}, "rows": 24, "cols": 80}


# Viewers.


async def _flood_to(sandbox: Sandbox, viewers: int) -> float:
    """MB/s of a flood that so many look at, until all of them have seen its end."""
    async with sandbox.console(["sh", "-c", _TEXT_FLOOD], rows=40, cols=120) as driver:
        await driver.until("ready")
        async with contextlib.AsyncExitStack() as stack:
            others = [
                await stack.enter_async_context(sandbox.attach(driver.id, mode="watch", rows=40, cols=120))
                for _ in range(viewers - 1)
            ]
            began = time.perf_counter()
            await driver.write(b"x")
            async with asyncio.TaskGroup() as tasks:
                for viewer in (driver, *others):
                    tasks.create_task(_read_on(viewer))
            return (FLOOD_MIB << 20) / 1e6 / (time.perf_counter() - began)


async def _read_on(console: Console) -> None:
    async for _ in console:
        pass


async def _attachings(sandbox: Sandbox, n: int) -> list[float]:
    """Seconds from asking until the screen with all its scrollback is whole."""
    samples = []
    async with sandbox.console(["sh", "-c", f"{_LINES}; echo done; exec cat"], rows=40, cols=120) as driver:
        await driver.until(f"{LINES} ")
        await driver.until("done")
        for _ in range(n):
            began = time.perf_counter()
            seen = b""
            async with sandbox.attach(driver.id, mode="watch", rows=40, cols=120, scrollback=LINES) as viewer:
                async for event in viewer.events():
                    if isinstance(event, Output):
                        seen += event.data
                    elif isinstance(event, Live):
                        break
            samples.append(time.perf_counter() - began)
            if seen.count(b"x" * 60) < LINES - 1:
                raise RuntimeError(f"{seen.count(b'x' * 60)} lines of {LINES} were told")
    return samples


def _p99(samples: list[float]) -> float:
    return sorted(samples)[len(samples) * 99 // 100]


def _rss_mib(pid: int) -> float:
    """What a process has in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


@contextlib.asynccontextmanager
async def _highest(pid: int) -> AsyncIterator[list[float]]:
    """The highest a process goes meanwhile, in MiB, once it is left."""
    highest = [_rss_mib(pid)]

    async def look() -> None:
        while True:
            highest[0] = max(highest[0], _rss_mib(pid))
            await asyncio.sleep(_LOOK_S)

    async with asyncio.TaskGroup() as tasks:
        looking = tasks.create_task(look())
        yield highest
        looking.cancel()
