"""Callbacks: functions of this program that answer what programs in sandboxes ask.

    @sandbox.callback("pay.*")
    async def pay(call):
        return {"paid": call.params["amount"]}

Rules:
- The hub hears of a function before it hears of anything that is asked on the same connection afterwards: what a
  command calls finds the function that was there when the command was started. `ready` waits until the hub has it.
- A session that is lost is lost with its registrations: they are made again in the next one.
- `async def` runs in the loop, and is cancelled when nobody waits for it any more; `def` runs in a thread, to its end.
- What a function raises is the caller's to know, by type and message; where it was raised only our log says.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import copy
import functools
import inspect
import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cloche.callback_messages import CallbackCall, encode_result, is_told_as_it_is, told_to_caller
from cloche.errors import Cancelled, CodedError, InternalError, LinkLost

if TYPE_CHECKING:
    from cloche.link import Link
    from cloche_wire.aio import Channel

AT_ONCE = 32
"""Calls that one function answers at once, unless told otherwise."""

Function = Callable[[CallbackCall], Any]
"""Answers a call with anything JSON has, or a coroutine that does."""

_log = logging.getLogger("cloche.callbacks")


class CallbackHandler:
    """A function that answers callbacks for as long as its connection lasts. A context manager: leaving it closes it.

    What `Sandbox.callback` and `Hub.callback` make of a function; calling it calls the function.

    Attributes:
        methods: the patterns it answers.
    """

    def __init__(
        self, link: Link, function: Function, methods: Sequence[str], *, sandbox: str | None, at_once: int
    ) -> None:
        self.methods = tuple(methods)
        self._link, self._function = link, function
        self._slots = _Slots(at_once)
        self._registration = f"reg_{secrets.token_hex(8)}"
        self._params: dict[str, Any] = {"methods": [*methods], "registration": self._registration}
        if sandbox is not None:
            self._params["sandbox"] = sandbox
        # Set while the hub has it, and once it is over.
        self._settled, self._over = asyncio.Event(), asyncio.Event()
        self._error: CodedError | None = None
        self._is_closed = False
        # Now, not in a task: what is asked next must come behind it.
        self._channel = link.open("callback.serve", self._params)
        link.answerers[self._registration] = self._serve
        link.look_after(self._keep())
        functools.update_wrapper(self, function)

    def __call__(self, call: CallbackCall) -> Any:
        return self._function(call)

    def __repr__(self) -> str:
        return f"<CallbackHandler {', '.join(self.methods)}>"

    async def ready(self) -> Self:
        """Waits until the hub asks this function; returns it. Cancelling changes nothing.

        Raises:
            BadRequest: a method is none.
            NotFound: the sandbox is no more.
            Forbidden, TooLarge: this token may not, or not so many.
            Cancelled: it is closed.
        """
        await self._settled.wait()
        if self._error is not None:
            raise copy.copy(self._error)
        return self

    async def wait(self) -> None:
        """Waits until it is closed.

        Raises:
            CodedError: why it ended by itself; also if its connection was closed.
        """
        await self._over.wait()
        if self._error is not None and not self._is_closed:
            raise copy.copy(self._error)

    async def close(self) -> None:
        """Answers no more calls; those under way go on. Idempotent."""
        self._is_closed = True
        self._channel.reset(Cancelled("the handler is closed"))
        await self._over.wait()

    async def __aenter__(self) -> Self:
        return await self.ready()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # The registration.

    async def _keep(self) -> None:
        """Keeps it with the hub, over lost sessions too, until it is closed or the hub or the link is done with it."""
        try:
            while True:
                with contextlib.suppress(LinkLost):
                    await self._channel.wait_accepted()
                    self._settled.set()
                    await self._channel.result()
                    raise InternalError("the hub has ended a registration of callbacks by itself")
                if self._is_closed:
                    raise Cancelled("the handler is closed")
                self._settled.clear()
                # Raises if the link was given up; else it waits for the next session.
                self._channel = self._link.open("callback.serve", self._params)
        except CodedError as error:
            self._end(error)

    def _end(self, error: CodedError) -> None:
        self._error = error
        del self._link.answerers[self._registration]
        if not self._is_closed and not self._link.is_over:
            _log.error("the hub does not ask for %s any more: %s", ", ".join(self.methods), error.message)
        self._settled.set()
        self._over.set()

    # Calls.

    async def _serve(self, channel: Channel) -> None:
        """Serves a call that the hub makes."""
        call = CallbackCall.parse(channel.params)
        async with asyncio.TaskGroup() as tasks:
            # Raises as soon as nobody waits any more, which calls the function off.
            wanted = tasks.create_task(channel.wait_confirmed())
            answered = await self._answer(call)
            wanted.cancel()
        channel.close({"result": answered})

    async def _answer(self, call: CallbackCall) -> bytes:
        try:
            return encode_result(await self._slots.run(self._function, call))
        except Exception as error:
            # The edge of somebody else's function: whatever it raises is the answer.
            if not is_told_as_it_is(error):
                _log.exception("the handler of callback %s (%s) failed", call.method, call.id)
            raise told_to_caller(error) from None


class _Slots:
    """Runs a function for so many calls at once; others wait their turn."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    async def run(self, function: Function, call: CallbackCall) -> Any:
        """What the function returns. Cancelling leaves one in a thread to run to its end, in its slot."""
        await self._free.acquire()
        if not _is_async(function):
            value = await self._in_thread(function, call)
            if not inspect.isawaitable(value):
                return value
            # Such as what a lambda around an `async def` returns.
            async with self._free:
                return await value
        try:
            return await function(call)
        finally:
            self._free.release()

    def _in_thread(self, function: Function, call: CallbackCall) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def settle(value: Any, error: BaseException | None) -> None:
            self._free.release()
            if done.cancelled():
                return
            if error is None:
                done.set_result(value)
            else:
                done.set_exception(error)

        def work() -> None:
            value, error = None, None
            try:
                value = context.run(function, call)
            except Exception as raised:
                error = raised if not isinstance(raised, StopIteration) else RuntimeError(repr(raised))
            except BaseException as raised:
                # A thread that is left, as by sys.exit, has given no answer either.
                error = RuntimeError(repr(raised))
            with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(settle, value, error)

        # A thread of its own: the loop's pool is small, and a function that waits for others of us would block it.
        # A daemon: one that hangs must not keep the program from ending.
        threading.Thread(target=work, name="cloche-callback", daemon=True).start()
        return done


def _is_async(function: Function) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - of an object that is callable
    )


def decorating(
    link: Link, methods: Sequence[str], *, sandbox: str | None, at_once: int
) -> Callable[[Function], CallbackHandler]:
    """The decorator that has a function answer methods.

    Raises:
        TypeError: no method is given.
    """
    if not methods or not all(isinstance(method, str) for method in methods):
        raise TypeError("name the methods to answer, such as: @sandbox.callback('pay.*')")

    def decorate(function: Function) -> CallbackHandler:
        return CallbackHandler(link, function, methods, sandbox=sandbox, at_once=at_once)

    return decorate
