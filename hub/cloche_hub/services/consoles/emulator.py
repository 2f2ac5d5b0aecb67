"""The emulator of one console: a terminal in a process of its own, and another one in its place whenever it is lost.

    asked ──► answered
       └─► lost ──► restored from what is stored, or empty ──► asked again, but for the slice that it was lost with

Rules:
- SAFETY: the guest chooses every byte that a terminal is fed, and some of them crash it. That costs the console a part of
  its screen and nothing else; one that is lost again and again is not fed any more.
- One request at a time: who has an emulator has a lock for it (`display`).
- What is fed counts as seen, also where the terminal was lost with it.
- Cancelling a request leaves the emulator as it was, or lost: then the next request gets over that.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from cloche_hub.ports import Size
from cloche_term import TerminalError, TerminalLost
from cloche_term.apart.frames import Look
from cloche_term.apart.terminal import ApartTerminal

T = TypeVar("T")

MOST_LOSSES, LOSSES_WITHIN_S = 3, 60.0
"""So many within so long are got over; with the next one the emulator is spent."""
SPENT = "what it shows crashes the terminal emulator again and again"
NONE_LEFT = "its terminal was lost, and the hub can open no other"

# SAFETY: a worker that a guest has taken over may answer that what is asked makes no sense.
_FAILED = (TerminalError, ValueError)


@dataclass(frozen=True, slots=True)
class Reopened:
    """A terminal in the place of one that was lost."""

    terminal: ApartTerminal
    seen: int
    """Bytes of output that it has seen."""


class Reopen(Protocol):
    """Opens a terminal in the place of one that was lost."""

    async def __call__(self, size: Size, *, is_blank: bool) -> Reopened:
        """A terminal as it is stored; an empty one if that cannot be had, or if `is_blank`.

        Args:
            size: of an empty one.
            is_blank: whether what is stored is not to be tried.

        Raises:
            TerminalError: not even an empty one can be had.
        """
        ...


@dataclass(frozen=True, slots=True)
class Loss:
    """A terminal was lost, and there is another one."""

    reason: str
    missing: int
    """Bytes of output that the other one has not seen."""
    ends: str | None
    """Why it is not fed any more; None: it goes on."""

    @property
    def told(self) -> str:
        """What people are told of it."""
        if self.ends is not None:
            return f"{self.ends}: this console ends"
        if not self.missing:
            return "the terminal emulator was lost, and another one shows the same"
        return (
            "the terminal emulator was lost with what this console shows: "
            f"screens made from now on miss {self.missing} bytes of it"
        )


@dataclass(frozen=True, slots=True)
class _Began:
    """When a request was made, and how much processor time its terminal had used."""

    at_s: float
    used_s: float | None


class Emulator:
    """A terminal that is got over the loss of.

    Args:
        terminal: ended by `close`.
        offset: bytes of output it has seen.
        reopen: opens another one in its place.
        on_lost: told of each loss when it is got over; must not wait.
        clock: one that only grows.
    """

    def __init__(
        self,
        terminal: ApartTerminal,
        *,
        offset: int,
        reopen: Reopen,
        on_lost: Callable[[Loss], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.offset = offset
        """Bytes of output it has seen, or was lost with."""
        self.size = Size(terminal.state.rows, terminal.state.cols)
        self.cost_s = 0.0
        """Processor time of the newest request, also of one that it was lost with."""
        self.losses = 0
        """How many terminals it has lost."""
        self.is_spent = False
        """Whether it is not fed any more."""
        self._terminal, self._reopen, self._on_lost, self._clock = terminal, reopen, on_lost, clock
        self._lost_at: list[float] = []
        self._is_closed = False

    @property
    def title(self) -> str:
        """What the program has called its window."""
        return self._terminal.state.title

    def skip(self, count: int) -> None:
        """So many bytes are missing, and count as seen."""
        self.offset += count

    async def feed(self, data: bytes) -> bytes:
        """Takes what the guest shows; returns what the terminal answers, which is nothing where it is lost.

        Raises:
            TerminalLost: it was closed.
        """
        answer = b""
        if not self.is_spent:
            await self._get_over()
        if not self.is_spent:
            began = self._begin()
            try:
                answer = await self._terminal.feed(data)
            except _FAILED as error:
                await self._replace(error, skipped=len(data), began=began)
                return b""
            self.cost_s = self._terminal.state.cpu_s
        self.offset += len(data)
        return answer

    async def resize(self, size: Size) -> None:
        """Gives the screen another size. Raises as `feed`."""
        self.size = size
        await self._read(lambda terminal: terminal.resize(size.rows, size.cols))

    async def dump(self, *, scrollback_lines: int) -> bytes:
        """Bytes that make the screen; none if there is no terminal any more. Raises as `feed`."""
        return await self._read(lambda terminal: terminal.dump(scrollback_lines=scrollback_lines)) or b""

    async def look(self) -> Look:
        """The screen as text, which is blank if there is no terminal any more. Raises as `feed`."""
        return await self._read(lambda terminal: terminal.look()) or _blank(self.size)

    async def snapshot(self) -> bytes:
        """Everything it knows.

        Raises:
            TerminalLost: it was closed, or there is no terminal any more.
        """
        snapshot = await self._read(lambda terminal: terminal.snapshot())
        if snapshot is None:
            raise TerminalLost("there is no terminal for this console any more")
        return snapshot

    def close(self) -> None:
        """Ends the terminal's process, without waiting for that. Idempotent."""
        self._is_closed = True
        self._terminal.kill()

    async def _read(self, request: Callable[[ApartTerminal], Awaitable[T]]) -> T | None:
        """What a terminal answers: this one, or the one in its place, or an empty one; None if there is none."""
        await self._get_over()
        # What makes one fail that was just restored would do it again.
        for is_blank in (False, True, True):
            began = self._begin()
            try:
                answer = await request(self._terminal)
            except _FAILED as error:
                if self.is_spent:
                    break
                await self._replace(error, is_blank=is_blank, began=began)
            else:
                self.cost_s = self._terminal.state.cpu_s
                return answer
        self._require_open()
        return None

    async def _get_over(self) -> None:
        """What has ended while nobody asked anything of it is replaced, before it costs what comes next."""
        if self._terminal.is_lost and not self.is_spent:
            await self._replace(TerminalLost("its process has ended"), began=self._begin())

    async def _replace(
        self, error: Exception, *, began: _Began, skipped: int = 0, is_blank: bool = False
    ) -> None:
        self._require_open()
        self._terminal.kill()
        now, cost_s = self._clock(), self._cost_s(began)
        recent = [at for at in self._lost_at if now - at < LOSSES_WITHIN_S]
        ends = SPENT if len(recent) >= MOST_LOSSES else None
        opened = await self._opened(is_blank=is_blank or ends is not None)
        # From here on nothing waits: who was cancelled before has changed nothing.
        if self._is_closed and opened is not None:
            opened.terminal.kill()
        self._require_open()
        self.offset += skipped
        self._lost_at = [*recent, now]
        self.losses += 1
        if opened is None:
            seen, ends = 0, ends or NONE_LEFT
        else:
            seen, self._terminal = opened.seen, opened.terminal
        self.is_spent = ends is not None
        # What could not be opened is not known to have cost less.
        self.cost_s = cost_s + self._cost_s(_Began(now, None if opened is None else 0.0))
        self._on_lost(Loss(str(error), max(0, self.offset - seen), ends))

    def _begin(self) -> _Began:
        return _Began(self._clock(), self._terminal.cpu_s)

    def _cost_s(self, since: _Began) -> float:
        """Processor time of the terminal; where nobody knows that, how long it took, which is never less."""
        took_s, used_s = self._clock() - since.at_s, self._terminal.cpu_s
        return took_s if used_s is None or since.used_s is None else min(took_s, used_s - since.used_s)

    async def _opened(self, *, is_blank: bool) -> Reopened | None:
        """Another terminal of the size that this one has; None if there is none."""
        try:
            opened = await self._reopen(self.size, is_blank=is_blank)
            if not await _has_size(opened.terminal, self.size):
                opened = await self._reopen(self.size, is_blank=True)
        except _FAILED:
            return None
        return opened

    def _require_open(self) -> None:
        if self._is_closed:
            raise TerminalLost("this console is closed")


async def _has_size(terminal: ApartTerminal, size: Size) -> bool:
    """Gives a terminal a size; whether it bears that. It is ended if not, or if this is cancelled."""
    try:
        if (terminal.state.rows, terminal.state.cols) != (size.rows, size.cols):
            await terminal.resize(size.rows, size.cols)
    except _FAILED:
        terminal.kill()
        return False
    except BaseException:
        terminal.kill()
        raise
    return True


def _blank(size: Size) -> Look:
    return Look(
        rows=size.rows,
        cols=size.cols,
        lines=("",) * size.rows,
        cursor_row=0,
        cursor_col=0,
        is_cursor_visible=False,
        title="",
        is_alternate=False,
        first_line=0,
        revision=0,
    )
