"""One command in a sandbox while it runs: its output as it comes, its input, its signals, its end.

Rules:
- What is not read waits in the guest: a reader that stops stops the command when its pipes are full, nothing is lost.
- Leaving `async with` ends a command that still runs, with everything it started.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from cloche.answers import Answer
from cloche.errors import Cancelled, LinkLost, TooLarge, WrongState
from cloche.messages import ExitStatus
from cloche.signals import signal_name

if TYPE_CHECKING:
    from cloche_wire.aio import Channel

Stream: TypeAlias = Literal["stdout", "stderr"]

_STDIN = 1
_OUTPUTS: dict[int, Stream] = {1: "stdout", 2: "stderr"}


class Output:
    """What a command writes to one of its two outputs. Bytes as they come; no line is waited for unless asked."""

    def __init__(self, channel: Channel, stream: int) -> None:
        self._channel, self._stream = channel, stream

    async def read(self) -> bytes:
        """The next bytes, all there are; empty at the end. Cancelling loses nothing.

        Raises:
            CodedError: the command was lost before its output ended.
        """
        return await self._channel.read(self._stream)

    async def read_all(self, *, max_bytes: int = 64 << 20) -> bytes:
        """Everything up to the end.

        Raises:
            TooLarge: there is more than `max_bytes`: what runs in a sandbox must not fill this program's memory.
        """
        pieces: list[bytes] = []
        size = 0
        while piece := await self.read():
            size += len(piece)
            if size > max_bytes:
                name = _OUTPUTS[self._stream]
                raise TooLarge(
                    f"the command wrote more than {max_bytes} bytes to its {name}; read it in pieces"
                )
            pieces.append(piece)
        return b"".join(pieces)

    async def lines(self, *, max_bytes: int = 1 << 20) -> AsyncIterator[bytes]:
        """Its lines, with their ends; the last may have none.

        Raises:
            TooLarge: a line is longer than `max_bytes`.
        """
        rest = b""
        while piece := await self.read():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield line + b"\n"
            if len(rest) > max_bytes:
                raise TooLarge(f"the command wrote a line of more than {max_bytes} bytes; read it in pieces")
        if rest:
            yield rest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await self.read():
            yield piece


class Process:
    """A running command. A context manager: leaving it ends the command if it still runs.

    Iterating yields `("stdout" | "stderr", bytes)` as it comes, until both have ended.

    Attributes:
        id: names the command in the audit.
        pid: its process id in the guest.
        recording: the id of what the hub records of it; None: it does not.
        stdout, stderr: its outputs; read them here or by iterating, not both.
    """

    def __init__(self, channel: Channel, started: dict[str, object]) -> None:
        answer = Answer("exec", started)
        self.id, self.pid = answer.text("exec"), answer.whole("pid")
        self.recording = answer.optional("recording", answer.text)
        self._channel = channel
        self.stdout, self.stderr = Output(channel, 1), Output(channel, 2)

    async def write(self, data: bytes) -> None:
        """Sends bytes to its standard input, waiting until there is room. Cancelling may leave a part sent.

        Raises:
            WrongState: it has ended and reads no more.
            CodedError: the command was lost.
        """
        try:
            await self._channel.write(_STDIN, data)
        except LinkLost:
            await self._channel.result()  # raises what happened, unless the command has simply ended
            raise WrongState("the command has ended and reads no more") from None

    async def close_stdin(self) -> None:
        """Ends its standard input; what was written comes before. Idempotent."""
        self._channel.end(_STDIN)

    async def feed(self, data: bytes) -> None:
        """Writes all of it, as far as the command reads, and ends the input."""
        try:
            await self.write(data)
        except WrongState:
            return
        await self.close_stdin()

    async def signal(self, signal: str | int) -> None:
        """Sends a signal to it and everything it started: "TERM", `signal.SIGTERM` or a Linux number.

        Does nothing if it has ended.

        Raises:
            BadRequest: there is no such signal.
        """
        name = signal_name(signal)
        if self._channel.can_send:
            await self._channel.send_message({"signal": name})

    async def kill(self) -> None:
        """Kills it and everything it started; `wait` then says so."""
        await self.signal("KILL")

    async def wait(self) -> ExitStatus:
        """Waits for its end; any number may wait. Cancelling loses nothing.

        Output that nobody reads can keep it from ending: read it, or use `run`.

        Raises:
            CodedError: it was lost; whether it ended is not known.
        """
        return ExitStatus.parse(await self._channel.result())

    async def __aiter__(self) -> AsyncIterator[tuple[Stream, bytes]]:
        turn = (1, 2)
        while found := await self._channel.read_any(*turn):
            stream, piece = found
            # A flood on one must not hide the other.
            turn = (3 - stream, stream)
            yield _OUTPUTS[stream], piece

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Does nothing to one that has ended. The guest ends everything the command started.
        self._channel.reset(Cancelled("the caller has left the command"))
