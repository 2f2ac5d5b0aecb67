"""A terminal in a sandbox while a program attaches to it: its bytes both ways, its size, its end.

Rules:
- What is not read waits in the guest: a reader that stops stops the program when the terminal is full.
- Leaving `async with` detaches, which closes the console and ends what runs in it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cloche.answers import Answer
from cloche.errors import Cancelled, LinkLost, WrongState
from cloche.messages import ExitStatus
from cloche.signals import signal_name

if TYPE_CHECKING:
    from cloche_wire.aio import Channel

_BYTES = 1
"""The stream of the terminal's bytes, both ways."""


class Console:
    """A terminal and the program in it. A context manager: leaving it closes the console.

    Iterating yields what the terminal shows, as bytes as they come, to the end.

    Attributes:
        id: names the console in the audit.
        pid: the process id of its program in the guest.
    """

    def __init__(self, channel: Channel, started: dict[str, object]) -> None:
        answer = Answer("console", started)
        self.id, self.pid = answer.text("console"), answer.whole("pid")
        self._channel = channel

    async def read(self) -> bytes:
        """What the terminal shows next, all there is; empty at the end. Cancelling loses nothing.

        Raises:
            CodedError: the console was lost.
        """
        return await self._channel.read(_BYTES)

    async def write(self, data: bytes | str) -> None:
        """Types: sends bytes as a keyboard would, waiting until there is room. Cancelling may leave a part sent.

        Raises:
            WrongState: its program has ended.
            CodedError: the console was lost.
        """
        try:
            await self._channel.write(_BYTES, data.encode() if isinstance(data, str) else data)
        except LinkLost:
            await self._channel.result()  # raises what happened, unless the program has simply ended
            raise WrongState("the program in the console has ended and reads no more") from None

    async def resize(self, rows: int, cols: int) -> None:
        """Tells the program another size of its window. Does nothing if it has ended.

        Args:
            rows, cols: 1 to 1000 characters.

        Raises:
            BadRequest: that is no size.
        """
        await self._tell({"resize": {"rows": rows, "cols": cols}})

    async def signal(self, signal: str | int) -> None:
        """Sends a signal to everything in the console: "TERM", `signal.SIGTERM` or a Linux number.

        Does nothing if it has ended.

        Raises:
            BadRequest: there is no such signal.
        """
        await self._tell({"signal": signal_name(signal)})

    async def wait(self) -> ExitStatus:
        """Waits for the end of its program; any number may wait. Cancelling loses nothing.

        What nobody reads can keep it from ending.

        Raises:
            CodedError: it was lost; whether it ended is not known.
        """
        # A console has no time limit.
        return ExitStatus.parse({"timed_out": False, **await self._channel.result()})

    async def _tell(self, message: dict[str, object]) -> None:
        if self._channel.can_send:
            await self._channel.send_message(message)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await self.read():
            yield piece

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Does nothing to one that has ended.
        self._channel.reset(Cancelled("the caller has left the console"))
