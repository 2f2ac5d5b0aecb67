"""An agent for machines that are none: the real protocol, but commands are a handful of coroutines.

For tests of everything above the hypervisor. The commands: `true`, `false`, `echo WORDS…`, `cat` (stdin to stdout),
`yes TEXT` (until nobody listens), `wait` (until a signal), `env`, `exit N`, `err WORDS…` (to stderr).
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from cloche_wire.aio import Channel, Peer, StreamTransport
from cloche_wire.connection import Connection
from cloche_wire.errors import CommandNotStarted, Unsupported, WireError, WrongState
from cloche_wire.limits import Limits

STDIN, STDOUT, STDERR = 1, 1, 2


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
        self.silent = asyncio.Event()
        """Set it, and the agent stops answering at all."""
        self._on_power_off = on_power_off
        self._connection = Connection(
            leader=False,
            software="fake-agent/1",
            info={"agent": agent_hash},
            limits=Limits(max_message=512 << 10, max_frame=256 << 10),
        )
        self._peer = Peer(self._connection, on_open=self._serve)

    async def run(self, links: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]) -> None:
        """Serves one link after another until cancelled."""
        async with self._peer:
            while True:
                reader, writer = await links.get()
                transport = StreamTransport(reader, writer, leader=False, limits=self._connection.limits)
                try:
                    while True:
                        await transport.synced()
                        await self._peer.run(_Mute(transport, self.silent))
                except WireError:
                    writer.close()

    async def _serve(self, channel: Channel) -> None:
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
            case other:
                raise Unsupported(f"the fake agent has no {other!r}")

    async def _exec(self, channel: Channel) -> None:
        self.execs.append(channel.params)
        name, *words = channel.params["argv"]
        command = _COMMANDS.get(name)
        if command is None:
            raise CommandNotStarted(f"{name}: no such file or directory")
        channel.accept({"exec": channel.params["exec"], "pid": 100 + len(self.execs)})
        signalled: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        listening = asyncio.ensure_future(_listen(channel, signalled))  # noqa: TID251 - ended below
        try:
            code = await command(channel, words, signalled)
        finally:
            listening.cancel()
        channel.end(STDOUT)
        channel.end(STDERR)
        ending = {"signal": code[0]} if isinstance(code, tuple) else {"exit_code": code}
        channel.close({**ending, "timed_out": False, "duration_s": 0.0})
        await channel.wait_confirmed()


class _Mute:
    """A transport that stops sending when the agent has to be silent."""

    def __init__(self, transport: StreamTransport, silent: asyncio.Event) -> None:
        self._transport, self._silent = transport, silent

    async def send(self, message: bytes) -> None:
        if not self._silent.is_set():
            await self._transport.send(message)

    async def receive(self) -> bytes:
        return await self._transport.receive()

    async def close(self) -> None:
        await self._transport.close()


Ending = int | tuple[str]
"""An exit code, or the name of the signal that ended it."""
Command = Callable[[Channel, list[str], "asyncio.Future[int]"], Awaitable[Ending]]


async def _listen(channel: Channel, signalled: asyncio.Future[int]) -> None:
    async for message in channel.messages():
        if not signalled.done():
            number = message["signal"]
            signalled.set_result(signal.Signals[f"SIG{number}"] if isinstance(number, str) else number)


async def _echo(channel: Channel, words: list[str], _signalled: asyncio.Future[int]) -> Ending:
    await channel.write(STDOUT, " ".join(words).encode() + b"\n")
    return 0


async def _err(channel: Channel, words: list[str], _signalled: asyncio.Future[int]) -> Ending:
    await channel.write(STDERR, " ".join(words).encode() + b"\n")
    return 1


async def _cat(channel: Channel, _words: list[str], _signalled: asyncio.Future[int]) -> Ending:
    while data := await channel.read(STDIN):
        await channel.write(STDOUT, data)
    return 0


async def _yes(channel: Channel, words: list[str], _signalled: asyncio.Future[int]) -> Ending:
    line = (" ".join(words) or "y").encode() + b"\n"
    block = line * (4096 // len(line) + 1)
    while True:
        await channel.write(STDOUT, block)


async def _wait(_channel: Channel, _words: list[str], signalled: asyncio.Future[int]) -> Ending:
    return (signal.Signals(await signalled).name.removeprefix("SIG"),)


async def _env(channel: Channel, _words: list[str], _signalled: asyncio.Future[int]) -> Ending:
    lines = "".join(f"{key}={value}\n" for key, value in channel.params["env"].items())
    await channel.write(STDOUT, lines.encode())
    return 0


def _exits(code: int) -> Command:
    async def command(_channel: Channel, words: list[str], _signalled: asyncio.Future[int]) -> Ending:
        return int(words[0]) if words else code

    return command


_COMMANDS: dict[str, Command] = {
    "true": _exits(0),
    "false": _exits(1),
    "exit": _exits(0),
    "echo": _echo,
    "err": _err,
    "cat": _cat,
    "yes": _yes,
    "wait": _wait,
    "env": _env,
}
