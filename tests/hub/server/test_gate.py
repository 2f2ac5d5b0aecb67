"""Strangers: few, and one of the largest crowd makes room. With connections that are none."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from typing import cast

import pytest
from websockets.asyncio.server import ServerConnection

from cloche_hub.server.gate import Gate, Stage, Stranger, peer_of, who_makes_room


class Connection:
    """A connection as far as the gate knows it: of a user of this host."""

    def __init__(self, ours: socket.socket) -> None:
        self.transport, self.ours = self, ours
        self.is_aborted = False

    def get_extra_info(self, _name: str) -> socket.socket:
        return self.ours

    def abort(self) -> None:
        self.is_aborted = True


@pytest.fixture
def pair() -> Iterator[socket.socket]:
    """One end of a connection within this host."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours


def enter(gate: Gate, ours: socket.socket) -> Connection:
    stranger = Connection(ours)
    gate.enter(cast("ServerConnection", stranger))
    return stranger


def leave(gate: Gate, stranger: Connection) -> None:
    gate.leave(cast("ServerConnection", stranger))


def test_the_one_who_came_first_makes_room_for_the_newcomer(pair: socket.socket) -> None:
    gate = Gate(most=2)
    first, second, third = enter(gate, pair), enter(gate, pair), enter(gate, pair)
    assert [first.is_aborted, second.is_aborted, third.is_aborted] == [True, False, False]
    assert len(gate) == 2


def test_who_has_shown_a_token_is_no_stranger_and_makes_room_for_nobody(pair: socket.socket) -> None:
    gate = Gate(most=1)
    known = enter(gate, pair)
    leave(gate, known)
    enter(gate, pair)
    assert (known.is_aborted, len(gate)) == (False, 1)
    leave(gate, known)
    assert len(gate) == 1


def test_a_closed_gate_drops_those_inside_and_those_to_come(pair: socket.socket) -> None:
    gate = Gate()
    inside = enter(gate, pair)
    gate.close()
    assert (inside.is_aborted, enter(gate, pair).is_aborted) == (True, True)


@pytest.mark.parametrize(
    ("strangers", "place"),
    [
        ("a:SILENT", 0),
        ("a:SILENT a:SILENT", 0),
        # Who comes in crowds displaces his own, whichever came first.
        ("b:SILENT a:SILENT a:SILENT", 1),
        ("b:SILENT b:OPEN a:SILENT a:SPEAKING a:OPEN", 2),
        # A silent crowd does not displace who speaks, nor a talking one who has just come.
        ("a:OPEN a:SILENT a:SILENT", 1),
        ("a:SILENT a:OPEN a:OPEN", 1),
        ("a:ASKING a:SILENT a:SILENT", 1),
        # Those who are only being told why are a crowd like others.
        ("a:SILENT a:OPEN a:REFUSED a:REFUSED", 2),
    ],
)
def test_the_largest_crowd_loses_the_one_who_was_in_it_first(strangers: str, place: int) -> None:
    inside = [
        Stranger(peer, Stage[stage]) for peer, stage in (one.split(":") for one in strangers.split(" "))
    ]
    assert who_makes_room(inside) == place


def test_who_comes_further_leaves_his_crowd(pair: socket.socket) -> None:
    gate = Gate(most=3)
    honest = enter(gate, pair)
    crowd = [enter(gate, pair) for _ in range(2)]
    gate.has_spoken(cast("ServerConnection", honest))
    gate.reach(cast("ServerConnection", honest), Stage.OPEN)
    gate.has_spoken(cast("ServerConnection", honest))
    crowd += [enter(gate, pair) for _ in range(50)]
    assert not honest.is_aborted
    assert sum(not one.is_aborted for one in crowd) == 2
    leave(gate, honest)
    gate.reach(cast("ServerConnection", honest), Stage.REFUSED)
    assert len(gate) == 2


def test_a_peer_is_a_user_or_an_address_or_nobody(pair: socket.socket) -> None:
    def peer(ours: socket.socket) -> str:
        return peer_of(cast("asyncio.BaseTransport", Connection(ours)))

    assert peer(pair) == f"uid {os.geteuid()}"
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as ours:
            assert peer(ours) == "127.0.0.1"
        with socket.socket() as nowhere:
            assert peer(nowhere) == "nobody"
