"""A hypervisor in memory: machines are tasks with a fake agent, links are socket pairs. Passes the port's contract.

What a test wants to go wrong is set from outside: `refuse_start`, a machine's `crash`, its agent's `silent`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

from cloche_hub.domain.flavors import Flavor
from cloche_hub.errors import CodedError, MachineFailed, NotFound, RecipeNotBuilt, WrongState
from cloche_hub.ports import (
    CacheUse,
    HypervisorStatus,
    Image,
    MachineExit,
    MachineSpec,
    MachineUse,
    OnProgress,
    Progress,
    StrayMachine,
)
from tests.support.fake_agent import FakeAgent

AGENT_HASH = "a" * 64
_Links = asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]


class FakeMachine:
    """A machine that is a task. Implements ports.Machine."""

    def __init__(self, spec: MachineSpec) -> None:
        self.spec = spec
        self.agent = FakeAgent(AGENT_HASH, lambda: self._end(MachineExit("guest_shutdown", "powered off")))
        self._links: _Links = asyncio.Queue()
        self._ended: asyncio.Future[MachineExit] = asyncio.get_running_loop().create_future()

    @property
    def machine_id(self) -> str:
        return self.spec.machine_id

    @property
    def accelerator(self) -> str:
        return "tcg"

    async def run(self) -> None:
        """The machine's life; cancelled by its hypervisor."""
        async with asyncio.TaskGroup() as tasks:
            agent = tasks.create_task(self.agent.run(self._links))
            await asyncio.shield(self._ended)
            agent.cancel()

    async def open_link(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._ended.done():
            raise MachineFailed(f"{self.machine_id} has ended: {self._ended.result().detail}")
        ours, theirs = socket.socketpair()
        await self._links.put(await asyncio.open_connection(sock=theirs))
        return await asyncio.open_connection(sock=ours)

    async def wait_exit(self) -> MachineExit:
        return await asyncio.shield(self._ended)

    async def stop(self, *, grace_s: float) -> MachineExit:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                return await asyncio.shield(self._ended)
        self._end(MachineExit("stopped", "stopped by the hub"))
        return await asyncio.shield(self._ended)

    async def use(self) -> MachineUse:
        if self._ended.done():
            raise MachineFailed(f"{self.machine_id} has ended")
        return MachineUse(cpu_s=0.1, memory_pss_bytes=1 << 20, disk_bytes=1 << 16)

    async def boot_log(self, *, max_bytes: int) -> bytes:
        return b"fake kernel booted\n"[-max_bytes:]

    def crash(self) -> None:
        """Ends it as a dying QEMU would."""
        self._end(MachineExit("crashed", "qemu died of signal 9"))

    def _end(self, how: MachineExit) -> None:
        if not self._ended.done():
            self._ended.set_result(how)


class FakeHypervisor:
    """Implements ports.Hypervisor; enter it (`running`) before its first machine."""

    def __init__(self) -> None:
        self.machines: dict[str, FakeMachine] = {}
        self.refuse_start: CodedError | None = None
        self.strays: dict[str, StrayMachine] = {}
        self.prepared: list[tuple[str, str]] = []
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

    async def status(self) -> HypervisorStatus:
        return HypervisorStatus("tcg", "a fake runs no machines", "0", "x86_64")

    async def prepare(self, image: str, flavor: Flavor, *, progress: OnProgress) -> None:
        if (image, flavor.name) not in self.prepared:
            progress(Progress("template", f"booting {flavor.name}", 0.5))
            self.prepared.append((image, flavor.name))

    async def start(self, spec: MachineSpec) -> FakeMachine:
        if self.refuse_start is not None:
            raise self.refuse_start
        machine = self.machines[spec.machine_id] = FakeMachine(spec)
        self._tasks.create_task(machine.run())
        return machine

    async def find_strays(self) -> Sequence[StrayMachine]:
        return list(self.strays.values())

    async def end_stray(self, machine_id: str) -> None:
        self.strays.pop(machine_id, None)

    async def uses(self) -> Sequence[CacheUse]:
        return []

    async def prune(self) -> int:
        return 0


class FakeImages:
    """Implements ports.Images: two recipes, built by saying so."""

    def __init__(self, *, built: Sequence[str] = ("python",)) -> None:
        self._images = {recipe: _image(recipe) for recipe in built}
        self.builds = 0

    async def find(self, recipe: str) -> Image:
        if recipe not in ("python", "minimal"):
            raise NotFound(f"no recipe {recipe!r}; there are: minimal, python")
        if recipe not in self._images:
            raise RecipeNotBuilt(
                f"no image of recipe {recipe!r} yet; build it with: cloche image build {recipe}"
            )
        return self._images[recipe]

    async def build(self, recipe: str, *, progress: OnProgress, rebuild: bool = False) -> Image:
        if recipe not in self._images or rebuild:
            self.builds += 1
            progress(Progress("packages", "fetching 3 packages", 0.3))
            progress(Progress("done", "image ready", 1.0))
            self._images[recipe] = _image(recipe)
        return self._images[recipe]

    async def list(self) -> Sequence[Image]:
        return list(self._images.values())

    async def remove(self, digest: str) -> None:
        for recipe, image in list(self._images.items()):
            if image.digest == digest:
                if recipe == "in-use":
                    raise WrongState("a machine runs from it")
                del self._images[recipe]
                return
        raise NotFound(f"no image {digest}")


def _image(recipe: str) -> Image:
    return Image(f"{recipe}-digest", recipe, "x86_64", AGENT_HASH, 1 << 20, datetime(2026, 1, 2, tzinfo=UTC))
