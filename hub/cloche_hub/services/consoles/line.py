"""One viewer's line: its channel, what waits to be sent on it, and what it types. Never waits.

Rule: what the guest shows goes out in the turn of the loop in which it came in, if there is credit; else it waits in the
viewer's backlog until the viewer has read.
Rule: what is typed is consumed when the guest's terminal has taken it: who pastes waits for the program that reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from cloche_hub.services.consoles.backlog import Backlog
from cloche_wire.aio import Channel
from cloche_wire.aio.bounds import within
from cloche_wire.aio.channel import MESSAGES
from cloche_wire.errors import CodedError
from cloche_wire.frames import Fields

KEYS = 1
"""The stream of what is typed."""


class Line:
    """A viewer's channel. Takes its events from the moment it is made (implements cloche_wire.aio.Sink).

    Args:
        viewer_id: whose it is.
        channel: offered, not yet accepted.
        on_typed: told what is typed, and the line.
        on_ready: called when a fresh screen would be read.
        scrollback: lines above the first screen.
    """

    def __init__(
        self,
        viewer_id: str,
        channel: Channel,
        *,
        on_typed: Callable[[Line, bytes], None],
        on_ready: Callable[[], None],
        scrollback: int = 0,
    ) -> None:
        self.viewer_id, self.scrollback = viewer_id, scrollback
        self.backlog = Backlog()
        self.is_warned = False
        """Whether it has been told that what it types goes nowhere."""
        self._channel, self._on_typed, self._on_ready = channel, on_typed, on_ready
        self._clock = asyncio.get_running_loop().time
        self._window = 0
        self._is_stopped = False
        self._moved = asyncio.Event()
        # Everything but keys goes on to the channel's own buffers, where messages are read.
        self._inbox = channel.sink
        channel.sink = self

    @property
    def is_left(self) -> bool:
        """Whether its viewer is gone; who serves it may not have come to that yet."""
        return not self._channel.is_live

    @property
    def is_reachable(self) -> bool:
        """Whether there is a link to its viewer, as far as is known: a lost one may come back."""
        return self._channel.is_reachable

    @property
    def wants_screen(self) -> bool:
        """Whether a fresh screen would be read now: everything before it is sent, and most of it read."""
        return (
            self.backlog.needs_screen
            and self.backlog.is_empty
            and self._window > 0
            and self._channel.credit(MESSAGES) * 2 >= self._window
        )

    @property
    def is_drained(self) -> bool:
        """Whether there is nothing left to send."""
        has_all = self.backlog.is_empty and (self._is_stopped or not self.backlog.needs_screen)
        return has_all or not self._channel.is_live

    def accept(self, info: Fields) -> None:
        """Takes the channel: from now on something is sent.

        Raises:
            Cancelled: the client has given it up.
        """
        self._channel.accept(info)
        self._window = self._channel.credit(MESSAGES)
        self._on_ready()

    def output(self, packed: bytes, size: int) -> None:
        """The terminal shows so many bytes, in a message that others have too."""
        self.backlog.output(packed, size, now=self._clock())
        self.flush()

    def tell(self, packed: bytes, *, keeps: bool = True) -> None:
        """Tells it something; `keeps`: also if it must be sent a fresh screen before."""
        self.backlog.tell(packed, now=self._clock(), keeps=keeps)
        self.flush()

    def show(self, screen: list[bytes]) -> None:
        """Sends it a fresh screen, of this very moment."""
        self.scrollback = 0
        self.backlog.show(screen)
        self.flush()

    def refresh(self) -> None:
        """It wants a fresh screen."""
        self.backlog.refresh()
        self.flush()

    def stop(self) -> None:
        """There will be no screen any more."""
        self._is_stopped = True
        self._moved.set()

    def consumed(self, count: int) -> None:
        """So many bytes it typed have been taken."""
        self._channel.consume(KEYS, count)

    def flush(self) -> None:
        """Sends what there is credit for."""
        while piece := self.backlog.take(self._channel.credit(MESSAGES)):
            self._channel.send(MESSAGES, piece)
        if self.wants_screen:
            self._on_ready()
        if self.is_drained or self.backlog.has_shown:
            self._moved.set()

    async def wait_shown(self, seconds: float) -> None:
        """Returns when the first screen has been sent; gives it up where it is not read in time."""
        try:
            async with within(seconds):
                while not self.backlog.has_shown and not self.is_left:
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            self.backlog.give_up_screen()

    async def wait_drained(self) -> None:
        """Returns when everything has been sent, or its client is gone."""
        while not self.is_drained:
            self._moved.clear()
            await self._moved.wait()

    # Events of the channel.

    def received(self, stream: int, data: bytes) -> None:
        """The client has sent something."""
        if stream == KEYS:
            self._on_typed(self, data)
        else:
            self._inbox.received(stream, data)

    def acknowledged(self, stream: int, offset: int) -> None:
        """The client has read something."""
        self._inbox.acknowledged(stream, offset)
        if stream == MESSAGES:
            self.flush()

    def accepted(self, info: Fields, window: int) -> None:
        """Never happens: the client opens."""
        self._inbox.accepted(info, window)

    def ended(self, stream: int) -> None:
        """The client says no more on a stream."""
        self._inbox.ended(stream)

    def finished(self, result: Fields) -> None:
        """Never happens: the client opens."""
        self._inbox.finished(result)

    def confirmed(self) -> None:
        """The client has the result."""
        self._inbox.confirmed()
        self._moved.set()

    def failed(self, error: CodedError) -> None:
        """The client has left."""
        self._inbox.failed(error)
        self._moved.set()
