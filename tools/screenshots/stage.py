"""The hub of the pictures: people, sandboxes with something to do, consoles, and calls that wait.

    async with open_stage(home) as stage:      # a hub with nothing in it
        await furnish(stage)                   # eight sandboxes, five consoles, three calls

Rules:
- Its home is a temporary folder, and it is reached at an address of its own: it never meets yours. Images are shared.
- Whatever happens, nothing it started is left running.
- Names, sizes and order are fixed, so that the pictures of two runs differ in times, loads and ids only.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cloche.aio import Hub, Sandbox
from cloche.callback_messages import CallbackCall
from cloche.errors import HubNotRunning
from cloche_wire.aio.bounds import within

PORT = 7411
ADDRESS = f"ws://127.0.0.1:{PORT}"
_READY_S = 60.0
_STOP_S = 60.0
_RETRY_S = 0.1
_POLICY = """\
[[rule]]
name = "payments are looked at"
methods = ["pay.*"]
verdict = "ask"
deadline = "10m"
reason = "whoever pays looks at it first"

[[rule]]
name = "letters are read first"
methods = ["mail.*"]
verdict = "ask"
deadline = "25m"
reason = "a sent letter cannot be called back"

[[rule]]
name = "production stays"
methods = ["db.drop"]
verdict = "deny"
reason = "nothing is deleted from production"

[[rule]]
name = "reading is free"
methods = ["web.*", "db.query"]
verdict = "allow"
"""


@dataclass(frozen=True)
class Wanted:
    """A sandbox of the pictures."""

    name: str
    owner: str
    recipe: str
    labels: Mapping[str, str]
    lease_s: float | None = None
    load: float = 0.0
    """How much of a processor its program uses."""
    mib: int = 0
    """How much memory that has."""


SANDBOXES = (
    Wanted("notebook", "mia", "python", {"team": "data"}),
    Wanted("crawler", "ann", "python", {"team": "search"}, load=0.35, mib=40),
    Wanted("reindex", "ann", "python", {"team": "search"}, lease_s=5400, load=0.2, mib=90),
    Wanted("agent-8", "ben", "minimal", {"team": "agents", "model": "small"}, lease_s=3600),
    Wanted("pr-4131", "ci", "minimal", {"team": "infra", "job": "lint"}, lease_s=290),
    Wanted("pr-4127", "ci", "tools", {"team": "infra", "job": "tests"}, lease_s=1500, load=0.1),
    Wanted("agent-7", "ben", "tools", {"team": "agents", "model": "large"}, lease_s=3600),
    Wanted("invoices", "ann", "tools", {"team": "billing", "run": "nightly"}, lease_s=7200),
)

_LOAD = """\
import time
hoard = bytes(range(256)) * ({mib} << 12)
while True:
    began = time.monotonic()
    while time.monotonic() - began < {load}:
        pass
    time.sleep(1 - {load})
"""
_CRAWL = """\
import time
pages = ["/", "/about", "/docs", "/docs/install", "/docs/policy", "/blog", "/blog/glass-bells", "/contact"]
for number, page in enumerate(pages, 1):
    print(f"\\033[2m{number:>4}\\033[0m  \\033[32m200\\033[0m  {number * 3.7 + 2:6.1f} KiB  https://example.com{page}")
print("\\033[33m   9  404\\033[0m     0.5 KiB  https://example.com/old-prices")
print("\\nwaiting 30 s: \\033[1mrobots.txt\\033[0m asks for it", flush=True)
time.sleep(3600)
"""
_LETTER = """\
from cloche_callback import callback
callback("mail.send", {"to": "team@example.com", "subject": "Nightly report",
    "text": "All 214 tests have passed.\\nCoverage went from 91.2 % to 92.0 %.", "attachments": []})
"""
_REFUND = """\
from cloche_callback import callback
callback("pay.refund", {"order": 88117, "amount": 19.9, "currency": "EUR"})
"""
_DROP = """\
from cloche_callback import callback
callback("db.drop", {"table": "customers"})
"""
_SOURCE = '''\
"""Finds words that are often next to each other."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

STOP = {"the", "a", "an", "of", "and", "to"}


def pairs(text: str) -> Counter[tuple[str, str]]:
    """How often each pair of words is there."""
    words = [word.strip(".,;:!?").lower() for word in text.split()]
    return Counter(pairwise(word for word in words if word not in STOP))


def main() -> None:
    for path in sorted(Path("texts").glob("*.txt")):
        # The ten most frequent ones will do.
        for (left, right), count in pairs(path.read_text()).most_common(10):
            print(f"{count:5}  {left} {right}")


if __name__ == "__main__":
    main()
'''


class Road:
    """The way of clients to the hub, a TCP port on loopback; it can be cut."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def open(self) -> None:
        """Lets clients through."""
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", PORT)

    def cut(self) -> None:
        """Breaks every connection and refuses new ones. Idempotent."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hub_reader, hub_writer = await asyncio.open_unix_connection(self.socket)
        self._writers |= {writer, hub_writer}
        with contextlib.suppress(OSError):
            async with asyncio.TaskGroup() as both:
                both.create_task(_copy(reader, hub_writer))
                both.create_task(_copy(hub_reader, writer))
        self._writers -= {writer, hub_writer}


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


@dataclass
class Stage:
    """What the pictures are of."""

    home: Path
    hub: Hub
    road: Road
    held: contextlib.AsyncExitStack
    """What lasts as long as the stage."""
    sandboxes: dict[str, Sandbox] = field(default_factory=dict)


@contextlib.asynccontextmanager
async def open_stage(home: Path) -> AsyncIterator[Stage]:
    """A hub with nothing in it; ended, with all its machines, at the end.

    Raises:
        TimeoutError: it did not come up; `hub.log` in its home says why.
    """
    (home / "policy.toml").write_text(_POLICY)
    async with contextlib.AsyncExitStack() as held:
        with (home / "hub.log").open("ab") as log:
            # SAFETY: this checkout's own hub, in a folder of this run's own.
            process = subprocess.Popen(  # noqa: ASYNC220 - it takes no time, and nothing else goes on yet
                [sys.executable, "-P", "-m", "cloche_hub", "serve"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "CLOCHE_HOME": str(home)},
            )  # fmt: skip
        held.callback(_end, process)
        road = Road(home / "run/hub.sock")
        async with within(_READY_S):
            hub = await held.enter_async_context(await _connect(home))
        await road.open()
        held.callback(road.cut)
        os.environ |= {"CLOCHE_HUB": ADDRESS, "CLOCHE_TOKEN": (home / "admin.token").read_text().strip()}
        yield Stage(home, hub, road, held)


async def _connect(home: Path) -> Hub:
    while True:
        with contextlib.suppress(HubNotRunning, FileNotFoundError):
            token = (home / "admin.token").read_text().strip()
            return await Hub.connect(f"unix://{home / 'run/hub.sock'}", token)
        await asyncio.sleep(_RETRY_S)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


async def furnish(stage: Stage) -> None:
    """Sandboxes, programs in them, consoles, and calls."""
    people = {}
    for owner in dict.fromkeys(wanted.owner for wanted in SANDBOXES):
        _, token = await stage.hub.tokens.create(owner, owner=owner)
        people[owner] = await stage.held.enter_async_context(
            await Hub.connect(f"unix://{stage.road.socket}", token)
        )

    @stage.hub.callback("*")
    def answer(call: CallbackCall) -> object:
        return {"done": call.method}

    for wanted in SANDBOXES:
        sandbox = await people[wanted.owner].create(
            wanted.recipe, name=wanted.name, labels=wanted.labels, lease_s=wanted.lease_s
        )
        stage.sandboxes[wanted.name] = sandbox
        if wanted.load:
            program = _LOAD.format(load=wanted.load, mib=wanted.mib)
            await _begin(stage, sandbox, ["python3", "-c", program])
    await _open_consoles(stage)
    await _begin(stage, stage.sandboxes["agent-7"], ["python3", "-c", _LETTER])
    await _begin(stage, stage.sandboxes["notebook"], ["python3", "-c", _REFUND])
    await stage.sandboxes["agent-7"].run(["python3", "-c", _DROP])


async def _begin(stage: Stage, sandbox: Sandbox, argv: list[str]) -> None:
    await stage.held.enter_async_context(await sandbox.exec(argv))


async def _open_consoles(stage: Stage) -> None:
    box = stage.sandboxes
    await box["agent-7"].files.write("pairs.py", _SOURCE)
    async with await box["agent-7"].console(["vim", "pairs.py"], name="editor", keep=True) as console:
        await console.until("Counter")
        await console.write(":syntax on\r:set number\r:11\r")
    async with await box["pr-4127"].console(["htop"], name="htop", keep=True) as console:
        await console.until("Load average")
    async with await box["notebook"].console(["python3", "-q"], name="python", keep=True) as console:
        for line in (
            "import statistics",
            "times = [41.2, 39.8, 44.1, 40.5, 97.3]",
            "statistics.median(times)",
            "[time for time in times if time > 60]",
        ):
            await console.until(">>> ")
            await console.write(f"{line}\r")
        await console.until(">>> ")
    await box["crawler"].files.write("crawl.py", _CRAWL)
    async with await box["crawler"].console(["python3", "crawl.py"], name="crawl", keep=True) as console:
        await console.until("robots.txt")
    await box["invoices"].files.write(
        "invoices.py", Path(__file__).with_name("guest_invoices.py").read_bytes()
    )
    async with await box["invoices"].console(["python3", "invoices.py"], name="agent", keep=True) as console:
        await console.until("due today")


def make_files(folder: Path) -> Path:
    """What a person has on the host, beside the files of a sandbox."""
    reports = folder / "reports"
    (reports / "2025").mkdir(parents=True)
    (reports / "texts").mkdir()
    for name, size in (
        ("august.csv", 18_204),
        ("september.csv", 20_771),
        ("october.csv", 19_350),
        ("pairs.toml", 212),
    ):
        (reports / name).write_bytes(b"," * size)
        os.utime(reports / name, (1_793_000_000, 1_793_000_000))
    return reports
