"""A hypervisor in memory: machines are tasks with a fake agent, links are socket pairs. Passes the port's contract.

What a test wants to go wrong is set from outside: `refuse_start`, `start_gate`, a machine's `crash`, its agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

from cloche_hub.domain.flavors import Flavor
from cloche_hub.errors import CodedError, MachineFailed
from cloche_hub.ports import (
    BootOutput,
    CacheUse,
    HypervisorStatus,
    MachineExit,
    MachineSpec,
    MachineUse,
    OnProgress,
    Progress,
    StrayMachine,
)
from cloche_wire.aio.bounds import within
from tests.support.fake_agent import FakeAgent, Links
from tests.support.fake_images import AGENT_HASH, LONG_AGO

BOOT_LOG = b"fake kernel booted\n"


class FakeMachine:
    """A machine that is a task. Implements ports.Machine."""

    def __init__(self, spec: MachineSpec, *, agent_hash: str) -> None:
        self.spec = spec
        self.agent = FakeAgent(agent_hash, lambda: self.end(MachineExit("guest_shutdown", "powered off")))
        self.stops: list[float] = []
        """The grace of each `stop`."""
        self.fail_stop: Exception | None = None
        self.fail_boot_log: Exception | None = None
        self.followers = 0
        """Those who follow the serial console now."""
        self.followed = 0
        """Pieces of it that they have taken in all."""
        self._printed = [BootOutput(BOOT_LOG)]
        self._news = asyncio.Event()
        self._links: Links = asyncio.Queue()
        self._writer: asyncio.StreamWriter | None = None
        self._ended: asyncio.Future[MachineExit] = asyncio.get_running_loop().create_future()

    @property
    def machine_id(self) -> str:
        return self.spec.machine_id

    @property
    def accelerator(self) -> str:
        return "tcg"

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return not self._ended.done()

    async def run(self) -> None:
        """The machine's life; cancelled by its hypervisor."""
        try:
            async with asyncio.TaskGroup() as tasks:
                agent = tasks.create_task(self.agent.run(self._links))
                await asyncio.shield(self._ended)
                agent.cancel()
        finally:
            self._cut()
            while not self._links.empty():
                # Named: a writer that goes before its transport is closed complains.
                _, writer = self._links.get_nowait()
                writer.transport.abort()

    async def open_link(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._ended.done():
            raise MachineFailed(f"{self.machine_id} has ended: {self._ended.result().detail}")
        self._cut()
        ours, theirs = socket.socketpair()
        try:
            reader, self._writer = await asyncio.open_connection(sock=ours)
            self._links.put_nowait(await asyncio.open_connection(sock=theirs))
        except BaseException:
            ours.close()
            theirs.close()
            raise
        return reader, self._writer

    async def wait_exit(self) -> MachineExit:
        return await asyncio.shield(self._ended)

    async def stop(self, *, grace_s: float) -> MachineExit:
        self.stops.append(grace_s)
        if self.fail_stop is not None:
            raise self.fail_stop
        with contextlib.suppress(TimeoutError):
            async with within(grace_s):
                return await asyncio.shield(self._ended)
        self.end(MachineExit("stopped", "stopped by the hub"))
        return await asyncio.shield(self._ended)

    async def use(self) -> MachineUse:
        if self._ended.done():
            raise MachineFailed(f"{self.machine_id} has ended")
        return MachineUse(cpu_s=0.1, memory_pss_bytes=1 << 20, disk_bytes=1 << 16)

    async def boot_log(self, *, max_bytes: int) -> bytes:
        if self.fail_boot_log is not None:
            raise self.fail_boot_log
        return b"".join(output.data for output in self._printed)[-max_bytes:]

    async def follow_boot_log(self) -> AsyncGenerator[BootOutput]:
        seen = len(self._printed)
        self.followers += 1
        try:
            yield BootOutput(await self.boot_log(max_bytes=1 << 20))
            while True:
                while seen < len(self._printed):
                    seen += 1
                    self.followed += 1
                    yield self._printed[seen - 1]
                if self._ended.done():
                    return
                self._news.clear()
                await self._news.wait()
        finally:
            self.followers -= 1

    def print(self, data: bytes, *, is_cut: bool = False) -> None:
        """The guest writes to its serial console; `is_cut`: too fast to be read, with a gap before this."""
        self._printed.append(BootOutput(data, is_cut))
        self._news.set()

    def crash(self) -> None:
        """Ends it as a dying QEMU would."""
        self.end(MachineExit("crashed", "qemu died of signal 9"))

    def end(self, how: MachineExit) -> None:
        """Ends it, unless it has ended."""
        if not self._ended.done():
            self._ended.set_result(how)
            self._news.set()

    def _cut(self) -> None:
        """Ends the link there is; the agent sees it once it reads."""
        if self._writer is not None:
            self._writer.transport.abort()
            self._writer = None


class FakeHypervisor:
    """Implements ports.Hypervisor; enter it (`running`) before its first machine."""

    def __init__(self) -> None:
        self.machines: dict[str, FakeMachine] = {}
        """Every machine there ever was, by its sandbox's id."""
        self.refuse_start: Exception | None = None
        self.refuse_prepare: CodedError | None = None
        self.start_gate = asyncio.Event()
        """Machines start while it is set."""
        self.start_gate.set()
        self.starting = 0
        """Starts that wait at the gate."""
        self.on_start: Callable[[FakeMachine], None] = lambda _machine: None
        """Sees each machine before anybody can reach it."""
        self.agent_hash = AGENT_HASH
        self.strays: dict[str, StrayMachine] = {}
        self.unendable: set[str] = set()
        """Strays that cannot be ended."""
        self.prepared: list[tuple[str, str]] = []
        self.templates: list[CacheUse] = []
        """What `uses` tells beside the machines."""
        self._tasks = asyncio.TaskGroup()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[FakeHypervisor]:
        """Ends every machine on leaving."""
        async with self._tasks:
            try:
                yield self
            finally:
                for machine in self.machines.values():
                    machine.crash()

    @property
    def alive(self) -> list[str]:
        """The machines that run now."""
        return [name for name, machine in self.machines.items() if machine.is_running]

    @property
    def machine(self) -> FakeMachine:
        """The newest machine."""
        return list(self.machines.values())[-1]

    async def status(self) -> HypervisorStatus:
        return HypervisorStatus("tcg", "a fake runs no machines", "0", "x86_64")

    async def prepare(self, image: str, flavor: Flavor, *, progress: OnProgress) -> None:
        if self.refuse_prepare is not None:
            raise self.refuse_prepare
        if (image, flavor.name) not in self.prepared:
            progress(Progress("template", f"booting {flavor.name}", 0.5))
            self.prepared.append((image, flavor.name))

    async def start(self, spec: MachineSpec) -> FakeMachine:
        self.starting += 1
        try:
            await self.start_gate.wait()
        finally:
            self.starting -= 1
        if self.refuse_start is not None:
            raise self.refuse_start
        machine = self.machines[spec.machine_id] = FakeMachine(spec, agent_hash=self.agent_hash)
        self.on_start(machine)
        self._tasks.create_task(machine.run())
        return machine

    async def find_strays(self) -> Sequence[StrayMachine]:
        return list(self.strays.values())

    async def end_stray(self, machine_id: str) -> None:
        if machine_id in self.unendable:
            raise OSError("no such process group")
        self.strays.pop(machine_id, None)

    async def uses(self) -> Sequence[CacheUse]:
        machines = [
            CacheUse("machine", name, size_bytes=1 << 16, used_at=LONG_AGO, in_use=True)
            for name in self.alive
        ]
        return [*self.templates, *machines]

    async def prune(self) -> int:
        return 10
