"""What tests of guarded sandboxes share: the policy, programs for the guest, and waits for what the audit says.

Rule: every wait ends within `BOUND_S`, far above what anything takes; nothing is slept for.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from cloche import aio
from cloche.approval_messages import ApprovalInfo
from cloche.messages import AuditEvent
from cloche_wire.aio import Channel

T = TypeVar("T")

BOUND_S = 30.0

POLICY = """
default = "deny"

[[rule]]
name = "free for all"
methods = ["free.*"]
verdict = "allow"

[[rule]]
name = "no weapons"
methods = ["weapon.*"]
verdict = "deny"
reason = "weapons are not for sale"

[[rule]]
name = "payments"
methods = ["pay.*"]
verdict = "ask"
reason = "money leaves the house"

[[rule]]
name = "now or never"
methods = ["urgent.*"]
verdict = "ask"
deadline = "1s"
"""

ASK = """
import json, sys
from cloche_callback import callback, CallbackError
try:
    print(json.dumps(callback(sys.argv[1], json.loads(sys.argv[2]))))
except CallbackError as error:
    print(json.dumps([type(error).__name__, error.code, str(error)]))
"""
"""A program that calls METHOD JSON and prints the result, or the error's class, code and message."""


@contextlib.asynccontextmanager
async def connected(address: str, token: str) -> AsyncIterator[aio.Hub]:
    """A client, for no longer than a test may take."""
    async with asyncio.timeout(3 * BOUND_S), aio.Hub.connect(address, token) as hub:
        yield hub


async def within(waited: Awaitable[T]) -> T:
    """The outcome of an awaitable, within the bound."""
    async with asyncio.timeout(BOUND_S):
        return await waited


async def until(look: Callable[[], Awaitable[T]]) -> T:
    """What `look` finds, as soon as it is anything; each look is a question to the hub."""
    async with asyncio.timeout(BOUND_S):
        while True:
            if found := await look():
                return found


async def ask(sandbox: aio.Sandbox, method: str, params: Any = None, *, user: str | None = None) -> Any:
    """What a program in the sandbox prints that calls a method (see `ASK`)."""
    ran = await within(sandbox.run(["python3", "-c", ASK, method, json.dumps(params)], user=user, check=True))
    return json.loads(ran.stdout)


async def happened(hub: aio.Hub, sandbox: str, event: str, *, times: int = 1, **detail: Any) -> AuditEvent:
    """The event of this name and detail in a sandbox's audit, as soon as it is there (so many times)."""
    async with asyncio.timeout(BOUND_S):
        async for found in hub.audit(sandbox=sandbox, limit=500, follow=True):
            times -= found.event == event and detail.items() <= dict(found.detail).items()
            if times == 0:
                return found
    raise AssertionError("a follower never ends")


async def held(hub: aio.Hub, sandbox: aio.Sandbox) -> ApprovalInfo:
    """The approval that a sandbox's call waits for, as soon as there is one."""
    await happened(hub, sandbox.id, "approval.requested")
    (approval,) = await hub.approvals.list(sandbox=sandbox.id)
    return approval


async def story(hub: aio.Hub, sandbox: str) -> list[str]:
    """The names of what the audit has of callbacks and approvals in a sandbox, in order."""
    events = [event.event async for event in hub.audit(sandbox=sandbox, limit=500)]
    return [event for event in events if event.startswith(("callback.", "approval."))]


async def still_serves(sandbox: aio.Sandbox) -> None:
    """Proves that a sandbox is as usable as ever."""
    assert (await within(sandbox.run("echo here"))).stdout == "here\n"


def open_raw(hub: aio.Hub, kind: str, **params: Any) -> Channel:
    """A channel with parameters that the SDK would not send."""
    return hub._link.open(kind, params)


async def call_raw(hub: aio.Hub, kind: str, **params: Any) -> dict[str, Any]:
    """A request with parameters that the SDK would not send."""
    return await within(hub._link.call(kind, params))


def own_memory(pid: int) -> int:
    """Bytes of memory that a process has for itself; what it shares with others (templates) is left out."""
    status = Path(f"/proc/{pid}/status").read_text()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:"))
    return int(kilobytes) << 10


def machine_of(hub_home: Path, sandbox: aio.Sandbox) -> int:
    """The process id of a sandbox's machine."""
    record = json.loads((hub_home / "machines" / sandbox.id / "machine.json").read_text())
    return int(record["pid"])
