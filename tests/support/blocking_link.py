"""A hub's end of one guest link in plain blocking code: for tests of the agent and for the benchmarks' bare limit.

No tasks and no threads: a call runs the protocol until what it waits for has happened, and every wait is bounded. It
adds nothing to what the protocol costs, so what is measured through it is the guest and the port.

Rule: what has happened stays to be asked for (results, output, errors), whoever was waiting when it came.
"""

from __future__ import annotations

import secrets
import select
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgpack

from cloche_wire.connection import Connection
from cloche_wire.errors import CodedError
from cloche_wire.events import Accepted, Confirmed, Ended, Event, Failed, Finished, Greeted, Ponged, Received
from cloche_wire.framing import NONCE_SIZE, Framing
from cloche_wire.limits import Limits

GUEST_LIMITS = Limits(max_frame=256 << 10, max_message=512 << 10)
"""The sizes the hub holds guests to."""

STDIN, STDOUT, STDERR = 1, 1, 2
_READ_SIZE = 256 << 10
_MESSAGE = 64 << 10


@dataclass(frozen=True, slots=True)
class Completed:
    """How a command ended."""

    exit_code: int | None
    signal: str | None
    stdout: bytes
    stderr: bytes
    timed_out: bool
    duration_s: float


class BlockingLink:
    """The leader's side of a link to an agent, across reconnects.

    Args:
        timeout_s: the bound of every wait.
        window: bytes a stream may carry ahead of what was consumed here.
        limits: what the guest is held to.
    """

    def __init__(
        self, *, timeout_s: float = 20.0, window: int = 256 << 10, limits: Limits = GUEST_LIMITS
    ) -> None:
        self.timeout_s, self.window, self._limits = timeout_s, window, limits
        self.connection = Connection(
            leader=True, software="blocking-link/1", session=secrets.token_bytes(16), limits=limits
        )
        self.greetings: list[Greeted] = []
        """The agent's hello on each link so far."""
        self.path: str | None = None
        """The socket it is or was connected to."""
        self._execs = 0
        self._requests: dict[int, Request] = {}
        self._pongs: set[int] = set()
        self._socket: socket.socket | None = None
        self._framing = Framing(leader=True, max_message=limits.max_message)
        self._unsent = b""
        self._has_echo = False
        self._poll = select.poll()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.drop()

    # Links.

    def connect(self, path: Path | str) -> Greeted:
        """Opens a Unix socket to the agent, or to the port of its machine, and greets."""
        self._attach_path(str(path))
        self.sync()
        return self.greet()

    def attach(self, link: socket.socket) -> Greeted:
        """Takes over a connected socket, and greets."""
        self._attach(link)
        self.sync()
        return self.greet()

    def drop(self) -> None:
        """Closes the link as it is; what is under way is lost. Idempotent."""
        if self._socket is not None:
            self._poll.unregister(self._socket)
            self._socket.close()
            self._socket = None
        self.connection.link_down()
        self._unsent = b""

    def attach_without_greeting(self, path: Path | str) -> socket.socket:
        """Opens a socket and leaves it at that: for tests that send bytes of their own."""
        self._attach_path(str(path))
        assert self._socket is not None
        return self._socket

    def sync(self, *, attempt_s: float = 5.0) -> None:
        """Brings both sides into step; before the first message on every link.

        Args:
            attempt_s: how long to wait for the echo before any half-written message is completed.
        """
        self._framing = Framing(leader=True, max_message=self._limits.max_message)
        self._has_echo = False
        ends_at = time.monotonic() + self.timeout_s
        self._unsent = self._framing.sync(secrets.token_bytes(NONCE_SIZE))
        while True:
            try:
                self._run_until(lambda: self._has_echo, "the echo of a sync", min(attempt_s, self.timeout_s))
            except TimeoutError:
                if time.monotonic() > ends_at:
                    raise
                self._unsent += self._framing.filler() + self._framing.sync(secrets.token_bytes(NONCE_SIZE))
            else:
                return

    def greet(self) -> Greeted:
        """Says hello and waits for the agent's."""
        seen = len(self.greetings)
        self.connection.link_up()
        self.wait_until(lambda: len(self.greetings) > seen, "the agent's hello")
        return self.greetings[-1]

    # What the agent does.

    def ping(self) -> None:
        """Waits for the answer to a ping."""
        token = secrets.randbits(48)
        self.connection.ping(token)
        self.wait_until(lambda: token in self._pongs, "a pong")
        self._pongs.discard(token)

    def open(self, kind: str, params: Mapping[str, Any], *, window: int | None = None) -> Request:
        """Opens a channel and returns at once."""
        number = self.connection.open(kind, dict(params), window=self.window if window is None else window)
        request = self._requests[number] = Request(self, number)
        return request

    def call(self, kind: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Carries out a request and returns its result.

        Raises:
            CodedError: the agent refused.
        """
        return self.open(kind, params or {}).result()

    def become(self, **changed: Any) -> dict[str, Any]:
        """Makes the clone somebody: made-up values where none are given."""
        return self.call("become", become_params(**changed))

    def start(self, *argv: str, window: int | None = None, **params: Any) -> Request:
        """Starts a command and waits until it runs.

        Raises:
            CommandNotStarted: it can not run.
        """
        request = self.open("exec", self.exec_params(*argv, **params), window=window)
        request.wait_accepted()
        return request

    def exec_params(self, *argv: str, **params: Any) -> dict[str, Any]:
        """The parameters of an exec with an id of its own."""
        self._execs += 1
        return {"exec": f"ex_{self._execs}", "argv": list(argv), "env": {}, "stdin": False, **params}

    def run(self, *argv: str, stdin: bytes | None = None, **params: Any) -> Completed:
        """Runs a command to its end.

        Args:
            argv: the command.
            stdin: what it reads; None: /dev/null.
            params: further parameters of the exec.
        """
        command = self.open("exec", self.exec_params(*argv, stdin=stdin is not None, **params))
        if stdin is not None:
            command.wait_accepted()
            command.write(stdin)
            command.end(STDIN)
        return command.wait()

    # The protocol.

    def wait_until(self, has_happened: Callable[[], bool], what: str) -> None:
        """Runs the protocol until something has happened.

        Raises:
            TimeoutError: it did not within the bound.
            ConnectionError: the far end closed the link.
        """
        self._run_until(has_happened, what, self.timeout_s)

    def send_pending(self) -> None:
        """Sends what there is to send without waiting for anything to come."""
        assert self._socket is not None
        self._gather()
        self._socket.settimeout(self.timeout_s)
        self._socket.sendall(self._unsent)
        self._socket.settimeout(0)
        self._unsent = b""

    def _run_until(self, has_happened: Callable[[], bool], what: str, timeout_s: float) -> None:
        ends_at = time.monotonic() + timeout_s
        while True:
            self._send()
            if has_happened():
                return
            assert self._socket is not None, "no link is attached"
            self._poll.modify(self._socket, select.POLLIN | (select.POLLOUT if self._unsent else 0))
            left_s = ends_at - time.monotonic()
            if left_s <= 0 or not self._poll.poll(1000 * left_s):
                raise TimeoutError(f"{what} did not come within {timeout_s:g} s")
            self._receive()

    def _gather(self) -> None:
        while len(self._unsent) < _MESSAGE and (message := self.connection.data_to_send(_MESSAGE)):
            self._unsent += self._framing.wrap(message)

    def _send(self) -> None:
        if self._socket is None:
            return
        while True:
            self._gather()
            if not self._unsent:
                return
            try:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
            except BlockingIOError:
                return

    def _receive(self) -> None:
        assert self._socket is not None
        try:
            data = self._socket.recv(_READ_SIZE)
        except BlockingIOError:
            return
        if not data:
            raise ConnectionError("the agent closed the link")
        messages, echo = self._framing.feed(data)
        self._has_echo = self._has_echo or echo is not None
        for message in messages:
            for event in self.connection.feed(message):
                self._on_event(event)

    def _on_event(self, event: Event) -> None:
        match event:
            case Greeted():
                self.greetings.append(event)
            case Ponged(token):
                self._pongs.add(token)
            case Accepted() | Received() | Ended() | Finished() | Failed() | Confirmed():
                request = self._requests.get(event.channel)
                if request is not None:
                    request.on_event(event)
            case _:
                pass

    def _attach_path(self, path: str) -> None:
        self.path = path
        link = socket.socket(socket.AF_UNIX)
        try:
            link.settimeout(self.timeout_s)
            link.connect(path)
        except BaseException:
            link.close()
            raise
        self._attach(link)

    def _attach(self, link: socket.socket) -> None:
        self.drop()
        link.settimeout(0)
        self._socket = link
        self._poll.register(link, select.POLLIN)


class Request:
    """One channel to the agent; made by `BlockingLink`."""

    def __init__(self, link: BlockingLink, channel: int) -> None:
        self._link, self.channel = link, channel
        self.accepted: dict[str, Any] | None = None
        """What the agent said when it took the channel."""
        self.outputs: dict[int, bytearray] = {}
        """What has come on each stream."""
        self.ended: set[int] = set()
        self.is_reading = True
        """Whether what comes is consumed, so that more may come."""
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
        """Its result; confirmed, so that both sides forget the channel."""
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
        """Consumes what has come, and from now on whatever comes."""
        self.is_reading = True
        for stream, count in self._unconsumed.items():
            if count and not self.is_over:
                self._link.connection.consume(self.channel, stream, count)
        self._unconsumed.clear()

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
                self._link.connection.confirm(self.channel)
            case Failed(_, error):
                self.error = error
            case Confirmed():
                pass

    def _raise(self) -> None:
        if self.error is not None:
            raise self.error


def become_params(**changed: Any) -> dict[str, Any]:
    """The parameters of `become`, made up where they are not given."""
    return {
        "sandbox": "sb_test",
        "hostname": "quiet-otter",
        "machine_id": secrets.token_hex(16),
        "entropy": secrets.token_bytes(64),
        "clock_ns": time.time_ns(),
        "env": {},
        **changed,
    }
