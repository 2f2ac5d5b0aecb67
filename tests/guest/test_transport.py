"""Byte streams whose far end comes and goes, and cost nothing while it is away.

A pseudo-terminal stands in for the virtio port: its controlling side, too, reports a hang-up for as long as nobody
has the other side open.
"""

from __future__ import annotations

import os
import socket
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloche_guest.loop import Loop
from cloche_guest.transport import Listener, Port, Socket, find_port, open_port


class Heard:
    """A receiver that writes down what it is told, and can be waited for."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.data = bytearray()
        self.told: list[str] = []

    def received(self, data: bytes) -> None:
        self.data += data
        self.told.append("received")

    def writable(self) -> None:
        self.told.append("writable")

    def gone(self) -> None:
        self.told.append("gone")

    def wait(self, word: str, count: int = 1) -> None:
        """Runs the loop until it was told so often."""
        timer = self._loop.call_later(10, lambda: pytest.fail(f"not {word} within 10 s"))
        while self.told.count(word) < count:
            self._loop.turn()
        timer.cancel()


def fail(error: Exception) -> None:
    raise error


@pytest.fixture
def loop() -> Loop:
    return Loop(fail)


def turns_within(loop: Loop, seconds: float) -> int:
    """How often the loop wakes up in a while."""
    turns = 0

    def count() -> None:
        nonlocal turns
        turns += 1

    loop.on_turn_end = count
    loop.call_later(seconds, loop.stop)
    loop.run()
    loop.on_turn_end = lambda: None
    return turns


# The port.


class Terminal:
    """A pseudo-terminal whose far end the test opens and closes."""

    def __init__(self) -> None:
        self.near, far = os.openpty()
        os.set_blocking(self.near, False)
        self.name = os.ttyname(far)
        tty.setraw(far)
        os.close(far)
        self.far = -1

    def attach(self) -> None:
        self.far = os.open(self.name, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.far)

    def detach(self) -> None:
        os.close(self.far)
        self.far = -1

    def close(self) -> None:
        os.close(self.near)
        if self.far >= 0:
            os.close(self.far)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    one = Terminal()
    yield one
    one.close()


def test_a_port_without_a_far_end_does_not_wake_the_loop(loop: Loop, terminal: Terminal) -> None:
    Port(loop, terminal.near).start(Heard(loop))
    loop.turn()
    assert turns_within(loop, 0.05) <= 2


def test_a_port_hears_a_far_end_that_comes_late(loop: Loop, terminal: Terminal) -> None:
    heard = Heard(loop)
    Port(loop, terminal.near).start(heard)
    assert turns_within(loop, 0.01) <= 3
    terminal.attach()
    os.write(terminal.far, b"hello")
    heard.wait("received")
    assert heard.data == b"hello"


def test_a_port_whose_far_end_goes_says_so_once_and_falls_silent(loop: Loop, terminal: Terminal) -> None:
    heard = Heard(loop)
    Port(loop, terminal.near).start(heard)
    terminal.attach()
    os.write(terminal.far, b"hello")
    heard.wait("received")
    terminal.detach()
    heard.wait("gone")
    assert turns_within(loop, 0.05) <= 3
    assert heard.told.count("gone") == 1


def test_a_port_serves_one_far_end_after_another(loop: Loop, terminal: Terminal) -> None:
    heard = Heard(loop)
    port = Port(loop, terminal.near)
    port.start(heard)
    for number in range(1, 4):
        terminal.attach()
        os.write(terminal.far, b"ping%d" % number)
        heard.wait("received", number)
        assert port.write(memoryview(b"pong")) == 4
        assert os.read(terminal.far, 100) == b"pong"
        terminal.detach()
        heard.wait("gone", number)
    assert heard.data == b"ping1ping2ping3"


class FullPort:
    """A port on a socket, which holds exactly what is written to it, filled to the brim."""

    def __init__(self, loop: Loop) -> None:
        near, self.far = socket.socketpair()
        near.setblocking(False)
        self.near = near
        self.heard = Heard(loop)
        self.port = Port(loop, near.fileno())
        self.port.start(self.heard)
        self.far.sendall(b"x")
        self.heard.wait("received")
        self.written = self.port.write(memoryview(bytes(4 << 20)))

    def drain(self) -> None:
        while self.written:
            self.written -= len(self.far.recv(min(self.written, 1 << 16)))

    def close(self) -> None:
        self.near.close()
        self.far.close()


@pytest.fixture
def full(loop: Loop) -> Iterator[FullPort]:
    one = FullPort(loop)
    yield one
    one.close()


def test_a_full_port_takes_what_fits_and_says_when_it_goes_on(loop: Loop, full: FullPort) -> None:
    assert 0 < full.written < 4 << 20
    assert turns_within(loop, 0.02) <= 2
    assert "writable" not in full.heard.told
    full.drain()
    full.heard.wait("writable")


def test_what_comes_in_meanwhile_does_not_make_a_full_port_forget_that_it_waits(
    loop: Loop, full: FullPort
) -> None:
    full.far.sendall(b"y")
    full.heard.wait("received", 2)
    assert "writable" not in full.heard.told
    full.drain()
    full.heard.wait("writable")


def test_a_write_to_a_port_without_a_far_end_does_not_make_the_loop_spin(
    loop: Loop, terminal: Terminal
) -> None:
    port = Port(loop, terminal.near)
    port.start(Heard(loop))
    port.write(memoryview(bytes(1 << 20)))
    loop.turn()
    assert turns_within(loop, 0.05) <= 4


def test_a_port_is_found_by_the_name_the_kernel_wrote_down(tmp_path: Path) -> None:
    for device, name in (("vport0p1", "other"), ("vport0p2", "cloche.agent")):
        (tmp_path / device).mkdir()
        (tmp_path / device / "name").write_text(f"{name}\n")
    assert find_port("cloche.agent", str(tmp_path)) == "vport0p2"
    assert find_port("nobody", str(tmp_path)) is None
    assert find_port("nobody", str(tmp_path / "nowhere")) is None


def test_a_port_that_does_not_appear_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"cloche\.no-such-port"):
        open_port("cloche.no-such-port", deadline_s=0)


# Sockets.


def test_a_socket_hears_writes_and_ends_with_its_far_end(loop: Loop) -> None:
    near, far = socket.socketpair()
    heard, ended = Heard(loop), []
    one = Socket(loop, near.detach(), lambda: ended.append(1))
    one.start(heard)
    far.sendall(b"ping")
    heard.wait("received")
    assert one.write(memoryview(b"pong")) == 4
    assert far.recv(100) == b"pong"
    far.close()
    heard.wait("gone")
    assert (bytes(heard.data), ended) == (b"ping", [1])
    assert one.write(memoryview(b"late")) == 0
    one.close()


def test_a_full_socket_goes_on_when_there_is_room(loop: Loop) -> None:
    near, far = socket.socketpair()
    heard = Heard(loop)
    one = Socket(loop, near.detach(), lambda: None)
    one.start(heard)
    data = memoryview(bytes(4 << 20))
    written = one.write(data)
    assert written < len(data)
    while written:
        written -= len(far.recv(min(written, 1 << 20)))
    heard.wait("writable")
    one.close()
    far.close()


def test_a_listener_serves_one_caller_after_another(loop: Loop, tmp_path: Path) -> None:
    heard = Heard(loop)
    listener = Listener(loop, str(tmp_path / "sock"))
    listener.start(heard)
    assert listener.write(memoryview(b"nobody is there")) == 0
    for number in range(1, 3):
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(tmp_path / "sock"))
            caller.sendall(b"ping")
            heard.wait("received", number)
            assert listener.write(memoryview(b"pong")) == 4
            assert caller.recv(100) == b"pong"
        heard.wait("gone", number)
    listener.close()


def test_a_second_caller_takes_the_place_of_the_first(loop: Loop, tmp_path: Path) -> None:
    heard = Heard(loop)
    listener = Listener(loop, str(tmp_path / "sock"))
    listener.start(heard)
    with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
        first.connect(str(tmp_path / "sock"))
        first.sendall(b"1")
        heard.wait("received")
        second.connect(str(tmp_path / "sock"))
        second.sendall(b"2")
        heard.wait("received", 2)
        assert heard.told == ["received", "gone", "received"]
        assert first.recv(100) == b""
    heard.wait("gone", 2)
    listener.close()
