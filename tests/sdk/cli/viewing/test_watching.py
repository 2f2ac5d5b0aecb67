"""What the keys of who only watches mean."""

from __future__ import annotations

import pytest

from cloche.cli.viewing.watching import KEYS, Wish, wish_of
from cloche.cli.viewing.way_out import DetachKey


@pytest.mark.parametrize(
    ("typed", "wish"),
    [
        (b"a", Wish.ASK),
        (b"t", Wish.TAKE),
        (b"q", Wish.LEAVE),
        (b"\x03", Wish.LEAVE),
        (b"\x11", Wish.LEAVE),
        (b"\x1d", Wish.TYPE),
        (b"x", Wish.TYPE),
        (b"taq", Wish.TYPE),
        (b"\r", Wish.TYPE),
        (b"\x1b[A", None),
        (b"\x1b[<0;3;4M", None),
        (b"\x1b[Mtqa", None),
        (b"\x1b", None),
        (b"", None),
    ],
)
def test_one_key_alone_means_something(typed: bytes, wish: Wish | None) -> None:
    assert wish_of(typed, DetachKey("q")) is wish


def test_what_a_person_is_told_are_the_keys_there_are() -> None:
    told = {part.split()[0]: part.split()[1] for part in KEYS.split(", ")}
    wishes = {key: wish_of(key.encode(), DetachKey("]")) for key in told}
    assert (told, wishes) == (
        {"a": "asks", "t": "takes", "q": "leaves"},
        {"a": Wish.ASK, "t": Wish.TAKE, "q": Wish.LEAVE},
    )
