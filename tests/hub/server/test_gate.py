"""Strangers: few, and the one who came first makes room. With connections that are none."""

from __future__ import annotations

from typing import cast

from websockets.asyncio.server import ServerConnection

from cloche_hub.server.gate import Gate


class Stranger:
    """A connection as far as the gate knows it."""

    def __init__(self) -> None:
        self.transport = self
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


def enter(gate: Gate) -> Stranger:
    stranger = Stranger()
    gate._enter(cast("ServerConnection", stranger))
    return stranger


def leave(gate: Gate, stranger: Stranger) -> None:
    gate.leave(cast("ServerConnection", stranger))


def test_the_one_who_came_first_makes_room_for_the_newcomer() -> None:
    gate = Gate(most=2)
    first, second, third = enter(gate), enter(gate), enter(gate)
    assert [first.is_aborted, second.is_aborted, third.is_aborted] == [True, False, False]
    assert len(gate) == 2


def test_who_has_shown_a_token_is_no_stranger_and_makes_room_for_nobody() -> None:
    gate = Gate(most=1)
    known = enter(gate)
    leave(gate, known)
    enter(gate)
    assert (known.is_aborted, len(gate)) == (False, 1)
    leave(gate, known)
    assert len(gate) == 1


def test_a_closed_gate_drops_those_inside_and_those_to_come() -> None:
    gate = Gate()
    inside = enter(gate)
    gate.close()
    assert (inside.is_aborted, enter(gate).is_aborted) == (True, True)
