"""A thread with an event loop in it, through which blocking code uses asynchronous objects.

    portal = Portal.acquire()            one thread for the whole program, started when first needed
    try:
        portal.call(lambda: hub.status())
    finally:
        portal.release()                 the last one to let go ends the thread

Rules:
- A call belongs to its caller: KeyboardInterrupt cancels what runs in the loop, waits for its clean-up, and goes on.
- The thread never outlives the interpreter: what still runs in it at exit is cancelled then.
- A portal belongs to the process that started it. After a fork the child is told so instead of waiting for ever.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

from cloche.errors import WrongState

T = TypeVar("T")

_CLEAN_UP_S = 10.0
"""How long a call that was called off may take to clean up before its caller goes on without it."""

_LOOK_UP_S = 0.5
"""How late a KeyboardInterrupt can be noticed, in the worst case."""


class _CalledOff(Exception):
    """The call was cancelled inside the loop."""


class Portal:
    """See the module. `acquire` gives the one of this process; every `acquire` needs its `release`."""

    def __init__(self) -> None:
        self.holders = 0
        self._pid = os.getpid()
        self._loop: asyncio.AbstractEventLoop
        self._tasks: asyncio.TaskGroup
        self._over: asyncio.Event
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), name="cloche", daemon=True)
        self._thread.start()
        started.wait()

    @classmethod
    def acquire(cls) -> Portal:
        """The portal of this process; it runs until everybody has released it."""
        with _process.lock:
            if _process.portal is None:
                _process.portal = cls()
            _process.portal.holders += 1
            return _process.portal

    def release(self) -> None:
        """Lets go; the last one ends the thread."""
        if self.is_foreign:
            return
        with _process.lock:
            self.holders -= 1
            if self.holders > 0:
                return
            if _process.portal is self:
                _process.portal = None
        self.stop()

    @property
    def is_foreign(self) -> bool:
        """Whether this process is a fork of the one that owns the thread."""
        return self._pid != os.getpid()

    def call(self, work: Callable[[], Awaitable[T]]) -> T:
        """Runs `work` in the loop and waits for it.

        Raises:
            WrongState: after a fork, from within the loop itself, or when the portal has ended.
        """
        self._require_usable()
        outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        running: list[asyncio.Task[None]] = []

        def never_began(_task: object) -> None:
            if not outcome.done():
                outcome.set_exception(_CalledOff())

        def begin() -> None:
            task = self._tasks.create_task(_settle(outcome, work))
            # One that is cancelled before its first step never gets to settle anything.
            task.add_done_callback(never_began)
            running.append(task)

        def cancel() -> None:
            for task in running:
                task.cancel()

        try:
            self._soon(begin)
            # A signal that comes just before a lock is waited for does not end the wait: look up now and then.
            while not concurrent.futures.wait([outcome], timeout=_LOOK_UP_S).done:
                pass
            return outcome.result()
        except _CalledOff:
            raise WrongState("the connection was closed while this call was underway") from None
        except BaseException:
            # KeyboardInterrupt in this thread: what runs is called off and has cleaned up before anybody goes on.
            if not outcome.done():
                with contextlib.suppress(WrongState):
                    self._soon(cancel)
                    concurrent.futures.wait([outcome], timeout=_CLEAN_UP_S)
            raise

    def _soon(self, function: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            raise WrongState("the connection is closed") from None

    def _require_usable(self) -> None:
        if self.is_foreign:
            raise WrongState(
                "this was opened before a fork; open a connection of its own in the child process"
            )
        if threading.current_thread() is self._thread:
            raise WrongState("a blocking call from within a callback would wait for itself; use cloche.aio")

    # The thread.

    def _run(self, started: threading.Event) -> None:
        asyncio.run(self._serve(started))

    async def _serve(self, started: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        async with asyncio.TaskGroup() as self._tasks:
            started.set()
            await self._over.wait()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

    def stop(self) -> None:
        """Cancels what still runs and ends the thread. Idempotent."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._over.set)
        if threading.current_thread() is not self._thread:
            self._thread.join()


async def _settle(outcome: concurrent.futures.Future[T], work: Callable[[], Awaitable[T]]) -> None:
    """Hands the result of `work`, or its error, to whoever waits in another thread."""
    try:
        outcome.set_result(await work())
    except asyncio.CancelledError:
        outcome.set_exception(_CalledOff())
        raise
    except BaseException as error:
        # Whatever it is, it is the caller's, and is raised there.
        outcome.set_exception(error)


class _Process:
    """What there is once a process."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """In a fork: the thread is not there, and the lock may be held by one that is not there either."""
        self.lock = threading.Lock()
        self.portal: Portal | None = None

    def end(self) -> None:
        """At the interpreter's end."""
        portal, self.portal = self.portal, None
        if portal is not None:
            portal.stop()


_process = _Process()
atexit.register(_process.end)
os.register_at_fork(after_in_child=_process.forget)
