"""The frozen test vectors: what other implementations are held to, this one is too. They never change in a version.

How to read `vectors.json`: `hex:…` stands for bytes. A conversation is a list of steps: a side makes a move; a side's
next message must be exactly this, and the other side tells exactly these events of it (`lost` if it never arrives);
a side is replaced by a fresh one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cloche_wire.connection import Connection
from cloche_wire.errors import CodedError, Undecodable, error_from_code
from cloche_wire.events import Event
from cloche_wire.frames import Decoder, encode
from cloche_wire.framing import Framing
from cloche_wire.limits import Limits

VECTORS: dict[str, Any] = json.loads(Path(__file__).with_name("vectors.json").read_text(encoding="utf-8"))
LIMITS = Limits()


def plain(value: Any) -> Any:
    """A value of the protocol as JSON has it."""
    if isinstance(value, bytes):
        return f"hex:{value.hex()}"
    if isinstance(value, CodedError):
        return {"code": value.code, "message": value.message, "details": plain(value.details)}
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def from_plain(value: Any) -> Any:
    """The other way round, for the arguments of a move."""
    if isinstance(value, str) and value.startswith("hex:"):
        return bytes.fromhex(value.removeprefix("hex:"))
    if isinstance(value, dict) and value.keys() == {"code", "message", "details"}:
        return error_from_code(value["code"], value["message"], value["details"])
    return value


def told(event: Event) -> dict[str, Any]:
    """An event as JSON has it, but for what both sides of a conversation know anyway: whose error it is, what was unsaid."""
    known = ("by_peer", "unacknowledged")
    fields = {key: plain(value) for key, value in event._asdict().items() if key not in known}
    return {"event": type(event).__name__, **fields}


def fresh(name: str) -> Connection:
    leader = name == "leader"
    return Connection(
        leader=leader,
        software=name,
        session=b"0123456789abcdef" if leader else b"",
        info={"token": "t"} if leader else {},
    )


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=lambda vector: vector["frame"])
def test_a_frame_is_encoded_and_decoded_as_recorded(vector: dict[str, Any]) -> None:
    encoded = bytes.fromhex(vector["hex"])
    (frame,) = Decoder(LIMITS).frames(encoded)
    assert type(frame).__name__.upper() == vector["frame"]
    assert [plain(value) for value in frame] == vector["fields"]
    assert encode(frame, LIMITS) == encoded


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["why"])
def test_a_message_that_is_no_frames_is_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(Undecodable):
        list(Decoder(LIMITS).frames(bytes.fromhex(vector["hex"])))


@pytest.mark.parametrize("vector", VECTORS["conversations"], ids=lambda vector: vector["name"])
def test_a_conversation_goes_as_recorded(vector: dict[str, Any]) -> None:
    sides = {name: fresh(name) for name in ("leader", "follower")}
    other = {"leader": "follower", "follower": "leader"}
    for step in vector["steps"]:
        if "do" in step:
            getattr(sides[step["do"]], step["move"])(*map(from_plain, step["args"]))
        elif "fresh" in step:
            sides[step["fresh"]] = fresh(step["fresh"])
        else:
            sent = sides[step["from"]].data_to_send()
            assert sent.hex() == step["hex"]
            if "lost" not in step:
                assert [told(event) for event in sides[other[step["from"]]].feed(sent)] == step["events"]
    assert not any(side.channels or side.data_to_send() for side in sides.values())


@pytest.mark.parametrize("vector", VECTORS["streams"], ids=lambda vector: vector["name"])
def test_a_byte_stream_is_cut_into_messages_as_recorded(vector: dict[str, Any]) -> None:
    framing = Framing(leader=vector["leader"], max_message=1000, in_step=vector["in_step"])
    if "nonce" in vector:
        assert framing.sync(bytes.fromhex(vector["nonce"])).hex() == vector["sends"]
    for step in vector["steps"]:
        received = bytes.fromhex(step["receives"])
        if "out_of_step" in step:
            with pytest.raises(Undecodable):
                framing.feed(received)
            continue
        messages, reply = framing.feed(received)
        assert [message.hex() for message in messages] == step["messages"]
        assert (None if reply is None else reply.hex()) == step["begins"]


def test_a_message_goes_into_a_byte_stream_as_recorded() -> None:
    for vector in VECTORS["wrapped"]:
        message = bytes.fromhex(vector["message"])
        assert Framing(leader=True, max_message=1000).wrap(message).hex() == vector["hex"]
