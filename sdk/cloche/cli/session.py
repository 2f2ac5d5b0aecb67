"""One command's work with a hub: an event loop, a connection, and what signals do meanwhile.

    def ls() -> int:
        return with_hub(lambda hub, interrupts: …)

Rules:
- The first SIGINT, SIGTERM or SIGHUP calls the work off (or goes to the command in the sandbox, see `attach`) and lets
  it clean up; the next one of a kind that went elsewhere calls it off; after that, one ends this program on the spot.
- No hub at this user's own address: one is started in the background, and stderr says so. Any other address is the
  user's to look after.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from cloche.aio import Hub
from cloche.background import Started, start_hub
from cloche.cli.failures import BY_SIGNAL, PipeClosed
from cloche.cli.output import end_line, is_at_terminal, say
from cloche.config import find_address
from cloche.errors import HubNotRunning
from cloche.link_news import LinkNews

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """What happens on a signal, from the start of a command's work to its end."""

    def __init__(self, work: asyncio.Task[object]) -> None:
        self._work = work
        self._forward: Callable[[str], None] | None = None
        self._forwarded: set[int] = set()
        self._last: Callable[[], object] | None = None
        self.number: int | None = None
        """The signal that called the work off."""

    @contextlib.contextmanager
    def forwarding(self, forward: Callable[[str], None]) -> Iterator[None]:
        """Within it, the first signal of each kind is told to `forward` by name, instead of calling the work off."""
        self._forward = forward
        self._forwarded.clear()
        try:
            yield
        finally:
            self._forward = None

    @contextlib.contextmanager
    def before_exit(self, last: Callable[[], object]) -> Iterator[None]:
        """Within it, this is done before a signal ends the program on the spot. It must not wait."""
        self._last = last
        try:
            yield
        finally:
            self._last = None

    def on_signal(self, number: int) -> None:
        """A signal has come."""
        if self._forward is not None and number not in self._forwarded:
            self._forwarded.add(number)
            self._forward(signal.Signals(number).name)
        elif self.number is None:
            self.number = number
            if number == signal.SIGINT and is_at_terminal():
                # The terminal has shown ^C: what comes now, and the shell's prompt, begin a line of their own.
                end_line()
            self._work.cancel()
        else:
            # Cleaning up takes longer than the user will wait.
            if self._last is not None:
                self._last()
            os._exit(BY_SIGNAL + number)


def run_async(work: Callable[[Interrupts], Awaitable[int | None]]) -> int:
    """Runs a command's work to its end; returns the exit status."""

    async def main() -> int:
        task = asyncio.current_task()
        assert task is not None
        interrupts = Interrupts(task)
        # Python delivers signals to the main thread; a command run in another one leaves them to that one.
        if threading.current_thread() is threading.main_thread():
            _install(interrupts)
        try:
            return await work(interrupts) or 0
        except asyncio.CancelledError:
            if interrupts.number is None:
                raise
            return BY_SIGNAL + interrupts.number

    return asyncio.run(main())


def _install(interrupts: Interrupts) -> None:
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        # A program started with nohup, or in the background of a script, ignores them; that stays so.
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, interrupts.on_signal, number)


def with_hub(
    work: Callable[[Hub, Interrupts], Awaitable[int | None]],
    *,
    start: bool = True,
    tells_waiting: bool = True,
) -> int:
    """Runs a command's work with a connection to the hub.

    Args:
        work: the command.
        start: whether to start this user's hub if it does not run.
        tells_waiting: whether to say afterwards, at a terminal, how many approvals waited when it began.
    """

    async def connected(interrupts: Interrupts) -> int | None:
        async with await connect(start=start) as hub:
            try:
                return await work(hub, interrupts)
            finally:
                if tells_waiting:
                    tell_waiting(hub.approvals.waiting)

    return run_async(connected)


async def connect(*, start: bool) -> Hub:
    """A connection to the hub that is meant."""
    try:
        return await Hub.connect(on_link=_tell_link)
    except HubNotRunning:
        if not (start and find_address().own):
            raise
    tell_started(await start_hub())
    return await Hub.connect(on_link=_tell_link)


def _tell_link(news: LinkNews) -> None:
    if news.is_turn:
        say(news.text, lasts=not news.is_up)


def tell_waiting(count: int) -> None:
    """Says that somebody waits for a decision: one that nobody sees is one that nobody makes.

    To people alone: what a script collects from stderr is of what it has asked for.
    """
    if count and is_at_terminal():
        are = "approval is" if count == 1 else "approvals are"
        # The error that may be on its way tells more than that this cannot be said.
        with contextlib.suppress(PipeClosed, OSError):
            say(f"{count} {are} waiting; see: cloche approvals ls")


def tell_started(started: Started) -> None:
    """Says that there is a hub now."""
    if started.pid is not None:
        say(f"started a hub in the background (pid {started.pid}); to stop it: cloche hub stop")
