"""Output as nobody means it: pieces of sequences, strings, broken characters and text, in any order."""

from __future__ import annotations

from random import Random

_INTRODUCERS = (
    b"\x1b[",
    b"\x1b]",
    b"\x1bP",
    b"\x1b_",
    b"\x1b^",
    b"\x1bX",
    b"\x1b",
    b"\x9b",
    b"\xc2\x9b",
    b"\xc2\x90",
)
_PARAMETERS = (
    b"0",
    b"1",
    b"2",
    b"4",
    b"5",
    b"9",
    b"38",
    b"48",
    b"47",
    b"69",
    b"99",
    b"1049",
    b"2026",
    b"2027",
    b"999999",
)
_SIGNS = tuple(bytes([sign]) for sign in b";:?<=>$ !'\"*+#%()")
_CONTROLS = (b"\x07", b"\x1b\\", b"\x18", b"\r", b"\n", b"\t", b"\x08", b"\x0e", b"\x0f", b"\x00", b"\x7f")
_FINALS = tuple(bytes([final]) for final in range(0x40, 0x7F))
_TEXTS = (
    *(
        b"hello",
        "日".encode(),
        "e\u0301".encode(),
        "👩\u200d💻".encode(),
        "\u0301".encode(),
        "❤\ufe0f".encode(),
    ),
    *(b"\xff", b"\xe6\x97", b"\xf0\x9f", b"8;;http://x", b"2;title", b"52;c;aGk=", b"11;?", b"$qm"),
)
_SEQUENCES = (
    *(b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[38;5;1m", b"\x1b[44m", b"\x1b[2;3r", b"\x1b[?69h", b"\x1b[3;6s"),
    *(
        b"\x1b[?6h",
        b"\x1b[4h",
        b"\x1b7",
        b"\x1b8",
        b"\x1b[?7l",
        b"\x1b]8;;http://a\x07",
        b"\x1b[3J",
        b"\x1bc",
    ),
)
_PIECES = _INTRODUCERS + _PARAMETERS + _SIGNS + _CONTROLS + _FINALS + _TEXTS * 2 + _SEQUENCES


def soup(chance: Random, pieces: int) -> bytes:
    """So many pieces, as chance has it."""
    return b"".join(chance.choice(_PIECES) for _ in range(pieces))
