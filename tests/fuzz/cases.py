"""One fuzz case from one number: a victim in some state, a hostile peer, and the few outcomes that are allowed.

Allowed of a connection: events; `Undecodable` (a new link may go on with the session); `RemoteProtocolError` (the
session is given up). Allowed of a framing: messages, a reply to a sync, `Undecodable`. Nothing else is ever raised,
whatever the state, and everything the program checks holds afterwards.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from cloche_wire.connection import Connection
from cloche_wire.errors import RemoteProtocolError, Undecodable
from cloche_wire.framing import NONCE_SIZE, Framing
from tests.fuzz import hostile
from tests.fuzz.program import Program
from tests.support.wire_pair import SESSION, TINY

_MOST = 60


def connection_case(seed: int) -> None:
    """A hostile peer talks to a connection that has talked to an honest one before."""
    rng = random.Random(seed)
    victim, tape = _victim_in_some_state(rng)
    for _ in range(rng.randint(1, 12)):
        _hear(victim, hostile.speak(rng, victim.connection, tape), rng, tape)
        victim.check()
        for _ in range(rng.randrange(3)):
            victim.act(rng)
        if rng.random() < 0.7:
            victim.speak()
        victim.check()
    victim.speak()
    victim.give_up()
    _serves_an_honest_peer(victim)


def _new(*, leader: bool) -> Program:
    return Program(
        Connection(leader=leader, software="fuzz/1", session=SESSION if leader else b"", limits=TINY)
    )


def _victim_in_some_state(rng: random.Random) -> tuple[Program, list[bytes]]:
    """A victim after some honest conversation, and what was said to it."""
    leader, follower = _new(leader=True), _new(leader=False)
    victim, peer = (leader, follower) if rng.random() < 0.5 else (follower, leader)
    tape: list[bytes] = []
    leader.connection.link_up()
    follower.connection.link_up()
    for _ in range(rng.randint(2, 30)):
        for program in rng.choice([[peer], [victim], [peer, victim], []]):
            program.act(rng)
        if rng.random() < 0.8:
            for data in peer.speak():
                tape.append(data)
                victim.take(victim.connection.feed(data))
        if rng.random() < 0.8:
            for data in victim.speak():
                peer.take(peer.connection.feed(data))
    return victim, tape or [hostile.pack(9, 0, 1)]


def _hear(victim: Program, message: bytes, rng: random.Random, tape: list[bytes]) -> None:
    connection = victim.connection
    before = _picture(connection)
    try:
        victim.take(connection.feed(message))
        return
    except Undecodable:
        assert _picture(connection) == before, "a message that does not decode changed something"
    except RemoteProtocolError:
        connection.link_down()
        victim.give_up()
    connection.link_up()
    if rng.random() < 0.9:
        _hear_hello(victim, hostile.aimed_hello(rng, connection))


def _hear_hello(victim: Program, message: bytes) -> None:
    connection = victim.connection
    if connection.leader:
        victim.speak()
    try:
        victim.take(connection.feed(message))
    except Undecodable:
        connection.link_up()
    except RemoteProtocolError:
        victim.give_up()
        connection.link_up()


def _picture(connection: Connection) -> object:
    """What a message can change of a session."""
    return [
        (
            channel.number,
            channel.state,
            [(number, stream.acked, stream.sent, stream.end) for number, stream in channel.sending.items()],
            channel.report() if not channel.is_settled else None,
        )
        for channel in connection.channels.values()
    ]


def _serves_an_honest_peer(victim: Program) -> None:
    """After all that, the connection works on the next link as if it were new."""
    connection = victim.connection
    peer = Connection(leader=not connection.leader, software="honest/1", session=SESSION, limits=TINY)
    connection.link_up()
    peer.link_up()
    _carry(victim, peer)
    number = connection.open("exec", {})
    victim.live.add(number)
    _carry(victim, peer)
    peer.close(number, {"code": 0})
    _carry(victim, peer)
    assert number not in victim.live, "an honest peer was not served"


def _carry(victim: Program, peer: Connection) -> None:
    """Everything that either side has to say, twice: an answer may call for another."""
    for _ in range(2):
        for data in victim.speak():
            peer.feed(data)
        while data := peer.data_to_send():
            victim.take(victim.connection.feed(data))


def framing_case(seed: int) -> None:
    """A hostile byte stream into a framing of either role, in pieces of any size."""
    rng = random.Random(seed)
    leader = rng.random() < 0.5
    framing = Framing(leader=leader, max_message=_MOST, in_step=rng.random() < 0.5)
    other = Framing(leader=not leader, max_message=_MOST)
    for _ in range(rng.randint(1, 20)):
        if leader and rng.random() < 0.2:
            framing.sync(rng.randbytes(NONCE_SIZE))
        elif rng.random() < 0.05:
            framing.lose_step(rng.randbytes(rng.randint(0, 60)))
        piece = _piece(rng, framing, other)
        try:
            messages, reply = framing.feed(piece)
        except Undecodable:
            assert not framing.in_step
            messages, reply = [], None
        assert all(type(message) is bytes and 0 < len(message) <= _MOST for message in messages)
        assert reply is None or len(reply) == (0 if leader else 48)
        assert len(framing._buffer) <= (_MOST + 4 if framing.in_step else 47) or not piece


def _piece(rng: random.Random, framing: Framing, other: Framing) -> bytes:
    marker = framing._their_marker + (framing._nonce or b"0" * 32)
    parts: list[Callable[[], bytes]] = [
        lambda: rng.randbytes(rng.randint(0, 70)),
        lambda: marker,
        lambda: marker[: rng.randint(0, 48)],
        lambda: other.wrap(rng.randbytes(rng.randint(1, _MOST))),
        lambda: other.wrap(marker),
        lambda: hostile.change_bytes(rng, other.wrap(rng.randbytes(rng.randint(1, _MOST)))),
        lambda: bytes(rng.randint(0, 130)),
        lambda: b"\xc1\0\0" + bytes([rng.randrange(70)]),
    ]
    data = b"".join(rng.choice(parts)() for _ in range(rng.randint(1, 4)))
    return data[: rng.randint(0, len(data))] if rng.random() < 0.3 else data


CASES: dict[str, Callable[[int], None]] = {"connection": connection_case, "framing": framing_case}
"""Each takes a number, makes a case of it, and raises AssertionError, or whatever the code under test raised."""
