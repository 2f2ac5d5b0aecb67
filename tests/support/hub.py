"""A whole hub on fakes: real sockets, real SQLite, real protocol; only machines and images are made up.

    async with running_hub(tmp_path) as hub, hub.client() as client:
        sandbox = await client.call("sandbox.create", name="a")
        assert (await client.run("a", "echo", "hi")).stdout == b"hi\n"

Rule: every wait in here has a bound, `BOUND_S`; a test that reaches it fails with what it waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from structlog.testing import capture_logs
from websockets.asyncio.client import ClientConnection, connect, unix_connect

from cloche_hub.app import Kept, serve
from cloche_hub.domain.audit import AuditEvent
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.tokens import Scope, Token, id_of, mint
from cloche_hub.errors import NoSpace, StoreFailed
from cloche_hub.server.listener import ListenerOptions
from cloche_hub.services.clock import Clock
from cloche_hub.services.reaper import reap_for_ever
from cloche_hub.settings import Settings, load_settings
from cloche_hub.store.recordings.recordings import open_recordings
from cloche_hub.store.screens import open_screens
from cloche_hub.store.store import Store, open_store
from cloche_hub.store.transaction import Transaction
from cloche_term.apart.terminals import PATIENCE_S, Terminals, open_terminals
from cloche_term.apart.zygote import Zygote
from cloche_wire.aio import Channel, Handler, Heartbeat, Peer, WebSocketTransport
from cloche_wire.connection import Connection
from cloche_wire.errors import WireError, ungrouped
from cloche_wire.frames import Fields
from cloche_wire.limits import Limits
from tests.support.fake_hypervisor import FakeHypervisor, FakeMachine
from tests.support.fake_images import LONG_AGO, FakeImages
from tests.support.fake_recordings import FakeRecordings
from tests.support.fake_screens import FakeScreens

T = TypeVar("T")

ZYGOTE = Zygote()
"""What terminals of all tests come from: started by the first, closed by `conftest` at the end."""

BOUND_S = 10.0
"""More than any wait takes on a busy machine."""


async def until(condition: Callable[[], object]) -> None:
    """Waits, turn by turn of the event loop, until the condition holds."""
    async with asyncio.timeout(BOUND_S):
        while not condition():
            await asyncio.sleep(0.001)


class Time:
    """A time of day that a test moves."""

    def __init__(self) -> None:
        self.now = LONG_AGO
        self.clock = Clock(now=lambda: self.now)

    def passes(self, seconds: float) -> datetime:
        """Moves it on."""
        self.now += timedelta(seconds=seconds)
        return self.now


class FlakyStore(Store):
    """The real store on a disk that can be full."""

    def __init__(self, store: Store) -> None:
        super().__init__(store._database, store.audit)
        self.refuses: NoSpace | StoreFailed | None = None
        """What each write fails with."""
        self.on_write: Callable[[], object] = lambda: None
        """Called before each write."""
        self.gate = asyncio.Event()
        """Writes go on while it is set."""
        self.gate.set()
        self.waiting = 0
        """Writes that wait at the gate."""

    async def write(self, change: Callable[[Transaction], T]) -> T:
        self.on_write()
        self.waiting += 1
        try:
            await self.gate.wait()
        finally:
            self.waiting -= 1
        if self.refuses is not None:
            raise self.refuses
        return await super().write(change)


@dataclass
class Ran:
    """What a command in a sandbox did."""

    stdout: bytes
    stderr: bytes
    info: Fields
    result: Fields


class Client:
    """A client with a session that survives its links.

    Args:
        address: the hub's.
        token: who we are; None to say nothing of it.
        tasks: where its link is served.
        limits, heartbeat: of this side.
        on_open: serves what the hub opens; without it that is refused.
    """

    def __init__(
        self,
        address: str,
        token: str | None,
        tasks: asyncio.TaskGroup,
        *,
        limits: Limits,
        heartbeat: Heartbeat,
        on_open: Handler | None = None,
    ) -> None:
        info = {} if token is None else {"token": token}
        self.session = secrets.token_bytes(16)
        self.peer = Peer(
            Connection(leader=True, software="test/1", session=self.session, info=info, limits=limits),
            on_open=on_open,
            heartbeat=heartbeat,
        )
        self.ended: asyncio.Future[WireError] = asyncio.get_running_loop().create_future()
        """Why the current link, or the last one, ended."""
        self._address, self._tasks = address, tasks
        self._socket: ClientConnection | None = None

    async def link(self) -> None:
        """Makes a link and waits until both have greeted.

        Raises:
            WireError: why the hub ended it instead.
        """
        async with asyncio.timeout(BOUND_S):
            self._socket = await open_socket(self._address)
            self.ended = asyncio.get_running_loop().create_future()
            self._tasks.create_task(self._run(WebSocketTransport(self._socket), self.ended))
            greeted = self._tasks.create_task(self.peer.wait_up())
            await _either(greeted, self.ended)
            if not greeted.done():
                greeted.cancel()
                raise self.ended.result()

    async def cut(self) -> None:
        """Breaks the link as a pulled cable does; the session stays."""
        assert self._socket is not None
        self._socket.transport.abort()
        await within(self.ended)

    async def call(self, kind: str, **params: Any) -> Fields:
        """Asks and waits for the answer."""
        return await within(self.peer.call(kind, params))

    def open(self, kind: str, **params: Any) -> Channel:
        """Opens a channel."""
        return self.peer.open(kind, params)

    async def create(self, **params: Any) -> Fields:
        """A sandbox, running."""
        return await self.call("sandbox.create", **params)

    async def exec(self, sandbox: str, *argv: str, **params: Any) -> Channel:
        """A command that has been started."""
        channel = self.open("exec", sandbox=sandbox, argv=list(argv), **params)
        await within(channel.wait_accepted())
        return channel

    async def run(self, sandbox: str, *argv: str, **params: Any) -> Ran:
        """A command, to its end."""
        return await within(finish(self.open("exec", sandbox=sandbox, argv=list(argv), **params)))

    async def _run(self, transport: WebSocketTransport, ended: asyncio.Future[WireError]) -> None:
        try:
            await self.peer.run(transport)
        except WireError as error:
            ended.set_result(error)


async def finish(channel: Channel) -> Ran:
    """Reads a command's output to its end, and its result."""
    output: dict[int, bytearray] = {1: bytearray(), 2: bytearray()}
    while (read := await channel.read_any(1, 2)) is not None:
        output[read[0]] += read[1]
    result = await channel.result()
    return Ran(bytes(output[1]), bytes(output[2]), await channel.wait_accepted(), result)


async def within(waited: Awaitable[T]) -> T:
    """The outcome of an awaitable, within the bound."""
    async with asyncio.timeout(BOUND_S):
        return await waited


async def open_socket(address: str, **options: Any) -> ClientConnection:
    """A bare websocket to an address of the hub's."""
    if address.startswith("unix://"):
        return await unix_connect(address.removeprefix("unix://"), compression=None, max_size=None, **options)
    return await connect(address, compression=None, max_size=None, **options)


@dataclass
class RunningHub:
    """A hub that serves."""

    home: Path
    settings: Settings
    store: FlakyStore
    images: FakeImages
    hypervisor: FakeHypervisor
    terminals: Terminals
    screens: FakeScreens
    recordings: FakeRecordings
    addresses: list[str]
    stop: asyncio.Event
    """Set it, and the hub ends in good order."""
    serving: asyncio.Task[None]
    logs: Sequence[Mapping[str, Any]]
    """What the hub has logged so far."""

    @property
    def address(self) -> str:
        """Its Unix socket."""
        return self.addresses[0]

    @property
    def admin(self) -> str:
        """The text of the first admin token."""
        return (self.home / "admin.token").read_text().strip()

    @property
    def machine(self) -> FakeMachine:
        """The newest machine."""
        return self.hypervisor.machine

    async def mint(self, owner: str, scope: Scope = Scope.OWNER) -> str:
        """The text of a fresh token."""
        token, text = mint(name="test", owner=owner, scope=scope, at=LONG_AGO)
        await self.store.write(lambda transaction: transaction.insert_token(token))
        return text

    @contextlib.asynccontextmanager
    async def client(
        self,
        token: str | None = None,
        *,
        address: str | None = None,
        limits: Limits | None = None,
        heartbeat: Heartbeat | None = None,
        anonymous: bool = False,
        on_open: Handler | None = None,
    ) -> AsyncIterator[Client]:
        """A client with a link; the admin unless told otherwise."""
        with ungrouped():
            async with asyncio.TaskGroup() as tasks:
                client = Client(
                    address or self.address,
                    None if anonymous else token or self.admin,
                    tasks,
                    limits=limits or Limits(),
                    heartbeat=heartbeat or Heartbeat(),
                    on_open=on_open,
                )
                async with client.peer:
                    await client.link()
                    yield client

    async def token(self, text: str) -> Token:
        """The row of a token's text."""
        token = await self.store.token(id_of(text))
        assert token is not None
        return token

    async def events(self, *names: AuditName, sandbox: str | None = None) -> list[AuditEvent]:
        """The audit's events of these names (all if none is given), in order."""
        events = await self.store.audit.tail(limit=500, sandbox=sandbox)
        return [event for event in events if not names or event.event in names]

    async def happened(self, name: AuditName, *, times: int = 1) -> AuditEvent:
        """The event of this name, once it is in the audit (so many times)."""
        async with asyncio.timeout(BOUND_S), contextlib.aclosing(self.store.audit.follow(after=0)) as events:
            async for event in events:
                times -= event.event == name
                if times == 0:
                    return event
        raise AssertionError("a follower never ends")

    async def names(self, *, sandbox: str | None = None) -> list[str]:
        """The names of the audit's events, in order."""
        return [event.event for event in await self.events(sandbox=sandbox)]

    async def end(self) -> None:
        """Ends the hub in good order and waits for it."""
        self.stop.set()
        await within(asyncio.wait({self.serving}))


@contextlib.asynccontextmanager
async def running_hub(
    home: Path,
    *,
    images: FakeImages | None = None,
    hypervisor: FakeHypervisor | None = None,
    screens: FakeScreens | None = None,
    clock: Clock | None = None,
    full_disk: bool = False,
    on_disk: bool = False,
    patience_s: float = PATIENCE_S,
    listener: Mapping[str, Any] | None = None,
    **settings: Any,
) -> AsyncIterator[RunningHub]:
    """A hub with its home in a folder.

    Args:
        home: the folder; may hold what an earlier hub left.
        images, hypervisor, screens: fakes that a test has set up.
        clock: now.
        full_disk: whether nothing can be written from the start.
        on_disk: keep screens and recordings in the home as a real hub does, and not in the fakes.
        patience_s: how long a terminal is waited for.
        listener: bounds of the listener that are no settings.
        settings: the hub's; a machine in software emulation is waited for no longer than one on kvm unless they say so.
    """
    images, hypervisor = images or FakeImages(), hypervisor or FakeHypervisor()
    screens, recordings = screens or FakeScreens(), FakeRecordings()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLOCHE_HOME", str(home))
        patch.setenv("CLOCHE_CACHE", str(home.parent))
        patch.setattr("cloche_hub.app.reap_for_ever", partial(reap_for_ever, interval_s=0.01))
        patch.setattr("cloche_hub.app.ListenerOptions", partial(ListenerOptions, **(listener or {})))
        configured = load_settings(**{"tcg_scale": 1, **settings})
        with capture_logs() as logs, ungrouped():
            async with (
                open_store(home) as real,
                open_screens(home) as real_screens,
                open_recordings(real, home) as real_recordings,
                hypervisor.running(),
                open_terminals(patience_s=patience_s, zygote=ZYGOTE) as terminals,
                asyncio.TaskGroup() as tasks,
            ):
                # Nothing here proves what survives a power cut (tests of the store do), and a sync costs milliseconds.
                await real._database._writer.execute_fetchall("PRAGMA synchronous = OFF")
                store, stop = FlakyStore(real), asyncio.Event()
                store.refuses = NoSpace("the disk is full") if full_disk else None
                ready: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
                serving = tasks.create_task(
                    serve(
                        configured,
                        Kept(store, real_screens, real_recordings)
                        if on_disk
                        else Kept(store, screens, recordings),
                        terminals,
                        images,
                        hypervisor,
                        ready=ready.set_result,
                        stop=stop,
                        clock=clock,
                    )
                )
                async with asyncio.timeout(BOUND_S):
                    await _either(ready, serving)
                    addresses = ready.result() if ready.done() else await _never(serving)
                yield RunningHub(
                    home, configured, store, images, hypervisor, terminals, screens, recordings, addresses, stop,
                    serving, logs,
                )  # fmt: skip
                stop.set()
                await within(asyncio.wait({serving}))


async def _either(*ones: asyncio.Future[Any]) -> None:
    await asyncio.wait(ones, return_when=asyncio.FIRST_COMPLETED)


async def _never(serving: asyncio.Task[None]) -> list[str]:
    """Raises why the hub did not come up."""
    await serving
    raise AssertionError("the hub ended before it was ready")
