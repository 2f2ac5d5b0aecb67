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
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cloche_wire.connection import Connection
from cloche_wire.errors import CodedError
from cloche_wire.events import (
    Accepted,
    Confirmed,
    Ended,
    Event,
    Failed,
    Finished,
    Greeted,
    Opened,
    Parted,
    Ponged,
    Received,
)
from cloche_wire.framing import NONCE_SIZE, Framing
from cloche_wire.limits import Limits
from tests.support.blocking_request import STDIN, Completed, Request

GUEST_LIMITS = Limits(max_frame=256 << 10, max_message=512 << 10, least_peer_window=64 << 10)
"""The sizes the hub holds guests to."""

_READ_SIZE = 256 << 10
_MESSAGE = 64 << 10


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
        self.farewells: list[CodedError] = []
        """Why the agent wanted to end links."""
        self.offered: list[Opened] = []
        """The channels the agent has opened: to be answered with the connection's own moves."""
        self.given_up: dict[int, CodedError] = {}
        """Those of them that the agent has dropped, and why."""
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
            case Opened():
                self.offered.append(event)
            case Parted(error):
                self.farewells.append(error)
            case Failed(channel, error) if channel not in self._requests:
                self.given_up[channel] = error
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
