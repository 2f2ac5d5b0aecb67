"""The hub's end of a console's program: what it shows, what is typed to it, its size, its end. Never waits.

What comes from the guest is hostile: of its start and its end only what has the right form is believed, and what it
shows is passed on to whoever made this.

Rules:
- Nothing is acknowledged here: `consumed` is for whoever has stored what was shown.
- What the emulator answers is typed, too, but never in the middle of what a person has typed in one piece, and only
  `MOST_ANSWERS` bytes of it wait: a program that asks and does not read gets no more answers.
"""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from cloche_hub.errors import CodedError, SenselessAnswer
from cloche_hub.ports import Size
from cloche_hub.services.consoles.messages import resized, signalled
from cloche_hub.services.exec_result import Ending, parse_ending
from cloche_wire.aio import Channel
from cloche_wire.aio.channel import MESSAGES
from cloche_wire.frames import Fields

TERMINAL = 1
"""The stream of the terminal's bytes, both ways."""
MOST_ANSWERS = 4 << 10
"""Bytes."""
_MOST_SIGNALS = 16

Used = Callable[[int], None]
"""Told how many bytes the guest's terminal has taken."""


@dataclass(slots=True)
class _Typed:
    data: bytes
    used: Used


class GuestTerminal:
    """A console's channel to its guest (implements cloche_wire.aio.Sink).

    Args:
        channel: of kind `pty` or `pty.take`, just opened; its events come here.
        check_start: checks what the guest says of the start. What it raises fails the console.
        on_output: told what the program shows.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        check_start: Callable[[Fields], Fields],
        on_output: Callable[[bytes], None],
    ) -> None:
        loop = asyncio.get_running_loop()
        self.started: asyncio.Future[Fields] = loop.create_future()
        """What the guest says of the start; or why there is none."""
        self.over: asyncio.Future[Ending] = loop.create_future()
        """How the program has ended, all of its output before; or why nobody knows."""
        for future in (self.started, self.over):
            # Whoever waits for one may never look at the other.
            future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._channel, self._check_start, self._on_output = channel, check_start, on_output
        self._typed: deque[_Typed] = deque()
        self._is_in_piece = False
        self._answers: deque[bytes] = deque()
        self._answer_bytes = 0
        self._size: Size | None = None
        self._signals: deque[str | int] = deque(maxlen=_MOST_SIGNALS)
        channel.sink = self

    @property
    def window(self) -> int:
        """Bytes that may be typed ahead."""
        return self._channel.window

    # What the hub does.

    def type(self, data: bytes, used: Used) -> None:
        """Types what a person has typed; `used` is told as it is taken."""
        self._typed.append(_Typed(data, used))
        self._flush()

    def answer(self, data: bytes) -> None:
        """Types what the emulator answers, or drops it if too much waits already."""
        if data and self._answer_bytes + len(data) <= MOST_ANSWERS:
            self._answers.append(data)
            self._answer_bytes += len(data)
            self._flush()

    def drop_typed(self) -> None:
        """Who has typed drives no more: what was not taken yet is nobody's."""
        while self._typed:
            typed = self._typed.popleft()
            typed.used(len(typed.data))
        self._is_in_piece = False
        self._flush()

    def resize(self, size: Size) -> None:
        """Tells the program another size; of several that wait, the last."""
        self._size = size
        self._flush_messages()

    def signal(self, signal: str | int) -> None:
        """Sends a signal to everything on the terminal."""
        self._signals.append(signal)
        self._flush_messages()

    def consumed(self, count: int) -> None:
        """So many bytes are stored: the guest may forget them."""
        self._channel.consume(TERMINAL, count)

    def confirm(self) -> None:
        """Lets the guest forget the console: its end is known here, and stored what can be."""
        self._channel.confirm()

    def hang_up(self, error: CodedError) -> None:
        """Hangs the terminal up, unless its program has ended."""
        self._channel.reset(error)
        self.failed(error)

    # Events of the channel.

    def accepted(self, info: Fields, window: int) -> None:
        """The program has started."""
        self._channel.window = window
        try:
            checked = self._check_start(info)
        except CodedError as error:
            self.hang_up(error)
            return
        if not self.started.done():
            self.started.set_result(checked)
        self._flush_messages()
        self._flush()

    def received(self, stream: int, data: bytes) -> None:
        """It shows something; what no sound agent sends is dropped, and gets no credit."""
        if stream == TERMINAL and data:
            self._on_output(data)

    def acknowledged(self, stream: int, offset: int) -> None:
        """The guest has taken something."""
        del offset
        if stream == TERMINAL:
            self._flush()
        else:
            self._flush_messages()

    def ended(self, stream: int) -> None:
        """Nothing more is shown; the result says the rest."""

    def finished(self, result: Fields) -> None:
        """The program has ended."""
        try:
            if not self.started.done():
                raise SenselessAnswer("the guest says that the command has ended, and not that it began")
            ending = parse_ending(result)
        except CodedError as error:
            self.hang_up(error)
            return
        if not self.over.done():
            self.over.set_result(ending)
        self.drop_typed()

    def confirmed(self) -> None:
        """Never happens: the guest closes."""

    def failed(self, error: CodedError) -> None:
        """The guest, the link or the sandbox is gone, or the program did not start."""
        for future in (self.started, self.over):
            if not future.done():
                # A copy: one error may be told to many.
                future.set_exception(copy.copy(error))
        self.drop_typed()

    # What waits.

    def _flush(self) -> None:
        while (credit := self._channel.credit(TERMINAL)) > 0:
            if self._answers and not self._is_in_piece:
                if len(self._answers[0]) > credit:
                    return
                answer = self._answers.popleft()
                self._answer_bytes -= len(answer)
                self._channel.send(TERMINAL, answer)
            elif self._typed:
                typed = self._typed[0]
                piece, typed.data = typed.data[:credit], typed.data[credit:]
                self._is_in_piece = bool(typed.data)
                if not typed.data:
                    self._typed.popleft()
                self._channel.send(TERMINAL, piece)
                typed.used(len(piece))
            else:
                return

    def _flush_messages(self) -> None:
        while self._size is not None or self._signals:
            size = self._size
            message = signalled(self._signals[0]) if size is None else resized(size)
            if self._channel.credit(MESSAGES) < len(message):
                return
            if size is None:
                self._signals.popleft()
            self._size = None
            self._channel.send(MESSAGES, message)
