"""One channel of a `BlockingLink`: what has come on it, and what a hub does with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import msgpack

from cloche_wire.connection import Connection
from cloche_wire.errors import CodedError
from cloche_wire.events import Accepted, Confirmed, Ended, Failed, Finished, Received

STDIN, STDOUT, STDERR = 1, 1, 2
"""Numbers of the streams: stdin towards the guest, stdout and stderr towards us."""


@dataclass(frozen=True, slots=True)
class Completed:
    """How a command ended."""

    exit_code: int | None
    signal: str | None
    stdout: bytes
    stderr: bytes
    timed_out: bool
    duration_s: float


class Link(Protocol):
    """The link, as its requests see it."""

    connection: Connection

    def wait_until(self, has_happened: Callable[[], bool], what: str) -> None:
        """Runs the protocol until something has happened."""


class Request:
    """One channel to the agent; made by `BlockingLink`."""

    def __init__(self, link: Link, channel: int) -> None:
        self._link, self.channel = link, channel
        self.accepted: dict[str, Any] | None = None
        """What the agent said when it took the channel."""
        self.outputs: dict[int, bytearray] = {}
        """What has come on each stream."""
        self.ended: set[int] = set()
        self.is_reading = True
        """Whether what comes is consumed, so that more may come."""
        self.confirms_itself = True
        """Whether the agent may forget the channel as soon as its result has come."""
        self._unconsumed: dict[int, int] = {}
        self._result: dict[str, Any] | None = None
        self.error: CodedError | None = None

    @property
    def pid(self) -> int:
        """The command's process."""
        assert self.accepted is not None
        return int(self.accepted["pid"])

    @property
    def stdout(self) -> bytes:
        """What has come of it."""
        return bytes(self.outputs.get(STDOUT, b""))

    @property
    def stderr(self) -> bytes:
        """What has come of it."""
        return bytes(self.outputs.get(STDERR, b""))

    @property
    def is_over(self) -> bool:
        """Whether its result or its error has come."""
        return self._result is not None or self.error is not None

    def wait_accepted(self) -> dict[str, Any]:
        """What the agent said when it took the channel."""
        self._link.wait_until(lambda: self.accepted is not None or self.is_over, "an accept")
        self._raise()
        assert self.accepted is not None, "the channel was closed without being accepted"
        return self.accepted

    def result(self) -> dict[str, Any]:
        """Its result; confirmed unless it is told otherwise, so that both sides forget the channel."""
        self._link.wait_until(lambda: self.is_over, "a result")
        self._raise()
        assert self._result is not None
        return self._result

    def wait(self) -> Completed:
        """A command's end."""
        result = self.result()
        return Completed(
            exit_code=result.get("exit_code"),
            signal=result.get("signal"),
            stdout=self.stdout,
            stderr=self.stderr,
            timed_out=result["timed_out"],
            duration_s=result["duration_s"],
        )

    def wait_output(self, wanted: bytes, stream: int = STDOUT) -> None:
        """Waits until something has come on a stream."""
        self._link.wait_until(
            lambda: wanted in self.outputs.get(stream, b"") or self.is_over, f"{wanted[:40]!r} on a stream"
        )
        assert wanted in self.outputs.get(stream, b""), f"over without {wanted[:40]!r}: {self.outputs}"

    def wait_more(self) -> None:
        """Waits until more has come on stdout, or the command is over."""
        have = len(self.stdout)
        self._link.wait_until(lambda: len(self.stdout) > have or self.is_over, "more output")

    def write(self, data: bytes, stream: int = STDIN) -> None:
        """Sends bytes as there is credit for them; returns when all are on their way, or the channel is over."""
        left = memoryview(data)
        connection = self._link.connection
        while left:
            credit = connection.credit(self.channel, stream)
            if credit:
                connection.send(self.channel, stream, bytes(left[:credit]))
                left = left[credit:]
            else:
                self._link.wait_until(
                    lambda: connection.credit(self.channel, stream) > 0 or self.is_over, "credit"
                )
                if self.is_over:
                    return

    def end(self, stream: int = STDIN) -> None:
        """Ends a stream."""
        if not self.is_over:
            self._link.connection.end(self.channel, stream)

    def signal(self, name: str | int) -> None:
        """Sends the command's tree a signal."""
        self.send_message({"signal": name})

    def send_message(self, message: Any) -> None:
        """Sends a message on stream 0; does nothing if the channel is over."""
        if not self.is_over:
            self._link.connection.send(self.channel, 0, msgpack.packb(message))

    def reset(self, error: CodedError) -> None:
        """Gives up."""
        self._link.connection.reset(self.channel, error)

    def read_on(self) -> None:
        """Consumes what has come, and from now on whatever comes. It does not confirm."""
        self.is_reading = True
        for stream, count in self._unconsumed.items():
            if count and not self.is_over:
                self._link.connection.consume(self.channel, stream, count)
        self._unconsumed.clear()

    def consume(self, count: int, stream: int = STDOUT) -> None:
        """Consumes so many bytes of a stream that are not consumed as they come."""
        self._unconsumed[stream] -= count
        self._link.connection.consume(self.channel, stream, count)

    def on_event(self, event: Accepted | Received | Ended | Finished | Failed | Confirmed) -> None:
        """Called by the link."""
        match event:
            case Accepted(_, info, _):
                self.accepted = info
            case Received(_, stream, data):
                self.outputs.setdefault(stream, bytearray()).extend(data)
                if self.is_reading:
                    self._link.connection.consume(self.channel, stream, len(data))
                else:
                    self._unconsumed[stream] = self._unconsumed.get(stream, 0) + len(data)
            case Ended(_, stream):
                self.ended.add(stream)
            case Finished(_, result):
                self._result = result
                if self.confirms_itself:
                    self._link.connection.confirm(self.channel)
            case Failed(_, error):
                self.error = error
            case Confirmed():
                pass

    def _raise(self) -> None:
        if self.error is not None:
            raise self.error
