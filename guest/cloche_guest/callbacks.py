"""Callbacks: what programs of the machine ask of the outside world, one channel to the hub each.

    caller's line ──► channel opened ──ACCEPT──► (wait false: the caller is answered)
                            └──CLOSE, RESET, the caller's timeout──► the caller is answered, the channel forgotten

Rules:
- A caller that is gone has given up, and so has the channel, unless the caller wanted no result and has been told that
  the call is taken: then it goes on without it.
- Without a link to the hub a call waits for one, until its caller gives up.
- A channel holds no more than the protocol's bound: more callbacks than that at once are refused one by one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from cloche_guest.callback_messages import (
    MAX_CALLBACK_BYTES,
    CallbackRequest,
    error_line,
    parse_request,
    result_line,
)
from cloche_guest.callers import Caller, Callers
from cloche_guest.loop import Loop, Timer
from cloche_wire.connection import Connection
from cloche_wire.errors import Cancelled, CodedError, SenselessAnswer, TimedOut, TooLarge
from cloche_wire.events import Accepted, Failed, Finished

if TYPE_CHECKING:
    import _socket

MOST_CALLBACKS = 256
"""Callbacks at once."""

_NOTHING = b"null"


class _Callback:
    """One call under way."""

    __slots__ = ("caller", "timer", "waits")

    def __init__(self, caller: Caller, *, waits: bool) -> None:
        self.caller, self.waits = caller, waits
        self.timer: Timer | None = None


class Callbacks:
    """Takes what programs ask to the hub, and the answers back.

    Args:
        loop: the loop.
        connection: to the hub.
        listening: the socket programs connect to (`callers.listen`); None: there is none.
        report: told of a defect and of what was being done.
    """

    def __init__(
        self,
        loop: Loop,
        connection: Connection,
        listening: _socket.socket | None,
        report: Callable[[Exception, str], None],
    ) -> None:
        self._loop, self._connection = loop, connection
        self._by_channel: dict[int, _Callback] = {}
        self._callers = None
        if listening is not None:
            self._callers = Callers(loop, listening, on_line=self._asked, report=report)

    def serve(self) -> None:
        """Begins to serve callers: the machine has become itself. Once."""
        if self._callers is not None:
            self._callers.serve()

    def owns(self, channel: int) -> bool:
        """Whether a callback is under way on a channel."""
        return channel in self._by_channel

    def heard(self, event: Accepted | Finished | Failed) -> None:
        """The hub has said something on a channel that is `owned`."""
        match event:
            case Accepted(channel):
                self._accepted(self._by_channel[channel])
            case Finished(channel, result):
                text = result.get("result") if self._by_channel[channel].waits else _NOTHING
                self._connection.confirm(channel)
                if isinstance(text, bytes) and len(text) <= MAX_CALLBACK_BYTES:
                    self._end(channel, result_line(text))
                else:
                    self._end(channel, error_line(SenselessAnswer("the hub's answer holds no result")))
            case Failed(channel, error):
                self._end(channel, error_line(error))

    def _asked(self, caller: Caller, line: bytes) -> None:
        try:
            self._open(caller, parse_request(line))
        except CodedError as error:
            caller.refuse(error)

    def _open(self, caller: Caller, request: CallbackRequest) -> None:
        if len(self._by_channel) >= MOST_CALLBACKS:
            raise TooLarge(
                f"this machine has {MOST_CALLBACKS} callbacks under way, which is as many as it may"
            )
        program = caller.program
        params = {
            # Random, so that it is unique among all that this machine ever makes, and no clone makes it too.
            "callback": f"cb_{os.urandom(8).hex()}",
            "method": request.method,
            "params": request.params,
            "wait": request.wait,
            "caller": {"pid": program.pid, "uid": program.uid, "program": program.name},
        }
        if request.timeout_s is not None:
            params["timeout_s"] = request.timeout_s
        channel = self._connection.open("callback", params, window=0)
        callback = self._by_channel[channel] = _Callback(caller, waits=request.wait)
        caller.on_gone = lambda: self._give_up(channel, Cancelled("the caller is gone"))
        if request.timeout_s is not None:
            late = TimedOut(f"no answer within the caller's {request.timeout_s:g} s")
            callback.timer = self._loop.call_later(request.timeout_s, lambda: self._give_up(channel, late))

    def _accepted(self, callback: _Callback) -> None:
        if not callback.waits:
            callback.caller.answer(result_line(_NOTHING))

    def _give_up(self, channel: int, error: CodedError) -> None:
        """Takes the call back; the caller, if it is still there, is told why."""
        self._connection.reset(channel, error)
        self._end(channel, error_line(error))

    def _end(self, channel: int, line: bytes) -> None:
        """It is over: forgets it and answers."""
        callback = self._by_channel.pop(channel)
        if callback.timer is not None:
            callback.timer.cancel()
        # Whoever wanted no result has been answered, unless the hub ended the call without taking it first.
        callback.caller.answer(line)
