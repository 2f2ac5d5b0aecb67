"""Cases made of numbers: a victim in some state, and a hostile peer that speaks to it several times.

What may be raised is in `permitted`; nothing else ever is, whatever the state, and all that the program checks holds
afterwards. A case counts what it fed: each hostile message, piece of a stream or value is one input.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import cache, partial

from cloche_wire.connection import Connection
from cloche_wire.errors import LocalProtocolError, TooLarge, Undecodable
from cloche_wire.frames import LARGEST_NUMBER, Decoder, check, encode
from cloche_wire.framing import NONCE_SIZE, Framing
from tests.fuzz import hostile
from tests.fuzz.borders import BORDERS, Border
from tests.fuzz.permitted import BYTE_STREAM, FRAMES, LINK, PARSED, outcome_of
from tests.fuzz.program import Program
from tests.support.wire_pair import SESSION, TINY

_MOST = 60

Heard = Counter[str]
"""What became of hostile input: `PARSED` or the name of an error → how often."""


def connection_case(seed: int, *, leader: bool) -> Heard:
    """A hostile peer talks to a connection that has talked to an honest one before.

    Args:
        seed: makes the case.
        leader: whether the victim is the leader, as the hub is to a guest; otherwise as the hub is to a client.
    """
    rng = random.Random(seed)
    heard = Heard()
    victim, tape = victim_in_some_state(rng, leader=leader)
    for _ in range(rng.randint(1, 12)):
        heard += hear(victim, hostile.speak(rng, victim.connection, tape), rng)
        victim.check()
        for _ in range(rng.randrange(3)):
            victim.act(rng)
        if rng.random() < 0.7:
            victim.speak()
        victim.check()
    victim.speak()
    victim.give_up()
    _serves_an_honest_peer(victim)
    return heard


def _new(*, leader: bool) -> Program:
    return Program(
        Connection(leader=leader, software="fuzz/1", session=SESSION if leader else b"", limits=TINY)
    )


def victim_in_some_state(rng: random.Random, *, leader: bool) -> tuple[Program, list[bytes]]:
    """A victim after some honest conversation, and what was said to it."""
    victim, peer = _new(leader=leader), _new(leader=not leader)
    tape: list[bytes] = []
    victim.connection.link_up()
    peer.connection.link_up()
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


def hear(victim: Program, message: bytes, rng: random.Random) -> Heard:
    """The victim hears a hostile message, and where that ends its link, mostly a hostile hello on the next one."""
    connection = victim.connection
    before = _picture(connection)
    outcome = outcome_of(LINK, lambda: victim.take(connection.feed(message)))
    if outcome == PARSED:
        return Heard([outcome])
    if outcome == Undecodable.__name__:
        assert _picture(connection) == before, "a message that does not decode changed something"
    else:
        connection.link_down()
        victim.give_up()
    connection.link_up()
    heard = Heard([outcome])
    if rng.random() < 0.9:
        heard += _hear_hello(victim, hostile.aimed_hello(rng, connection))
    return heard


def _hear_hello(victim: Program, message: bytes) -> Heard:
    connection = victim.connection
    if connection.leader:
        victim.speak()
    outcome = outcome_of(LINK, lambda: victim.take(connection.feed(message)))
    if outcome not in (PARSED, Undecodable.__name__):
        victim.give_up()
    if outcome != PARSED:
        connection.link_up()
    return Heard([outcome])


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


def decoder_case(seed: int) -> Heard:
    """Hostile link messages into fresh decoders; what is taken reads the same when it is written again."""
    rng = random.Random(seed)
    heard = Heard()
    for _ in range(20):
        message = hostile.speak_unseen(rng, _recorded())
        heard[outcome_of(FRAMES, partial(_decode, message))] += 1
    return heard


def _decode(message: bytes) -> None:
    for frame in Decoder(TINY).frames(message):
        assert all(0 <= field <= LARGEST_NUMBER for field in frame if type(field) is int)
        try:
            check(frame, TINY)
        except (TooLarge, LocalProtocolError):
            # Written again it may be longer (a fraction of four bytes becomes one of eight); then it is not sent.
            continue
        written = encode(frame, TINY)
        (again,) = Decoder(TINY).frames(written)
        assert encode(again, TINY) == written


@cache
def _recorded() -> list[bytes]:
    """What honest peers of either role say."""
    return [
        message
        for seed in range(40)
        for message in victim_in_some_state(random.Random(seed), leader=seed % 2 == 0)[1]
    ]


def framing_case(seed: int) -> Heard:
    """A hostile byte stream into a framing of either role, in pieces of any size."""
    rng = random.Random(seed)
    heard = Heard()
    leader = rng.random() < 0.5
    framing = Framing(leader=leader, max_message=_MOST, in_step=rng.random() < 0.5)
    other = Framing(leader=not leader, max_message=_MOST)
    for _ in range(rng.randint(1, 20)):
        if leader and rng.random() < 0.2:
            framing.sync(rng.randbytes(NONCE_SIZE))
        elif rng.random() < 0.05:
            framing.lose_step(rng.randbytes(rng.randint(0, 60)))
        heard[_hear_piece(framing, _piece(rng, framing, other), leader=leader)] += 1
    return heard


def _hear_piece(framing: Framing, piece: bytes, *, leader: bool) -> str:
    def feed() -> None:
        messages, reply = framing.feed(piece)
        assert all(type(message) is bytes and 0 < len(message) <= _MOST for message in messages)
        assert reply is None or len(reply) == (0 if leader else 48)

    outcome = outcome_of(BYTE_STREAM, feed)
    assert outcome == PARSED or not framing.in_step
    assert len(framing._buffer) <= (_MOST + 4 if framing.in_step else 47) or not piece
    return outcome


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


def border_case(seed: int, border: Border) -> Heard:
    """Honest input of a border, changed."""
    rng = random.Random(seed)
    changed = border.change(rng, rng.choice(border.honest))
    return Heard([outcome_of(border.permitted, lambda: border.take(changed))])


CASES: dict[str, Callable[[int], Heard]] = {
    "hub to client": partial(connection_case, leader=False),
    "hub to guest": partial(connection_case, leader=True),
    "decoder": decoder_case,
    "framing": framing_case,
    **{name: partial(border_case, border=border) for name, border in BORDERS.items()},
}
"""Each takes a number and makes a case of it; raises AssertionError, or whatever the code under test raised."""
