"""What a worker does with requests, seen without its process."""

from __future__ import annotations

import socket

import pytest

from cloche_term import open_terminal
from cloche_term.apart import worker
from cloche_term.apart.frames import (
    HEAD,
    MOST_FRAME,
    NUMBER,
    SIZE,
    Kind,
    Status,
    frame,
    pack_lines,
    read_look,
    read_state,
)
from cloche_term.apart.paintings import read_painting
from cloche_term.apart.viewing import pack_line
from cloche_term.apart.worker import Hangup, Host, best_backend, serve
from cloche_term.errors import BackendMissing


def opened(rows: int = 3, cols: int = 20) -> Host:
    """A host with a terminal."""
    host = Host()
    assert status_of(host.answer(Kind.OPEN, SIZE.pack(rows, cols) + pack_lines(100))) is Status.DONE
    return host


def status_of(answer: bytes) -> Status:
    status, length = HEAD.unpack_from(answer)
    assert length == len(answer) - HEAD.size
    return Status(status)


def told(answer: bytes) -> bytes:
    assert status_of(answer) is Status.DONE
    return read_state(answer[HEAD.size :])[1]


def test_a_terminal_does_what_is_asked_as_it_would_here() -> None:
    host, here = opened(), open_terminal(3, 20, scrollback_lines=100)
    fed = b"\x1b[31mred\x1b[0m\r\nline\r\nline\r\nend\x1b[6n"
    assert told(host.answer(Kind.FEED, fed)) == here.feed(fed) == b"\x1b[3;4R"
    assert told(host.answer(Kind.RESIZE, SIZE.pack(4, 10))) == b""
    here.resize(4, 10)
    assert told(host.answer(Kind.DUMP, pack_lines(10))) == here.dump(scrollback_lines=10)
    assert told(host.answer(Kind.SNAPSHOT, b"")) == here.snapshot()
    state, rest = read_state(host.answer(Kind.LOOK, b"")[HEAD.size :])
    assert (state.rows, state.cols, state.revision) == (4, 10, 2)
    assert read_look(state, rest).lines == here.text()
    here.close()


def rows_painted(host: Host, known: int) -> tuple[set[int], int]:
    """Which rows are in a painting for who knows that one, and its number."""
    state, rest = read_state(host.answer(Kind.PAINT, NUMBER.pack(known))[HEAD.size :])
    painting = read_painting(state, rest, known_size=(state.rows, state.cols))
    return set(painting.rows), painting.number


def test_a_painting_has_what_has_changed_since_the_one_that_is_known() -> None:
    host = opened()
    assert rows_painted(host, 0) == ({0, 1, 2}, 1)
    assert rows_painted(host, 1) == (set(), 2)
    host.answer(Kind.FEED, b"\x1b[2Hx")
    assert rows_painted(host, 2) == ({1}, 3)
    # That one was for nobody.
    assert rows_painted(host, 2) == ({0, 1, 2}, 4)
    host.answer(Kind.RESIZE, SIZE.pack(2, 20))
    assert rows_painted(host, 4) == ({0, 1}, 5)


def test_looking_and_scrolling_are_no_changes() -> None:
    host = opened()
    host.answer(Kind.FEED, b"line\r\n" * 9)
    before, _ = read_state(host.answer(Kind.LOOK, b"")[HEAD.size :])
    host.answer(Kind.SCROLL, pack_line(-2))
    rows_painted(host, 0)
    after, _ = read_state(host.answer(Kind.LOOK, b"")[HEAD.size :])
    assert before.revision == after.revision == 1


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in (Kind.RESTORE, Kind.PAINT)])
def test_a_request_that_is_cut_changes_nothing_and_the_terminal_goes_on(kind: Kind) -> None:
    host = opened()
    assert status_of(host.answer(kind, b"\xff")) is not None
    assert status_of(host.answer(Kind.LOOK, b"")) is Status.DONE


def test_where_the_native_emulator_cannot_be_loaded_the_other_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(*_size: int, backend: str) -> None:
        raise BackendMissing(f"{backend} is broken here")

    best_backend.cache_clear()
    assert best_backend() == "ghostty"
    best_backend.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(worker, "open_terminal", load)
        assert best_backend() == "bittty"
    best_backend.cache_clear()


def test_a_snapshot_makes_the_same_terminal_again() -> None:
    first, second = opened(), Host()
    first.answer(Kind.FEED, b"hello")
    snapshot = told(first.answer(Kind.SNAPSHOT, b""))
    second.answer(Kind.RESTORE, pack_lines(100) + snapshot)
    assert told(second.answer(Kind.DUMP, pack_lines(0))) == told(first.answer(Kind.DUMP, pack_lines(0)))


def test_a_snapshot_that_is_none_is_unreadable() -> None:
    assert status_of(Host().answer(Kind.RESTORE, pack_lines(1) + b"nonsense")) is Status.UNREADABLE


def test_nothing_is_asked_of_a_terminal_that_is_not_there() -> None:
    assert status_of(Host().answer(Kind.FEED, b"x")) is Status.FAILED


def test_a_size_that_no_terminal_has_is_refused() -> None:
    assert status_of(opened().answer(Kind.RESIZE, SIZE.pack(0, 1))) is Status.REFUSED


def test_an_answer_that_is_too_large_is_told_as_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MOST_FRAME", 10)
    assert status_of(opened_unchecked().answer(Kind.LOOK, b"")) is Status.FAILED


def opened_unchecked() -> Host:
    """A host whose answers do not fit."""
    host = Host()
    host.answer(Kind.OPEN, SIZE.pack(3, 20) + pack_lines(100))
    return host


def test_want_of_memory_fails_what_reads_and_ends_what_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    host = opened()

    def starve(*_args: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr(host, "_ask", starve)
    assert status_of(host.answer(Kind.SNAPSHOT, b"")) is Status.FAILED
    with pytest.raises(MemoryError):
        host.answer(Kind.FEED, b"x")


def test_an_error_that_nobody_expects_fails_what_reads_and_ends_what_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = opened()

    def stumble(*_args: object) -> bytes:
        raise ValueError("what is this?")

    monkeypatch.setattr(host, "_ask", stumble)
    assert status_of(host.answer(Kind.SEARCH, b"")) is Status.FAILED
    with pytest.raises(ValueError, match="what is this"):
        host.answer(Kind.FEED, b"x")


def test_requests_are_answered_in_order_until_the_socket_ends() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(frame(Kind.OPEN, SIZE.pack(3, 20) + pack_lines(100)) + frame(Kind.FEED, b"\x1b[6n"))
        ours.shutdown(socket.SHUT_WR)
        with pytest.raises(Hangup):
            serve(theirs)
        assert ours.recv(1000).endswith(b"\x1b[1;1R")


def test_a_request_that_is_too_large_is_not_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(HEAD.pack(Kind.FEED, MOST_FRAME + 1))
        with pytest.raises(Hangup):
            serve(theirs)
