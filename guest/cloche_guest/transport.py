"""Byte streams to the hub whose far end may go away and come back: the machine's virtio port, or a socket.

Bytes only; what they mean is `link`'s matter.

Rule: a port without a far end costs nothing. It reports a hang-up for as long as nobody is there, so while it does
it is watched edge-triggered: then only a change wakes the loop.
Source: Linux drivers/char/virtio_console.c, port_fops_poll and handle_control_message.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import Protocol

from cloche_guest.loop import Loop

PORT_NAME = "cloche.agent"

_IN, _OUT, _HUP, _EDGE = select.EPOLLIN, select.EPOLLOUT, select.EPOLLHUP, select.EPOLLET
# What the kernel hands out of a virtio port at most in one read: a page.
_PORT_READ = 4096
_PORT_READS = 16
_SOCKET_READ = 64 << 10


class Receiver(Protocol):
    """Who uses a transport."""

    def received(self, data: bytes) -> None:
        """Bytes have come."""

    def writable(self) -> None:
        """A write that fell short can go on."""

    def gone(self) -> None:
        """The far end is away; whatever was under way is lost."""


class Transport(Protocol):
    """A byte stream whose far end may come and go."""

    def start(self, receiver: Receiver) -> None:
        """Begins to call the receiver. Once."""

    def write(self, data: memoryview) -> int:
        """Writes what there is room for and returns how much; where it falls short, `writable` is called later."""


class Port:
    """The virtio port, for the life of the machine.

    Args:
        loop: the loop that watches it.
        fd: its device file, open for both ways, non-blocking (see `open_port`).
    """

    def __init__(self, loop: Loop, fd: int) -> None:
        self._loop, self._fd = loop, fd
        self._watched_for = _IN | _EDGE
        self._is_there = self._waits_for_room = False

    def start(self, receiver: Receiver) -> None:
        """See `Transport`."""
        self._receiver = receiver
        self._loop.watch(self._fd, self._watched_for, self._on_events)

    def write(self, data: memoryview) -> int:
        """See `Transport`."""
        written = 0
        # The kernel takes 32 KiB at most in one write.
        while written < len(data):
            try:
                written += os.write(self._fd, data[written:])
            except BlockingIOError:
                self._waits_for_room = True
                self._watch()
                break
        return written

    def _on_events(self, events: int) -> None:
        was_there, self._is_there = self._is_there, not events & _HUP
        has_room = bool(events & _OUT)
        if has_room or not self._is_there:
            self._waits_for_room = False
        self._watch()
        if not self._is_there:
            if was_there:
                self._receiver.gone()
            return
        if has_room:
            self._receiver.writable()
        if events & _IN:
            data = self._read()
            if data:
                self._receiver.received(data)

    def _watch(self) -> None:
        wanted = _IN | _EDGE
        if self._is_there:
            wanted = _IN | _OUT if self._waits_for_room else _IN
        # Asking again for the same would report a lasting hang-up again, at once and without end.
        if wanted != self._watched_for:
            self._watched_for = wanted
            self._loop.change(self._fd, wanted)

    def _read(self) -> bytes:
        pieces = []
        for _ in range(_PORT_READS):
            try:
                piece = os.read(self._fd, _PORT_READ)
            except BlockingIOError:
                break
            pieces.append(piece)
            if len(piece) < _PORT_READ:
                break
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class Socket:
    """A stream socket, until its far end closes it: the agent as an ordinary process, for tests.

    Args:
        loop: the loop that watches it.
        fd: the socket; closed by this object.
        on_end: called when the far end is gone, after the receiver has been told.
    """

    def __init__(self, loop: Loop, fd: int, on_end: Callable[[], None]) -> None:
        os.set_blocking(fd, False)
        self._loop, self._fd, self._on_end = loop, fd, on_end
        self._is_open = True

    def start(self, receiver: Receiver) -> None:
        """See `Transport`."""
        self._receiver = receiver
        self._loop.watch(self._fd, _IN, self._on_events)

    def write(self, data: memoryview) -> int:
        """See `Transport`."""
        if not self._is_open:
            return 0
        try:
            written = os.write(self._fd, data)
        except BlockingIOError:
            written = 0
        except OSError:
            # The far end is gone; the next event says so.
            return 0
        if written < len(data):
            self._loop.change(self._fd, _IN | _OUT)
        return written

    def close(self) -> None:
        """Ends it. Idempotent; the receiver is told, `on_end` is not called."""
        if self._is_open:
            self._is_open = False
            self._loop.forget(self._fd)
            os.close(self._fd)
            self._receiver.gone()

    def _on_events(self, events: int) -> None:
        if events & _OUT:
            self._loop.change(self._fd, _IN)
            self._receiver.writable()
        if events & ~_OUT:
            try:
                data = os.read(self._fd, _SOCKET_READ)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if data:
                self._receiver.received(data)
            else:
                self.close()
                self._on_end()


class Listener:
    """A Unix socket where the hub's end may come, go and come again: a virtio port for tests.

    A second caller takes the place of the first.

    Args:
        loop: the loop that watches it.
        path: where it listens; must not exist.
    """

    def __init__(self, loop: Loop, path: str) -> None:
        # Only tests need sockets; the agent in a machine does without the module's memory.
        import socket

        self._loop = loop
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(path)
        self._listening.listen()
        self._listening.settimeout(0)
        self._current: Socket | None = None

    def start(self, receiver: Receiver) -> None:
        """See `Transport`."""
        self._receiver = receiver
        self._loop.watch(self._listening.fileno(), _IN, self._on_caller)

    def write(self, data: memoryview) -> int:
        """See `Transport`."""
        return 0 if self._current is None else self._current.write(data)

    def close(self) -> None:
        """Ends it and its current caller."""
        self._loop.forget(self._listening.fileno())
        self._listening.close()
        if self._current is not None:
            self._current.close()

    def _on_caller(self, _events: int) -> None:
        try:
            caller, _ = self._listening.accept()
        except OSError:
            return
        if self._current is not None:
            self._current.close()
        self._current = Socket(self._loop, caller.detach(), self._on_end)
        self._current.start(self._receiver)

    def _on_end(self) -> None:
        self._current = None


def open_port(name: str = PORT_NAME, *, deadline_s: float = 10.0) -> int:
    """Opens a virtio port.

    Waits for it: the kernel learns of its ports some time after the driver was loaded.

    Raises:
        FileNotFoundError: it did not appear in time.
    """
    ends_at = time.monotonic() + deadline_s
    while True:
        device = find_port(name)
        if device is not None:
            return os.open(f"/dev/{device}", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        if time.monotonic() > ends_at:
            raise FileNotFoundError(f"no virtio port is named {name}")
        time.sleep(0.01)


def find_port(name: str, ports: str = "/sys/class/virtio-ports") -> str | None:
    """The device of a virtio port; None if there is none of that name (yet).

    udev would have made /dev/virtio-ports; the kernel itself only writes down the names.
    """
    for device in os.listdir(ports) if os.path.isdir(ports) else ():
        with open(f"{ports}/{device}/name", "rb") as file:
            if file.read().strip() == name.encode():
                return device
    return None
