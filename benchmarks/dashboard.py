"""What the dashboard costs: keys through it beside the same console by the SDK, idling, starting, a long table.

It is the real program in a terminal of this host. Nothing between the key that is written to that terminal and the
character that comes out of it is left out but the person's own terminal emulator.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import select
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path

from tests.support.fake_hypervisor import FakeHypervisor, FakeMachine
from tests.support.hub import ZYGOTE, running_hub
from tests.support.terminal import Terminal, cloche_in_terminal

from benchmarks.consoles import CAT, TYPING_S, echoes
from benchmarks.report import Goal, Row, Tell, milliseconds, row
from cloche.aio import Hub, Sandbox
from cloche_hub.ports import MachineSpec, MachineUse

MANY_SANDBOXES = 1000
_KEYS = 20
"""In one turn; then it is the SDK's."""
_LETTERS = [chr(code) for code in (*range(0x100, 0x250), *range(0x1E00, 0x1F00))]
"""Letters that the dashboard shows nowhere by itself, each of one cell."""
_ROWS, _COLS = 45, 140
_BOUND_S = 180.0
"""Of one dashboard: 300 keys at typing pace, in turns with the SDK, take some 40 s."""
_LONGEST_WAIT_S = 10.0
_IDLE_S = 10.0
_FLOOD = ["sh", "-c", "while :; do seq 1 99999; done"]
_TICKS_A_S = os.sysconf("SC_CLK_TCK")


async def dashboard_rows(hub: Hub, sandbox: Sandbox, recipe: str, n: int, tell: Tell) -> list[Row]:
    """Keys, a flood beside them, idling and starting, each in the real program in front of the hub.

    Args:
        hub: the connection to a hub that `CLOCHE_HOME` names.
        sandbox: where consoles are opened.
        recipe: of the sandbox that floods.
        n: how many keys are typed.
        tell: told what is measured.
    """
    tell("the dashboard's start")
    # The first one compiles.
    starts = [await _start() for _ in range(1 + max(3, n // 30))][1:]
    rows = [row("dashboard: start to first paint", "s", starts, goal=Goal(most=0.6))]
    rows += await _key_rows(sandbox, n, tell)
    rows += await _flooded_rows(hub, sandbox, recipe, n, tell)
    rows += await _idle_rows(sandbox, tell)
    return rows


async def long_table_rows(home: Path, tell: Tell) -> list[Row]:
    """What a long table costs that changes all the time: on a hub of its own, whose machines are made up.

    Args:
        home: an empty folder with a short path.
        tell: told what is measured.
    """
    tell(f"a table of {MANY_SANDBOXES} sandboxes")
    with contextlib.closing(ZYGOTE):
        async with (
            running_hub(
                home, hypervisor=_Busy(), max_sandboxes=MANY_SANDBOXES, usage_interval_s=0.5
            ) as fakes,
            fakes.client() as client,
        ):
            for number in range(MANY_SANDBOXES):
                await client.create(name=f"s{number:04}", labels={"for": f"job-{number % 7}"})
            async with _dashboard() as at:
                await at.has_on_screen("s0000", "s0001")
                used = await _cpu_percent(at, _IDLE_S)
    name = f"dashboard: {MANY_SANDBOXES} sandboxes, twice a second"
    return [row(name, "% CPU", [used], goal=Goal(most=10))]


# Keys.


async def _key_rows(sandbox: Sandbox, n: int, tell: Tell) -> list[Row]:
    tell("keys through the dashboard")
    ours: list[float] = []
    by_sdk: list[float] = []
    async with _dashboard() as at, _driven(at, sandbox):
        for letters in _turns(n):
            ours += await asyncio.to_thread(_echoes_in, at, letters)
            by_sdk += await echoes(sandbox, len(letters))
    return [
        row("dashboard: key echo", "ms", milliseconds(ours), milliseconds(by_sdk)),
        row(
            "dashboard: key echo's p95 above the SDK's", "ms",
            milliseconds([_quantile(ours, 0.95) - _quantile(by_sdk, 0.95)]), goal=Goal(most=8),
        ),
    ]  # fmt: skip


async def _flooded_rows(hub: Hub, sandbox: Sandbox, recipe: str, n: int, tell: Tell) -> list[Row]:
    tell("keys in the dashboard while another console floods")
    flooded: list[float] = []
    async with (
        hub.create(recipe=recipe) as noisy,
        _dashboard() as at,
        _watched(at, noisy, _FLOOD, "1234"),
    ):
        await _command(at, "layout split")
        async with _driven(at, sandbox):
            for letters in _turns(n):
                flooded += await asyncio.to_thread(_echoes_in, at, letters)
    return [
        row("dashboard: key echo while another floods", "ms", milliseconds(flooded)),
        row("dashboard: the slowest in a hundred of these", "ms", milliseconds([_quantile(flooded, 0.99)]),
            goal=Goal(most=60)),
    ]  # fmt: skip


def _turns(n: int) -> Iterable[list[str]]:
    """The letters of `n` keys, some at a time; none comes again before all others were typed."""
    letters = [_LETTERS[number % len(_LETTERS)] for number in range(n)]
    return (letters[begin : begin + _KEYS] for begin in range(0, n, _KEYS))


def _echoes_in(at: Terminal, letters: Iterable[str]) -> list[float]:
    """Seconds from a key to its character on the terminal. Blocks."""
    samples = []
    for letter in letters:
        _read_for(at, TYPING_S)
        key, seen = letter.encode(), b""
        began = time.perf_counter()
        at.type(key)
        while key not in seen:
            if not _can_read(at, _LONGEST_WAIT_S):
                raise RuntimeError(f"{letter} has not come:\n{at.screen}")
            seen += os.read(at.ours, 1 << 16)
        samples.append(time.perf_counter() - began)
        at.take(seen)
    return samples


def _read_for(at: Terminal, seconds: float) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if _can_read(at, left):
            at.take(os.read(at.ours, 1 << 16))


def _can_read(at: Terminal, within_s: float) -> bool:
    # A thousand sandboxes have more descriptors than `select` knows of.
    poll = select.poll()
    poll.register(at.ours, select.POLLIN)
    return bool(poll.poll(1000 * within_s))


# Idling and starting.


async def _idle_rows(sandbox: Sandbox, tell: Tell) -> list[Row]:
    tell("the dashboard with four consoles in which nothing happens")
    async with _dashboard() as at, contextlib.AsyncExitStack() as stack:
        labels = []
        for _ in range(4):
            labels.append(await stack.enter_async_context(_watched(at, sandbox, CAT, "ready")))
            await _command(at, "layout grid")
        await at.has_on_screen(*labels)
        used = await _cpu_percent(at, _IDLE_S)
    return [row("dashboard: idle with four consoles", "% CPU", [used], goal=Goal(most=1))]


async def _start() -> float:
    """Seconds from the process's start until all of the first frame is there."""
    began = time.perf_counter()
    async with _dashboard():
        return time.perf_counter() - began


async def _cpu_percent(at: Terminal, seconds: float) -> float:
    """What the dashboard and its children use of one processor."""
    # What comes of what was done before is not to be counted.
    await asyncio.to_thread(_read_for, at, 3.0)
    before, began = _cpu_s(at.process.pid), time.monotonic()
    await asyncio.to_thread(_read_for, at, seconds)
    return 100 * (_cpu_s(at.process.pid) - before) / (time.monotonic() - began)


def _cpu_s(pid: int) -> float:
    """Seconds of processor time of a process and of all that come from it."""
    stats = dict(_stats())
    own = stats.get(pid)
    if own is None:
        raise RuntimeError(f"process {pid} has ended")
    children = [child for child, (parent, _) in stats.items() if parent == pid]
    return own[1] + sum(_cpu_s(child) for child in children)


def _stats() -> Iterable[tuple[int, tuple[int, float]]]:
    """Each process with its parent and its processor time, of which what its ended children had is part."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                # Behind the name, which may hold anything.
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                yield int(folder.name), (int(fields[1]), sum(map(int, fields[11:15])) / _TICKS_A_S)


class _Busy(FakeHypervisor):
    """Machines that use something else each time they are looked at."""

    async def start(self, spec: MachineSpec) -> FakeMachine:
        machine = await super().start(spec)
        uses = itertools.count(len(self.machines))

        async def use() -> MachineUse:
            number = next(uses)
            return MachineUse(
                cpu_s=number * 0.05, memory_pss_bytes=(64 + number % 7) << 20, disk_bytes=1 << 20
            )

        machine.use = use  # type: ignore[method-assign]
        return machine


def _quantile(samples: Sequence[float], part: float) -> float:
    return sorted(samples)[min(int(len(samples) * part), len(samples) - 1)]


# The dashboard, and somebody in front of it.


@contextlib.asynccontextmanager
async def _dashboard() -> AsyncIterator[Terminal]:
    """It, with no memory of the last one and nobody's own keys."""
    with tempfile.TemporaryDirectory(prefix="cloche-bench-") as folder:
        # Modules are compiled once, as an installation's are, whatever the environment says of that here.
        compiled = {
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(Path(os.environ["CLOCHE_HOME"]) / "compiled"),
        }
        own = {"XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder, **compiled}
        async with cloche_in_terminal("tui", rows=_ROWS, cols=_COLS, env=own, bound_s=_BOUND_S) as at:
            # The frame is painted from the top: the last word of its last line is the end of it.
            await at.until(lambda: b"quit" in at.seen)
            yield at


async def _command(at: Terminal, line: str) -> None:
    """Types a command as somebody who looks at the screen does."""

    def last_line() -> str:
        return at.screen.rpartition("\n")[2]

    at.type(b":" + line.encode())
    await at.until(lambda: last_line().startswith(f":{line} "))
    at.type(b"\r")
    await at.until(lambda: not last_line().startswith(":"))


@contextlib.asynccontextmanager
async def _watched(at: Terminal, sandbox: Sandbox, argv: Sequence[str], says: str) -> AsyncIterator[str]:
    """A new console, shown in a pane; the name on its edge."""
    # As the newest one of its sandbox it is what opens.
    async with sandbox.console(argv, keep=True, rows=_ROWS, cols=_COLS) as console:
        await console.until(says)
    label = f"{sandbox.name}/{console.info.name}"
    try:
        while f"watching  {label} " not in at.screen:
            # Until the dashboard, too, has heard of the newest one.
            await _command(at, f"open {sandbox.name}")
            await asyncio.to_thread(_read_for, at, 0.3)
        yield label
    finally:
        await sandbox.close_console(console.id)


@contextlib.asynccontextmanager
async def _driven(at: Terminal, sandbox: Sandbox) -> AsyncIterator[None]:
    """A new console of a program that says what it is told, driven."""
    async with _watched(at, sandbox, CAT, "ready") as label:
        at.type(b"\r")
        await at.has_on_screen(f"DRIVING  {label} ")
        yield
