"""What the services ask of the world outside: machines, images, guests, and what outlives the hub.

Rule: services and everything above never touch a path, a pid or a socket of a machine. What crosses a port
is a value that could cross a network (a link to a guest is the one exception: it *is* the network).
Rule: each port has one contract suite (tests/contract) that every implementation passes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from cloche_hub.domain.audit import AuditEvent, Head, Json, Verified
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.flavors import Flavor
from cloche_hub.domain.identity import Identity
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.domain.tokens import Token
from cloche_hub.errors import CodedError
from cloche_wire.aio import Channel
from cloche_wire.events import Greeted

OnProgress = Callable[["Progress"], None]
"""Called with each step of a long work; must not block and must not raise."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a long work."""

    step: str
    """A short stable word for programs, such as `packages` or `template`."""
    message: str
    """One line for a person."""
    fraction: float | None = None
    """How much of the whole work is done, 0 to 1, where that is known."""


@dataclass(frozen=True, slots=True)
class Image:
    """A content-addressed image: kernel, initrd and root file system built from a recipe."""

    digest: str
    """Hex; names the image everywhere."""
    recipe: str
    arch: str
    """As `uname -m` says it: x86_64 or aarch64."""
    agent_hash: str
    """sha256 hex of the agent bundle inside; the agent's hello must carry the same."""
    size_bytes: int
    """Disk blocks in use, not the apparent size."""
    built_at: datetime
    current: bool = True
    """Whether it is what its recipe, built now, would give: what new sandboxes start from."""


@dataclass(frozen=True, slots=True)
class CacheUse:
    """What the caches hold, for `cloche df`."""

    kind: str
    """image, rootfs, template or machine."""
    name: str
    size_bytes: int
    used_at: datetime
    in_use: bool
    prunable: bool = False
    """Whether `prune` would delete it now."""
    recipe: str | None = None
    """Whose image or root file system it is; None where it is found by its name."""


class Images(Protocol):
    """The images of this host."""

    async def find(self, recipe: str) -> Image:
        """The current image of a recipe.

        Raises:
            NotFound: there is no such recipe; the message lists those there are.
            RecipeNotBuilt: it has not been built yet, or its recipe or the agent has changed since.
        """
        ...

    async def build(self, recipe: str, *, progress: OnProgress, rebuild: bool = False) -> Image:
        """Builds the image, or returns the current one unless `rebuild`; callers of the same recipe share one build.

        Cancelling one caller ends the build only when nobody else waits for it; nothing half-made stays.

        Raises:
            NotFound, BadRequest: no such recipe, or an error in it (the message names the key).
            NoSpace: less free space than the build needs.
            BuildFailed: with the last lines of the builder's output.
        """
        ...

    async def list(self) -> Sequence[Image]:
        """Every complete image, newest first."""
        ...

    async def remove(self, digest: str) -> None:
        """Deletes an image; its templates go with it.

        Raises:
            NotFound: no such image.
            WrongState: a machine still runs from it.
        """
        ...

    async def uses(self) -> Sequence[CacheUse]:
        """What images hold on disk, for `cloche df`."""
        ...

    async def prune(self) -> int:
        """Deletes what no recipe needs any more; returns the bytes freed."""
        ...


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """What a machine is made of."""

    machine_id: str
    """The sandbox's id; names the machine's files and processes on its host."""
    image: str
    """An image digest."""
    flavor: Flavor


@dataclass(frozen=True, slots=True)
class MachineExit:
    """How a machine ended."""

    reason: str
    """stopped (we asked), killed (we insisted), guest_shutdown, guest_panic, crashed."""
    detail: str
    """One line: exit status, QEMU's last words."""


@dataclass(frozen=True, slots=True)
class MachineUse:
    """What a machine costs its host now."""

    cpu_s: float
    """Processor time since its start."""
    memory_pss_bytes: int
    """Proportional set size: shared template pages are split among their users."""
    disk_bytes: int
    """Blocks in use by its overlay."""


class Machine(Protocol):
    """One running virtual machine."""

    @property
    def machine_id(self) -> str: ...

    @property
    def accelerator(self) -> str:
        """kvm or tcg."""
        ...

    async def open_link(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A byte stream to the agent. One at a time: opening a second one ends the first.

        Raises:
            MachineFailed: the machine is gone.
        """
        ...

    async def wait_exit(self) -> MachineExit:
        """Waits until the machine has ended; any number may wait, at any time. Cancelling loses nothing."""
        ...

    async def stop(self, *, grace_s: float) -> MachineExit:
        """Powers the guest off, kills the machine after `grace_s`, and deletes its overlay. Idempotent."""
        ...

    async def use(self) -> MachineUse:
        """What it costs now.

        Raises:
            MachineFailed: the machine is gone.
        """
        ...

    async def boot_log(self, *, max_bytes: int) -> bytes:
        """The newest bytes of the serial console; also after the machine has ended, until it is removed."""
        ...


@dataclass(frozen=True, slots=True)
class StrayMachine:
    """A machine found running that no live hub owns."""

    machine_id: str
    pid: int
    accelerator: str


@dataclass(frozen=True, slots=True)
class HypervisorStatus:
    """What the host can do."""

    accelerator: str
    """kvm, tcg, or unproven: /dev/kvm looks usable, but no image exists yet to prove it with."""
    reason: str
    """One sentence: why not kvm, or what proved it."""
    version: str
    """QEMU's version; empty if there is none."""
    arch: str


AwaitAgent = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Shakes hands with the agent over a fresh link and returns when it is ready; the hypervisor bounds and cancels it."""


class Hypervisor(Protocol):
    """Whatever can run machines."""

    async def status(self) -> HypervisorStatus:
        """What this host can do, as last proven; never boots anything, never takes longer than a moment."""
        ...

    async def prepare(self, image: str, flavor: Flavor, *, progress: OnProgress) -> None:
        """Makes sure there is a template of image and flavor to clone from; callers of the same pair share the work.

        Raises:
            NotFound: no such image.
            BuildFailed: the guest did not come up; the message ends with the boot log's last lines.
            NoSpace: the template does not fit.
        """
        ...

    async def start(self, spec: MachineSpec) -> Machine:
        """Clones a machine from the template (made first if there is none) and returns as soon as it runs.

        The guest has not become itself yet: nobody may use it before the hub has sent it its identity.
        Cancelling it leaves nothing behind.

        Raises:
            NotFound, BuildFailed, NoSpace: as `prepare`.
            MachineFailed: the machine did not start; the message has QEMU's words.
        """
        ...

    async def find_strays(self) -> Sequence[StrayMachine]:
        """Machines of this hub's home that still run although this process did not start them."""
        ...

    async def end_stray(self, machine_id: str) -> None:
        """Ends a stray machine and removes what it left; does nothing if it is gone already."""
        ...

    async def uses(self) -> Sequence[CacheUse]:
        """Templates and machines on disk, for `cloche df`."""
        ...

    async def prune(self) -> int:
        """Deletes templates no machine runs from and left-over machine files; returns the bytes freed."""
        ...


class Guest(Protocol):
    """The agent inside one machine, as long as its link is kept up."""

    async def run(self) -> None:
        """Keeps the link up until it can be no more, then raises why (MachineFailed, RemoteProtocolError)."""
        ...

    async def greeting(self) -> Greeted:
        """The agent's hello; waits for it within the link's bounds, then raises LinkSilent."""
        ...

    async def become(self, identity: Identity) -> None:
        """Makes a clone a machine of its own.

        Raises:
            CodedError: the agent refused, or does not answer.
        """
        ...

    async def open_exec(self, params: dict[str, Any], *, window: int) -> Channel:
        """An exec channel, just opened. Raises LinkSilent if the guest does not answer."""
        ...

    async def power_off(self) -> bool:
        """Asks the guest to power itself off; returns whether it has said that it will, once that is known."""
        ...

    def fail(self, error: CodedError) -> None:
        """Ends the link for good: every call under way and every later one fails with this error."""
        ...


ConnectGuest = Callable[[Machine], AbstractAsyncContextManager[Guest]]
"""Links a machine's agent to the hub."""


class Transaction(Protocol):
    """Changes that become durable together or not at all; valid only inside the function given to `Store.write`."""

    def insert_sandbox(self, sandbox: Sandbox) -> None:
        """Adds a row.

        Raises:
            Conflict: its owner has a live sandbox of that name.
        """
        ...

    def update_sandbox(self, sandbox: Sandbox) -> None:
        """Replaces the row with the sandbox's id."""
        ...

    def insert_token(self, token: Token) -> None:
        """Adds a token."""
        ...

    def append_audit(
        self,
        event: AuditName,
        *,
        actor: str,
        sandbox: str | None = None,
        detail: Mapping[str, Json] | None = None,
    ) -> AuditEvent:
        """Adds an event to the end of the chain."""
        ...


class Store(Protocol):
    """What outlives the hub."""

    async def write(self, change: Callable[[Transaction], object]) -> object:
        """Runs `change` in a transaction and returns what it returned, once that is durable. Cancelling does not undo it.

        Raises:
            CodedError: what `change` raised, or NoSpace; nothing of it is kept.
        """
        ...

    async def sandboxes(self, *, ended: bool = False, owner: str | None = None) -> Sequence[Sandbox]:
        """All live sandboxes, newest first; with `ended` also the newest of the removed ones.

        Args:
            ended: removed ones too.
            owner: this owner's only; None: everybody's.
        """
        ...

    async def find_sandbox(self, reference: str, *, caller: str, owner: str | None = None) -> Sandbox:
        """The sandbox a reference means; removed ones by their id.

        Raises:
            BadRequest, NotFound: several are meant, or none.
        """
        ...

    async def token(self, token_id: str) -> Token | None:
        """The token with this id, revoked or not; None if there is none."""
        ...


class AuditLog(Protocol):
    """What is committed of the audit chain."""

    @property
    def head(self) -> Head:
        """Where the chain ends now."""
        ...

    async def tail(self, *, limit: int, sandbox: str | None = None) -> Sequence[AuditEvent]:
        """The newest events, oldest of them first."""
        ...

    async def page(self, *, after: int = 0) -> Sequence[AuditEvent]:
        """The first events after a number, in order; none if there are no more. Raises AuditBroken."""
        ...

    def follow(self, *, after: int, sandbox: str | None = None) -> AsyncGenerator[AuditEvent]:
        """Every event after a number, each as soon as it is committed; never ends.

        Raises:
            ShuttingDown: the store is being closed.
        """
        ...

    async def verify(self) -> Verified:
        """Verifies the whole chain.

        Raises:
            AuditBroken: names the first bad event.
        """
        ...
