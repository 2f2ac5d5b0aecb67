"""An agent for machines that are none: the real protocol, but commands are a handful of coroutines.

For tests of everything above the hypervisor. The commands: `true`, `false`, `echo WORDS…`, `cat` (stdin to stdout),
`count N` (N bytes to stdout, each telling its place), `yes TEXT` (until nobody listens), `wait` (until a signal),
`env`, `exit N`, `err WORDS…` (to stderr). A terminal sends back what is typed, and ends at Ctrl-D or a signal; files
are a tree in memory (`fake_files`).

What a test wants to go wrong is set from outside: `silence`, `babble`, and `overrides` for whole requests.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from cloche_wire.aio import Channel, Handler, Peer, StreamTransport
from cloche_wire.connection import Connection
from cloche_wire.errors import CommandNotStarted, Unsupported, WireError, WrongState
from cloche_wire.limits import Limits
from tests.support.fake_files import FakeFiles

STDIN, STDOUT, STDERR = 1, 1, 2
LIMITS = Limits(max_message=512 << 10, max_frame=256 << 10)
PATTERN = bytes(range(251))
"""What `count` writes, over and over: a lost or doubled byte shifts everything behind it."""

Links = asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]


def counted(size: int) -> bytes:
    """What `count` writes in all."""
    return (PATTERN * (size // len(PATTERN) + 1))[:size]


class FakeAgent:
    """The follower's side of one guest link, across reconnects.

    Args:
        agent_hash: what its hello says.
        on_power_off: what `poweroff` does.
    """

    def __init__(self, agent_hash: str, on_power_off: Callable[[], None]) -> None:
        self.identity: Mapping[str, Any] | None = None
        """What `become` said."""
        self.execs: list[Mapping[str, Any]] = []
        """The parameters of every exec so far."""
        self.running = 0
        """Execs under way."""
        self.written = 0
        """Bytes that commands got rid of."""
        self.consoles: list[Mapping[str, Any]] = []
        """The parameters of every terminal so far."""
        self.sizes: list[tuple[int, int]] = []
        """Rows and columns of every resize."""
        self.files = FakeFiles()
        self.overrides: dict[str, Handler] = {}
        """Kind → what serves it instead of the agent."""
        self._on_power_off = on_power_off
        self._callbacks = 0
        self._speaks = asyncio.Event()
        self._speaks.set()
        self._transport: StreamTransport | None = None
        self._peer = Peer(
            Connection(leader=False, software="fake-agent/1", info={"agent": agent_hash}, limits=LIMITS),
            on_open=self._serve,
        )

    def silence(self) -> None:
        """From now on it neither reads nor says anything, like a guest without processor time."""
        self._speaks.clear()

    def speak(self) -> None:
        """It goes on where it fell silent."""
        self._speaks.set()

    def replace(self, agent_hash: str) -> None:
        """Somebody has put another agent in its place; it greets on the next link."""
        self._peer.connection.info = {"agent": agent_hash}

    async def babble(self, message: bytes) -> None:
        """Sends a link message that the protocol does not provide for."""
        assert self._transport is not None
        await self._transport.send(message)

    def open(self, kind: str, params: Mapping[str, Any]) -> Channel:
        """Opens a channel to the hub, as no sound agent may do it."""
        return self._peer.open(kind, dict(params), window=0)

    def callback(self, method: str, params: object = None, **changes: Any) -> Channel:
        """A program of the machine calls out; the result is in the channel's result.

        Args:
            method: what it calls.
            params: any JSON value.
            changes: of what the agent says (wait, timeout_s, caller, …).
        """
        self._callbacks += 1
        said = {
            "callback": f"cb_{self._callbacks}",
            "method": method,
            "params": json.dumps(params).encode(),
            "wait": True,
            "caller": {"pid": 7, "uid": 1000, "program": "python3"},
        }
        return self.open("callback", {**said, **changes})

    def drop_link(self) -> None:
        """Closes its end of the link, as a restarting agent does; it serves the next one."""
        assert self._transport is not None
        self._transport._writer.transport.abort()

    async def run(self, links: Links) -> None:
        """Serves one link after another until cancelled."""
        async with self._peer:
            while True:
                reader, writer = await links.get()
                self._transport = StreamTransport(reader, writer, leader=False, limits=LIMITS)
                try:
                    while True:
                        await self._speaks.wait()
                        await self._transport.synced()
                        await self._peer.run(_Halting(self._transport, self._speaks))
                except WireError:
                    continue
                finally:
                    writer.transport.abort()

    async def _serve(self, channel: Channel) -> None:
        if handler := self.overrides.get(channel.kind):
            await handler(channel)
            return
        match channel.kind:
            case "become":
                if self.identity is not None:
                    raise WrongState("this machine has become itself already")
                self.identity = channel.params
                channel.close({})
            case "poweroff":
                channel.close({})
                await channel.wait_confirmed()
                self._on_power_off()
            case "exec":
                if self.identity is None:
                    raise WrongState("not before become")
                await self._exec(channel)
            case "pty":
                await self._pty(channel)
            case kind if kind in (handlers := self.files.handlers()):
                await handlers[kind](channel)
            case other:
                raise Unsupported(f"the fake agent has no {other!r}")

    async def _exec(self, channel: Channel) -> None:
        self.execs.append(channel.params)
        name, *words = channel.params["argv"]
        command = _COMMANDS.get(name)
        if command is None:
            raise CommandNotStarted(f"{name}: no such file or directory")
        channel.accept({"exec": channel.params["exec"], "pid": 100 + len(self.execs)})
        self.running += 1
        try:
            ending = await self._carry_out(command, channel, words)
        finally:
            self.running -= 1
        channel.end(STDOUT)
        channel.end(STDERR)
        channel.close({**ending, "timed_out": False, "duration_s": 0.0})
        await channel.wait_confirmed()

    async def _pty(self, channel: Channel) -> None:
        self.consoles.append(channel.params)
        channel.accept({"console": channel.params["console"], "pid": 100 + len(self.consoles)})
        self.running += 1
        ended: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.TaskGroup() as tasks:
                ways = [
                    tasks.create_task(self._echo_keys(channel, ended)),
                    tasks.create_task(self._hear_terminal(channel, ended)),
                ]
                ending = await ended
                for way in ways:
                    way.cancel()
        finally:
            self.running -= 1
        channel.end(STDOUT)
        channel.close({**ending, "duration_s": 0.0})
        await channel.wait_confirmed()

    async def _echo_keys(self, channel: Channel, ended: asyncio.Future[dict[str, Any]]) -> None:
        while keys := await channel.read(STDIN):
            shown, ctrl_d, _ = keys.partition(b"\x04")
            await self.write(channel, STDOUT, shown)
            if ctrl_d and not ended.done():
                ended.set_result({"exit_code": 0})

    async def write(self, channel: Channel, stream: int, data: bytes) -> None:
        """Writes for a command, and counts what it got rid of, also of bytes that are not all taken."""
        while data:
            credit = await channel.wait_credit(stream)
            channel.send(stream, data[:credit])
            self.written += len(data[:credit])
            data = data[credit:]

    async def _hear_terminal(self, channel: Channel, ended: asyncio.Future[dict[str, Any]]) -> None:
        async for message in channel.messages():
            if size := message.get("resize"):
                self.sizes.append((size["rows"], size["cols"]))
            elif not ended.done():
                ended.set_result({"signal": message["signal"]})

    async def _carry_out(self, command: Command, channel: Channel, words: list[str]) -> dict[str, Any]:
        signalled: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(_listen(channel, signalled))
            code = await command(_Run(self, channel, words, signalled))
            listening.cancel()
        return {"signal": code[0]} if isinstance(code, tuple) else {"exit_code": code}


class _Halting:
    """A transport that stands still while the agent is silent."""

    def __init__(self, transport: StreamTransport, speaks: asyncio.Event) -> None:
        self._transport, self._speaks = transport, speaks

    async def send(self, message: bytes) -> None:
        await self._speaks.wait()
        await self._transport.send(message)

    async def receive(self) -> bytes:
        message = await self._transport.receive()
        await self._speaks.wait()
        return message

    async def close(self) -> None:
        await self._transport.close()


class _Run:
    """What a command works with."""

    def __init__(
        self, agent: FakeAgent, channel: Channel, words: list[str], signalled: asyncio.Future[int]
    ) -> None:
        self._agent, self.channel, self.words, self.signalled = agent, channel, words, signalled

    async def write(self, stream: int, data: bytes) -> None:
        await self._agent.write(self.channel, stream, data)


Ending = int | tuple[str]
"""An exit code, or the name of the signal that ended it."""
Command = Callable[[_Run], Awaitable[Ending]]


async def _listen(channel: Channel, signalled: asyncio.Future[int]) -> None:
    async for message in channel.messages():
        if not signalled.done():
            number = message["signal"]
            signalled.set_result(signal.Signals[f"SIG{number}"] if isinstance(number, str) else number)


async def _echo(run: _Run) -> Ending:
    await run.write(STDOUT, " ".join(run.words).encode() + b"\n")
    return 0


async def _err(run: _Run) -> Ending:
    await run.write(STDERR, " ".join(run.words).encode() + b"\n")
    return 1


async def _cat(run: _Run) -> Ending:
    while data := await run.channel.read(STDIN):
        await run.write(STDOUT, data)
    return 0


async def _count(run: _Run) -> Ending:
    left = int(run.words[0])
    # Blocks of whole patterns, so that the next one goes on where this one ends.
    block = counted(len(PATTERN) * 64)
    while left > 0:
        await run.write(STDOUT, block[:left])
        left -= len(block)
    return 0


async def _yes(run: _Run) -> Ending:
    line = (" ".join(run.words) or "y").encode() + b"\n"
    while True:
        await run.write(STDOUT, line * (4096 // len(line) + 1))


async def _wait(run: _Run) -> Ending:
    return (signal.Signals(await run.signalled).name.removeprefix("SIG"),)


async def _env(run: _Run) -> Ending:
    lines = "".join(f"{key}={value}\n" for key, value in run.channel.params["env"].items())
    await run.write(STDOUT, lines.encode())
    return 0


def _exits(code: int) -> Command:
    async def command(run: _Run) -> Ending:
        return int(run.words[0]) if run.words else code

    return command


_COMMANDS: dict[str, Command] = {
    "true": _exits(0),
    "false": _exits(1),
    "exit": _exits(0),
    "echo": _echo,
    "err": _err,
    "cat": _cat,
    "count": _count,
    "yes": _yes,
    "wait": _wait,
    "env": _env,
}
