"""The frozen test vectors: what other implementations are held to, this one is too. They never change in a version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cloche_wire.connection import Connection
from cloche_wire.frames import Decoder, encode
from cloche_wire.limits import Limits

VECTORS: dict[str, Any] = json.loads(Path(__file__).with_name("vectors.json").read_text(encoding="utf-8"))
LIMITS = Limits()


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=lambda vector: vector["frame"])
def test_a_frame_is_encoded_and_decoded_as_recorded(vector: dict[str, Any]) -> None:
    encoded = bytes.fromhex(vector["hex"])
    (frame,) = Decoder(LIMITS).frames(encoded)
    assert type(frame).__name__.upper() == vector["frame"]
    fields = [value.hex() if isinstance(value, bytes) else value for value in frame]
    assert fields == vector["fields"]
    assert encode(frame, LIMITS) == encoded


def test_a_conversation_with_a_cut_link_goes_as_recorded() -> None:
    sides = {
        "leader": Connection(
            leader=True, software="leader", session=b"0123456789abcdef", info={"token": "t"}
        ),
        "follower": Connection(leader=False, software="follower"),
    }
    other = {"leader": "follower", "follower": "leader"}
    for step in VECTORS["conversation"]:
        if "do" in step:
            getattr(sides[step["do"]], step["move"])(*map(_argument, step["args"]))
        else:
            sent = sides[step["from"]].data_to_send()
            assert sent.hex() == step["hex"]
            events = sides[other[step["from"]]].feed(sent)
            assert [repr(event) for event in events] == step["events"]
    assert not any(side.channels or side.data_to_send() for side in sides.values())


def _argument(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("hex:"):
        return bytes.fromhex(value.removeprefix("hex:"))
    return value
