"""What a hostile peer says: honest messages recorded from real conversations, and everything done to them.

Three depths of malice: bytes that are changed, cut or spliced anywhere, and lengths that lie; frames whose fields, order and number are changed; and frames
made on purpose for the state in which the victim is.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgpack

from cloche_wire import PROTOCOL_VERSION
from cloche_wire.channels import PEER_MAY_SEND, Channel
from cloche_wire.connection import Connection
from cloche_wire.frames import Tag

HUGE = (1 << 63) - 1


def junk(rng: random.Random, depth: int = 3) -> Any:
    """A value that nobody expects where it will stand."""
    kind = rng.randrange(16 if depth else 12)
    match kind:
        case 0:
            return rng.choice([None, True, False, 1.5, float("nan")])
        case 1:
            return rng.choice([-1, -(1 << 63), HUGE, HUGE + 1, (1 << 64) - 1])
        case 2 | 3 | 4:
            return rng.randrange(20)
        case 5:
            return rng.choice(["", "exec", "é", "x" * 300, "\0", "internal"])
        case 6 | 7:
            return rng.randbytes(rng.choice([0, 1, 3, 9, 300]))
        case 8:
            return msgpack.ExtType(rng.randrange(128), rng.randbytes(rng.choice([0, 1, 8])))
        case 9:
            return [0] * rng.choice([1, 65, 5000])
        case 10:
            return {str(key): key for key in range(rng.choice([1, 65]))}
        case 11:
            return rng.choice([{5: 1}, {b"k": 1}, {None: 1}, {"": ""}])
        case 12 | 13:
            return [junk(rng, depth - 1) for _ in range(rng.randrange(4))]
        case _:
            return {str(rng.randrange(5)): junk(rng, depth - 1) for _ in range(rng.randrange(4))}


def bomb(rng: random.Random) -> bytes:
    """Headers that promise far more than follows, one in the other."""
    header = rng.choice(
        [b"\x91", b"\x81\xa1a", b"\xdc\x00\x40", b"\xdc\xff\xff", b"\xde\x00\x40\xa1a", b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff"]
    )  # fmt: skip
    return rng.choice([b"", b"\x93\x06\x01", b"\x93\x06\x01\x81\xa1a"]) + header * rng.choice([1, 50, 2000])


def pack(*elements: Any) -> bytes:
    """An array, whether or not it is a frame."""
    return bytes(msgpack.packb(elements, use_bin_type=True))


def _unpack(message: bytes) -> list[Any]:
    """The frames of an honest message as plain lists."""
    unpacker = msgpack.Unpacker(raw=False, strict_map_key=False)
    unpacker.feed(message)
    return list(unpacker)


def change_bytes(rng: random.Random, message: bytes) -> bytes:
    """The message with some bytes changed, added, lost or doubled."""
    data = bytearray(message)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(data))
        match rng.randrange(5):
            case 0 if data:
                data[at % len(data)] = rng.randrange(256)
            case 1:
                data[at:at] = rng.randbytes(rng.randint(1, 4))
            case 2:
                del data[at : at + rng.randint(1, 6)]
            case 3:
                data[at:at] = data[at : at + rng.randint(1, 20)]
            case _:
                del data[at:]
    return bytes(data)


def splice(rng: random.Random, tape: list[bytes]) -> bytes:
    """The beginning of one honest message and the end of another."""
    before, after = rng.choice(tape), rng.choice(tape)
    return before[: rng.randint(0, len(before))] + after[rng.randint(0, len(after)) :]


def lie(rng: random.Random, message: bytes) -> bytes:
    """The message with a header that promises another length, or another type, than what follows."""
    headers = [at for at, byte in enumerate(message) if 0x80 <= byte < 0xC0 or 0xC4 <= byte < 0xE0]
    if not headers:
        return message
    at = rng.choice(headers)
    longer = bytes([rng.choice([0xC6, 0xC9, 0xDB, 0xDD, 0xDF])]) + rng.choice(
        [bytes(4), b"\xff" * 4, b"\0\0\1\0"]
    )
    shifted = bytes([(message[at] + rng.choice([-2, -1, 1, 2, 15])) % 256])
    return message[:at] + rng.choice([shifted, shifted, longer]) + message[at + 1 :]


def change_frames(rng: random.Random, message: bytes) -> bytes:
    """The message with its frames repeated, lost, swapped, or their fields replaced by others."""
    frames = _unpack(message)
    for _ in range(rng.randint(1, 3)):
        if not frames:
            break
        at = rng.randrange(len(frames))
        match rng.randrange(8):
            case 0:
                frames.insert(at, frames[at])
            case 1:
                del frames[at]
            case 2:
                rng.shuffle(frames)
            case _:
                if isinstance(frames[at], list):
                    frames[at] = _change_fields(rng, list(frames[at]))
    return b"".join(pack(*frame) if isinstance(frame, list) else msgpack.packb(frame) for frame in frames)


def _change_fields(rng: random.Random, fields: list[Any]) -> list[Any]:
    at = rng.randrange(len(fields) + 1)
    match rng.randrange(6):
        case 0:
            fields.insert(at, junk(rng))
        case 1:
            del fields[at:]
        case 2 | 3 if fields:
            place = at % len(fields)
            if type(fields[place]) is int:
                fields[place] = min(max(-1, fields[place] + rng.choice([-2, -1, 1, 2, HUGE])), 2 * HUGE)
            else:
                fields[place] = junk(rng)
        case _ if fields:
            fields[at % len(fields)] = junk(rng)
    return fields


def _near(rng: random.Random, number: int) -> int:
    """The number, or now and then one beside it."""
    return max(0, number + rng.choice([0] * 12 + [1, -1, 3, 1 << 40]))


def aimed_frame(rng: random.Random, victim: Connection) -> bytes:
    """A well-formed frame for the state the victim is in: often legal, often just not."""
    channel = rng.choice([*victim.channels.values(), None])
    number = _near(rng, channel.number if channel else rng.randrange(12))
    stream = rng.choice([0, 0, 1, 1, 2, 3, 4])
    receiving = channel.receiving.get(stream) if channel else None
    sending = channel.sending.get(stream) if channel else None
    received, sent = receiving.received if receiving else 0, sending.sent if sending else 0
    tags: list[Tag] = [tag for tag in Tag if tag is not Tag.HELLO]
    if rng.random() < 0.9:
        tags = sorted(PEER_MAY_SEND[channel.state]) if channel else [Tag.OPEN]
        # Otherwise most channels would be over before anything happens on them.
        tags = [tag for tag in tags if tag not in (Tag.RESET, Tag.CLOSE)] * 4 + tags
    match rng.choice(tags):
        case Tag.OPEN:
            first = 2 if victim.leader else 1
            unused = victim._session._highest_seen + 2 if victim._session._highest_seen else first
            return pack(Tag.OPEN, _near(rng, unused), "exec", {}, rng.choice([0, 8, 8, HUGE]))
        case Tag.ACCEPT:
            return pack(Tag.ACCEPT, number, {}, rng.choice([0, 3, 8, HUGE]))
        case Tag.DATA:
            return pack(Tag.DATA, number, stream, _near(rng, received), rng.randbytes(rng.randint(0, 5)))
        case Tag.EOF:
            return pack(Tag.EOF, number, stream, _near(rng, received))
        case Tag.ACK:
            return pack(Tag.ACK, number, stream, _near(rng, rng.randint(0, sent)))
        case Tag.CLOSE:
            return pack(Tag.CLOSE, number, {"code": 0})
        case Tag.RESET:
            return pack(Tag.RESET, number, rng.choice(["cancelled", "", "link_lost"]), "why", {})
        case Tag.BYE:
            return pack(Tag.BYE, 0, "shutting_down", "")
        case tag:
            return pack(tag, number, rng.randrange(5))


def aimed_hello(rng: random.Random, victim: Connection) -> bytes:
    """A hello that the victim takes, more often than not, with reports near the truth."""
    session = victim._session
    resumes = session._holds_state and rng.random() < 0.8
    generation = session._generation + (victim.leader and not resumes)
    reports = [_report(rng, channel) for channel in victim.channels.values() if rng.random() < 0.95]
    if rng.random() < 0.05:
        reports.append(junk(rng))
    return pack(
        Tag.HELLO,
        0,
        PROTOCOL_VERSION if rng.random() < 0.98 else 2,
        "hostile/1",
        session.name if rng.random() < 0.95 else b"another",
        generation if rng.random() < 0.9 else _near(rng, generation + rng.choice([1, -1])),
        resumes,
        rng.choice([0, session._next_number, rng.randrange(20)]),
        reports,
        {},
    )


def _report(rng: random.Random, channel: Channel) -> list[Any]:
    streams = [
        [
            number,
            rng.randint(sending.acked, sending.sent) + (rng.random() < 0.05),
            sending.end_sent and rng.random() < 0.5,
        ]
        for number, sending in channel.sending.items()
    ]
    standing = rng.randrange(5) if rng.random() < 0.1 else rng.choice([0, 1, 1, 1, 1, 2, 3])
    return [channel.number, standing, streams]


Speak = Callable[[random.Random, Connection, list[bytes]], bytes]


def _recorded(rng: random.Random, _victim: Connection, tape: list[bytes]) -> bytes:
    return rng.choice(tape)


WAYS: list[tuple[int, Speak]] = [
    (
        20,
        lambda rng, victim, _: b"".join(aimed_frame(rng, victim) for _ in range(rng.choice([1, 1, 1, 1, 3]))),
    ),
    (2, lambda rng, _, tape: change_frames(rng, rng.choice(tape))),
    (2, lambda rng, _, tape: change_bytes(rng, rng.choice(tape))),
    (1, _recorded),
    (1, lambda rng, _, tape: splice(rng, tape)),
    (1, lambda rng, _, tape: lie(rng, rng.choice(tape))),
    (1, lambda rng, victim, _: aimed_hello(rng, victim)),
    (1, lambda rng, victim, _: change_frames(rng, aimed_hello(rng, victim))),
    (1, lambda rng, victim, _: change_frames(rng, aimed_frame(rng, victim))),
    (1, lambda rng, *_: bomb(rng)),
    (1, lambda rng, *_: rng.randbytes(rng.randint(0, 40))),
    (1, lambda rng, *_: msgpack.packb(junk(rng))),
]
"""How often, relative to the others, a hostile peer speaks in which way."""


def speak(rng: random.Random, victim: Connection, tape: list[bytes]) -> bytes:
    """One link message of a hostile peer."""
    (way,) = rng.choices([way for _, way in WAYS], [weight for weight, _ in WAYS])
    return way(rng, victim, tape)


def speak_unseen(rng: random.Random, tape: list[bytes]) -> bytes:
    """The same of a peer that does not see the victim's state."""
    return rng.choice(_BLIND)(rng, tape)


_BLIND: list[Callable[[random.Random, list[bytes]], bytes]] = [
    lambda rng, tape: change_frames(rng, rng.choice(tape)),
    lambda rng, tape: change_bytes(rng, rng.choice(tape)),
    lambda rng, tape: lie(rng, rng.choice(tape)),
    splice,
    lambda rng, tape: rng.choice(tape),
    lambda rng, _: bomb(rng),
    lambda rng, _: rng.randbytes(rng.randint(0, 40)),
    lambda rng, _: bytes(msgpack.packb(junk(rng))),
]
