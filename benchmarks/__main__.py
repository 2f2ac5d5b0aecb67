"""`python -m benchmarks`: measures, prints the table, writes results/latest.json."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
import tempfile
from pathlib import Path

from benchmarks.bare import BareMachine, Pattern
from benchmarks.consoles import console_rows, flooded_rows, viewer_rows
from benchmarks.dashboard import dashboard_rows, long_table_rows
from benchmarks.machines import RECIPE, creation_rows, exec_rows, machine_pid, memory_rows, stream_rows
from benchmarks.report import RESULTS, Row, Tell, table, write_report
from benchmarks.work import audit_rows, callback_rows, file_rows
from cloche.aio import Hub
from cloche.background import start_hub

POLICY = """
[[rule]]
name = "what the benchmark asks"
methods = ["bench.*"]
verdict = "allow"
"""


async def measure(home: Path, *, scale: float, tell: Tell) -> tuple[dict[str, object], list[Row]]:
    """All rows, with a hub of this run's own."""
    tell("starting a hub; the image and the template are built if need be")
    (home / "policy.toml").write_text(POLICY)
    await start_hub()
    async with Hub.connect() as hub:
        try:
            async with hub.create(recipe=RECIPE) as sandbox:
                pattern = Pattern.of(machine_pid(home, sandbox))
                status = await hub.status()
                host: dict[str, object] = {
                    "cpu_count": os.cpu_count(),
                    "kernel": platform.release(),
                    "python": platform.python_version(),
                    "accelerator": status.accelerator,
                    "hypervisor": pattern.version.splitlines()[0],
                    "recipe": RECIPE,
                }
                rows = await creation_rows(hub, pattern, _n(12, scale), tell)
                with BareMachine(pattern) as machine:
                    rows += await exec_rows(sandbox, machine, _n(40, scale), tell)
                    rows += await stream_rows(sandbox, machine, _n(7, scale), tell)
                    rows += await console_rows(sandbox, machine, _n(7, scale), tell)
                    rows += await file_rows(sandbox, machine, _n(5, scale), tell)
                    rows += await callback_rows(sandbox, machine, _n(40, scale), tell)
                rows += await viewer_rows(hub, sandbox, _n(5, scale), tell)
                rows += await flooded_rows(hub, sandbox, RECIPE, _n(300, scale), tell)
                rows += await dashboard_rows(hub, sandbox, RECIPE, _n(300, scale), tell)
                rows += await long_table_rows(home / "fakes", tell)
                rows += await audit_rows(home, _n(1600, scale), tell)
                rows += await memory_rows(hub, home, pattern, _n(5, scale), tell)
            return host, rows
        finally:
            await hub.stop()


def _n(usual: int, scale: float) -> int:
    return max(2, round(usual * scale))


def main() -> int:
    """Runs the benchmarks; the exit status says nothing of the goals."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="how many samples, of the usual number")
    scale = parser.parse_args().scale
    with tempfile.TemporaryDirectory(prefix="cloche-bench-", ignore_cleanup_errors=True) as folder:
        os.environ["CLOCHE_HOME"] = folder
        for name in ("CLOCHE_HUB", "CLOCHE_TOKEN"):
            os.environ.pop(name, None)
        host, rows = asyncio.run(
            measure(Path(folder), scale=scale, tell=lambda text: print(f"bench: {text}", file=sys.stderr))
        )
    print(table(rows))
    write_report(host, rows)
    print(f"\n{RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
