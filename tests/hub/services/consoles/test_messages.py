"""The form of what is said about a console."""

from __future__ import annotations

import msgpack

from cloche_hub.domain.console import ViewerMode
from cloche_hub.ports import Size
from cloche_hub.services.consoles import messages as messages
from tests.hub.domain.examples import console, viewer


def test_each_message_is_a_map_of_its_word() -> None:
    ann = viewer(1, mode=ViewerMode.DRIVING)
    said = [
        messages.screen(Size(3, 4), lost_bytes=5),
        messages.output(b"\xff"),
        messages.live(7),
        messages.resized(Size(5, 6)),
        messages.viewers(console(viewers=(ann,), driver="v1")),
        messages.asked(ann),
        messages.notice("ann drives now"),
        messages.signalled("TERM"),
    ]
    assert [msgpack.unpackb(packed) for packed in said] == [
        {"screen": {"rows": 3, "cols": 4, "lost_bytes": 5}},
        {"output": b"\xff"},
        {"live": 7},
        {"resize": {"rows": 5, "cols": 6}},
        {"viewers": [ann.fields()], "driver": "v1"},
        {"asked": ann.fields()},
        {"notice": "ann drives now"},
        {"signal": "TERM"},
    ]


def test_a_long_screen_comes_in_pieces() -> None:
    data = bytes(range(256)) * 300
    pieces = [msgpack.unpackb(packed)["output"] for packed in messages.outputs(data)]
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) == messages.PIECE
    assert list(messages.outputs(b"")) == []
