"""What it costs to have a machine and to run commands in it: time, throughput, memory."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.bare import BareMachine, Pattern
from benchmarks.report import Goal, Row, Tell, milliseconds, overheads, row
from cloche.aio import Hub, Sandbox

RECIPE = "python"
STREAM_MIB = 64
_PYTHON = ["python3", "-c", "import json; print(6 * 7)"]


async def first_output(hub: Hub) -> float:
    """Seconds from asking for a sandbox to the first byte of a command in it."""
    began = time.perf_counter()
    async with hub.create(recipe=RECIPE) as sandbox, sandbox.exec(["echo", "hi"]) as process:
        await process.stdout.read()
        return time.perf_counter() - began


def bare_first_output(pattern: Pattern) -> float:
    """The same by hand."""
    began = time.perf_counter()
    with BareMachine(pattern) as machine:
        machine.link.run("echo", "hi")
        return time.perf_counter() - began


async def creation_rows(hub: Hub, pattern: Pattern, n: int, tell: Tell) -> list[Row]:
    """How long it takes to have something run."""
    tell("create to first output")
    ours, bare = [], []
    for _ in range(n):
        ours.append(await first_output(hub))
        bare.append(bare_first_output(pattern))
    return [row("create to first output", "ms", milliseconds(ours), milliseconds(bare), goal=Goal(most=1.3))]


async def exec_rows(sandbox: Sandbox, machine: BareMachine, n: int, tell: Tell) -> list[Row]:
    """How long a command takes that does nothing."""
    tell("exec of true")
    ours, bare = [], []
    for number in range(n + 3):
        began = time.perf_counter()
        await sandbox.run(["true"])
        middle = time.perf_counter()
        machine.link.run("true")
        # The first few warm up both guests' translated code.
        if number >= 3:
            ours.append(middle - began)
            bare.append(time.perf_counter() - middle)
    return [
        row("exec of true", "ms", milliseconds(ours), milliseconds(bare), goal=Goal(most=1.2)),
        row("overhead of one exec", "ms", milliseconds(overheads(ours, bare))),
    ]


async def stream_rows(sandbox: Sandbox, machine: BareMachine, n: int, tell: Tell) -> list[Row]:
    """How fast a command's output comes."""
    tell(f"streaming {STREAM_MIB} MiB")
    command = ["head", "-c", str(STREAM_MIB << 20), "/dev/zero"]
    ours, bare = [], []
    for _ in range(n):
        began = time.perf_counter()
        received = 0
        async with sandbox.exec(command) as process:
            while data := await process.stdout.read():
                received += len(data)
        ours.append(received / 1e6 / (time.perf_counter() - began))
        began = time.perf_counter()
        length = len(machine.link.run(*command).stdout)
        bare.append(length / 1e6 / (time.perf_counter() - began))
        if received != length or received != STREAM_MIB << 20:
            raise RuntimeError(f"received {received} and {length} bytes of {STREAM_MIB << 20}")
    return [row("stdout streaming", "MB/s", ours, bare, goal=Goal(least=0.5))]


async def memory_rows(hub: Hub, home: Path, pattern: Pattern, n: int, tell: Tell) -> list[Row]:
    """What a sandbox costs in memory. Both kinds run at once, so they share the template's pages alike."""
    tell("memory")
    with ExitStack() as stack:
        machines = [stack.enter_context(BareMachine(pattern)) for _ in range(n)]
        sandboxes = [await hub.create(recipe=RECIPE) for _ in range(n)]
        pids = [machine_pid(home, sandbox) for sandbox in sandboxes]
        idle = row(
            "memory idle (PSS)", "MiB", [_pss_mib(pid) for pid in pids], [_pss_mib(one.pid) for one in machines],
            goal=Goal(most=1.1),
        )  # fmt: skip
        for sandbox, machine in zip(sandboxes, machines, strict=True):
            await sandbox.run(_PYTHON)
            machine.link.run(*_PYTHON)
        used = row(
            "memory after one Python run (PSS)", "MiB", [_pss_mib(pid) for pid in pids],
            [_pss_mib(one.pid) for one in machines], goal=Goal(most=1.1),
        )  # fmt: skip
        for sandbox in sandboxes:
            await sandbox.remove()
    return [idle, used]


def machine_pid(home: Path, sandbox: Sandbox) -> int:
    """The process of a sandbox's machine."""
    record = json.loads((home / "machines" / sandbox.id / "machine.json").read_text())
    return int(record["pid"])


def _pss_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/{pid}/smaps_rollup has no Pss")
