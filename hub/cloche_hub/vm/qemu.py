"""One QEMU: a process, its monitor, its console, its folder. What templates, clones and probes have in common.

Rules:
- Whoever starts one ends it (`end`) or lets go of it (`detach`); both are safe at any time and more than once.
- What the machine needs for as long as it lives (its locks) it has inherited; the hub's copies may be closed.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from cloche_hub.errors import MachineFailed
from cloche_hub.vm.argv import CONSOLE, CONSOLE_BYTES, Invocation, arguments
from cloche_hub.vm.boot_log import BootLog, last_lines
from cloche_hub.vm.folder import MachineFolder, Record
from cloche_hub.vm.process import Process, RunAs, start_ticks
from cloche_hub.vm.qmp import Monitor

MACHINE_VARIABLE = "CLOCHE_MACHINE"
"""In the environment of every machine: its folder."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_QMP, _AGENT = "qmp", "agent"
_SHUTDOWN = "SHUTDOWN"
_QUIT_S = 2.0
_LAST_WORDS_S = 0.5
# Killed, but not gone: the kernel is stuck in KVM or in a dead disk. Nobody is kept waiting for that.
_KILL_S = 10.0
_Condition = Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Launch:
    """All that is needed to start one."""

    program: str
    invocation: Invocation
    """The numbers of its sockets are filled in by `start_qemu`."""
    folder: MachineFolder
    inherit: Sequence[int]
    """Descriptors besides those the invocation names: the locks it holds as long as it lives."""
    run_as: RunAs | None
    largest_file: int
    """Bytes no file it writes may grow beyond."""
    image: str
    flavor: str
    answer_s: float
    """How long its monitor may take to answer."""


class Qemu:
    """A started QEMU; made by `start_qemu`."""

    def __init__(self, process: Process, folder: MachineFolder, log: BootLog, *, answer_s: float) -> None:
        self.process, self.folder, self.log = process, folder, log
        self._answer_s = answer_s
        self._monitor = Monitor(self._on_event)
        self._expected: list[tuple[str, _Condition, asyncio.Future[Mapping[str, Any]]]] = []
        self._ended_by: Mapping[str, Any] | None = None
        process.when_ended(self._on_end)

    @property
    def shutdown(self) -> str | None:
        """Why the guest has ended, in QMP's words; None while it runs."""
        return None if self._ended_by is None else str(self._ended_by.get("reason", "unknown"))

    # The monitor

    async def connect(self, connection: socket.socket) -> None:
        """Takes over its monitor."""
        await self._monitor.connect(connection, bound_s=self._answer_s)

    async def execute(self, command: str, arguments: Mapping[str, object] | None = None) -> Any:
        """Runs a monitor command.

        Raises:
            MachineFailed: it was refused, or there was no answer in time.
        """
        return await self._monitor.execute(command, arguments, bound_s=self._answer_s)

    async def hand_over(self, descriptor: int, name: str) -> None:
        """Gives it a copy of a descriptor; see `Monitor.hand_over`."""
        await self._monitor.hand_over(descriptor, name, bound_s=self._answer_s)

    def expect(self, event: str, when: _Condition = lambda _data: True) -> asyncio.Future[Mapping[str, Any]]:
        """The data of the next event of that name that fits; fails with MachineFailed if QEMU ends before it.

        To miss none, ask before the command that causes it. The guest's end (SHUTDOWN) comes by itself: one that has
        come already is the next.
        """
        future: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        # Whoever asked may have failed by another way, and never look at it.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        if event == _SHUTDOWN and self._ended_by is not None and when(self._ended_by):
            future.set_result(self._ended_by)
            return future
        self._expected.append((event, when, future))
        if self.process.has_ended:
            self._on_end()
        return future

    async def read_console(self) -> None:
        """Moves what the console has printed into the log.

        Raises:
            MachineFailed: QEMU does not answer.
        """
        wanted = {"device": CONSOLE, "size": CONSOLE_BYTES, "format": "base64"}
        data = base64.b64decode(await self.execute("ringbuf-read", wanted))
        # QEMU does not say what has been overwritten, but a ring that is full has most likely been.
        self.log.append(data, is_cut=len(data) >= CONSOLE_BYTES)

    # The guest

    async def open_link(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A new byte stream to the agent's port. QEMU serves one at a time.

        Raises:
            MachineFailed: the machine is gone.
        """
        try:
            connection = self.folder.connect(_AGENT)
        except OSError:
            raise MachineFailed(f"the machine {self.folder.machine_id} is gone") from None
        return await asyncio.open_connection(sock=connection)

    # The end

    async def quit(self) -> bool:
        """Asks QEMU to end in good order; returns whether it has."""
        with contextlib.suppress(MachineFailed):
            await self._monitor.execute("quit", bound_s=_QUIT_S)
        # It answers before it is gone: only the end of the process is its end.
        return await self.process.ended_within(_QUIT_S)

    async def end(self) -> None:
        """Kills it and waits until it is gone. Its folder stays."""
        self.process.kill()
        try:
            await self.process.ended_within(_KILL_S)
        finally:
            await self.detach()

    async def detach(self) -> None:
        """Lets go of it: it runs on if it still does."""
        try:
            await self._monitor.close()
        finally:
            self.process.close()

    # What happens by itself

    def _on_event(self, name: str, data: Mapping[str, Any]) -> None:
        # The first one: our own `quit` to a guest that has ended causes another.
        if name == _SHUTDOWN and self._ended_by is None:
            self._ended_by = data
        for entry in [entry for entry in self._expected if entry[0] == name and entry[1](data)]:
            self._expected.remove(entry)
            if not entry[2].done():
                entry[2].set_result(data)

    def _on_end(self) -> None:
        expected, self._expected = self._expected, []
        for _, _, future in expected:
            if not future.done():
                future.set_exception(self.failure())

    def failure(self) -> MachineFailed:
        """Why a QEMU that has ended by itself did so."""
        words = last_lines(self.process.words().encode(), lines=3)
        return MachineFailed(f"QEMU has ended by itself: {words or 'it did not say why'}")


async def start_qemu(launch: Launch, log: BootLog) -> Qemu:
    """Starts QEMU and waits until its monitor answers. Cancelling it leaves no process.

    Raises:
        MachineFailed: it can not be started, or has ended at once; the message has its words.
    """
    with contextlib.ExitStack() as stack:
        # We listen, it inherits: so a connection succeeds before it has even started.
        listening = {name: stack.enter_context(launch.folder.listen(name)) for name in (_QMP, _AGENT)}
        monitor = stack.enter_context(launch.folder.connect(_QMP))
        numbers = {name: one.fileno() for name, one in listening.items()}
        process = _spawn(launch, replace(launch.invocation, qmp=numbers[_QMP], agent=numbers[_AGENT]))
        qemu = Qemu(process, launch.folder, log, answer_s=launch.answer_s)
        try:
            _record(launch, process.pid)
            for one in listening.values():
                # If QEMU dies now, whoever is connected learns of it.
                one.close()
            await _connect(qemu, monitor.dup())
        except BaseException:
            await qemu.end()
            raise
    return qemu


@contextlib.asynccontextmanager
async def running_qemu(launch: Launch, log: BootLog) -> AsyncIterator[Qemu]:
    """A QEMU for the time of the context; see `start_qemu`."""
    qemu = await start_qemu(launch, log)
    try:
        yield qemu
    finally:
        await qemu.end()


def _spawn(launch: Launch, it: Invocation) -> Process:
    named = [it.qmp, it.agent, it.ram, it.kernel, *(disk.descriptor for disk in it.disks)]
    named += [number for number in (it.initrd, it.state) if number is not None]
    return Process.spawn(
        [launch.program, *arguments(it)],
        pass_fds=[*named, *launch.inherit],
        environment={"PATH": _PATH, "LANG": "C", MACHINE_VARIABLE: str(launch.folder.path)},
        run_as=launch.run_as,
        largest_file=launch.largest_file,
    )


def _record(launch: Launch, pid: int) -> None:
    try:
        born = start_ticks(pid)
    except ProcessLookupError:
        # It is gone already; the monitor's end will say why.
        return
    launch.folder.write_record(
        Record(
            machine_id=launch.folder.machine_id,
            pid=pid,
            start_ticks=born,
            accelerator=launch.invocation.accelerator,
            image=launch.image,
            flavor=launch.flavor,
            created_at=datetime.now(UTC).isoformat(),
        )
    )


async def _connect(qemu: Qemu, connection: socket.socket) -> None:
    try:
        await qemu.connect(connection)
    except BaseException as error:
        connection.close()
        if not isinstance(error, MachineFailed):
            raise
        # A QEMU that does not like its arguments says so and ends; its words are the better explanation.
        if await qemu.process.ended_within(_LAST_WORDS_S):
            raise qemu.failure() from None
        raise
