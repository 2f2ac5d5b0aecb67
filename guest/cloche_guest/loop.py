"""A small event loop: descriptors, timers, children. One thread, nothing in the background.

Rules:
- A handler never blocks and asks its descriptor, not the event: an event may be stale when a handler runs.
- Waiting costs nothing: without a timer the loop sleeps until a descriptor or a child wakes it.
- What nobody waits for is done when nothing else is to be done (`when_idle`).
- An error that escapes a handler is reported and the loop goes on.
"""

from __future__ import annotations

import heapq
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

OnEvents: TypeAlias = Callable[[int], None]
"""Called with the epoll events of a descriptor."""
Callback: TypeAlias = Callable[[], None]

# A cancelled timer stays in the heap until it is due; beyond this many the heap is rebuilt without them.
_MOST_CANCELLED = 64


class Timer:
    """One call in the future."""

    __slots__ = ("_loop", "callback", "due")

    def __init__(self, loop: Loop, due: float, callback: Callback) -> None:
        self._loop = loop
        self.due = due
        self.callback: Callback | None = callback

    def cancel(self) -> None:
        """Calls it off; does nothing if it has run."""
        if self.callback is not None:
            self.callback = None
            self._loop.timer_cancelled()


class Loop:
    """Waits for whatever comes first and calls who asked for it.

    Args:
        on_error: told of an error that escaped a handler.
    """

    def __init__(self, on_error: Callable[[Exception], None]) -> None:
        self._on_error = on_error
        self._epoll = select.epoll()
        self._handlers: dict[int, OnEvents] = {}
        self._timers: list[tuple[float, int, Timer]] = []
        self._timers_made = self._timers_cancelled = 0
        self._idle_work: deque[Callback] = deque()
        self._is_running = False
        self.on_turn_end: Callback = lambda: None
        """Called after every turn: for what is done once for all of its events."""

    # Descriptors.

    def watch(self, fd: int, events: int, handler: OnEvents) -> None:
        """Calls the handler on these events; hang-ups and errors are always among them."""
        self._epoll.register(fd, events)
        self._handlers[fd] = handler

    def change(self, fd: int, events: int) -> None:
        """Watches a descriptor for other events."""
        self._epoll.modify(fd, events)

    def forget(self, fd: int) -> None:
        """Watches a descriptor no longer; to be called before it is closed. Does nothing if it is not watched."""
        if self._handlers.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    # Timers.

    def call_later(self, delay_s: float, callback: Callback) -> Timer:
        """Calls back once, in this many seconds."""
        timer = Timer(self, time.monotonic() + delay_s, callback)
        self._timers_made += 1
        # The number keeps timers that are due at the same moment in order, and out of comparison.
        heapq.heappush(self._timers, (timer.due, self._timers_made, timer))
        return timer

    def when_idle(self, callback: Callback) -> None:
        """Calls back once, as soon as there is nothing else to do."""
        self._idle_work.append(callback)

    def timer_cancelled(self) -> None:
        """Called by a timer: makes room where too many cancelled ones wait for their time."""
        self._timers_cancelled += 1
        if self._timers_cancelled > max(_MOST_CANCELLED, len(self._timers) // 2):
            self._timers = [entry for entry in self._timers if entry[2].callback is not None]
            heapq.heapify(self._timers)
            self._timers_cancelled = 0

    # Children.

    def watch_children(self, handler: Callback) -> None:
        """Calls the handler, in the loop, when children may have ended. For the main thread; once."""
        reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # Python's C handler writes to the pipe; the handler in Python has nothing left to do.
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

        def on_signal(_events: int) -> None:
            try:
                os.read(reader, 512)
            except BlockingIOError:
                return
            handler()

        self.watch(reader, select.EPOLLIN, on_signal)

    # Running.

    def run(self) -> None:
        """Runs until `stop` is called."""
        self._is_running = True
        while self._is_running:
            self.turn()

    def stop(self) -> None:
        """Ends `run` after this turn."""
        self._is_running = False

    def turn(self) -> None:
        """Waits for something to happen and handles it; if nothing does, does some of the idle work instead."""
        happened = self._epoll.poll(0 if self._idle_work else self._wait_s())
        for fd, events in happened:
            handler = self._handlers.get(fd)
            if handler is not None:
                self._call(handler, events)
        self._run_timers()
        if not happened and self._idle_work:
            self._call(self._idle_work.popleft())
        self._call(self.on_turn_end)

    def _call(self, callback: Callable[..., None], *arguments: int) -> None:
        try:
            callback(*arguments)
        except Exception as error:
            # One broken handler must not end the machine.
            self._on_error(error)

    def _wait_s(self) -> float:
        """Seconds until the next timer, or -1 to wait without end."""
        while self._timers:
            due, _, timer = self._timers[0]
            if timer.callback is not None:
                return max(0.0, due - time.monotonic())
            heapq.heappop(self._timers)
            self._timers_cancelled = max(0, self._timers_cancelled - 1)
        return -1

    def _run_timers(self) -> None:
        if not self._timers:
            return
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            callback, timer.callback = timer.callback, None
            if callback is None:
                self._timers_cancelled = max(0, self._timers_cancelled - 1)
            else:
                self._call(callback)


class Scope:
    """The loop as one command sees it: an error in one of its handlers goes to the command.

    Args:
        loop: the loop.
        on_error: told of the error; the loop goes on.
    """

    def __init__(self, loop: Loop, on_error: Callable[[Exception], None]) -> None:
        self._loop, self._on_error = loop, on_error

    def watch(self, fd: int, events: int, handler: OnEvents) -> None:
        """See `Loop.watch`."""

        def guarded(happened: int) -> None:
            try:
                handler(happened)
            except Exception as error:  # the edge of a handler; the command answers for it
                self._on_error(error)

        self._loop.watch(fd, events, guarded)

    def forget(self, fd: int) -> None:
        """See `Loop.forget`."""
        self._loop.forget(fd)

    def call_later(self, delay_s: float, callback: Callback) -> Timer:
        """See `Loop.call_later`."""

        def guarded() -> None:
            try:
                callback()
            except Exception as error:  # as above
                self._on_error(error)

        return self._loop.call_later(delay_s, guarded)
