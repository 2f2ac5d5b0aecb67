"""What is done to honest values and texts before they reach a border. `hostile` does it to whole frames.

Values stay within what a decoder lets through: numbers of 64 bits, texts that are UTF-8, keys that are text or bytes.
"""

from __future__ import annotations

import random
from typing import Any

_DIGITS = "9" * 5000


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 4096, -(1 << 63), (1 << 63) - 1, (1 << 64) - 1),
    *(0.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf")),
    *(
        "",
        ".",
        "..",
        "/",
        "a/b",
        "/..",
        "\0",
        "a\0b",
        "a=b",
        "é",
        "\x1b[2J",
        "a\nb",
        "\u202e",
        "\u0663",
        "x" * 5000,
    ),
    *(_DIGITS, "-1", "1e9", "NaN", "tok_", "sb_", "é" * 4000, " ", "*" * 200, "TERM", "SIGKILL", "9", "65"),
    *(b"", b"\xff", b"/", b"a/b", b"..", b"x" * 300, b"{}", b"null", b'"\\ud800"', b"[" * 3000),
    *([], [[]], [None], [""], ["a", 1], ["x"] * 5000, _nested(200), [{}], [b""]),
    *({}, {"": ""}, {"a": 1}, {b"k": b"v"}, {"a": {}}, {str(n): "" for n in range(600)}, {"A": "\0"}),
)
"""Values that are seldom thought of, one of each kind at least."""

TOKENS: tuple[bytes, ...] = (
    *(b"NaN", b"-Infinity", b"1e999", b"-0", b"9" * 25, b"9" * 5000, b"0x" + b"f" * 5000, b"1.5"),
    *(b"\\ud800", b"\xed\xa0\x80", b"\xff", b"\0", b"\xef\xbb\xbf", b"\\u0000"),
    *(b"[" * 3000, b'{"a":' * 1500, b"a." * 40 + b"b = 1\n", b'"""', b"'''", b"[[rule]]\n", b"[rule]\n"),
    *(b"{}", b"[]", b'"a":1,', b'"', b",", b":", b"=", b"\n", b"null", b"true", b'{"a":1,"a":2}'),
    *(b"inf", b"nan", b"1979-05-27T07:32:00Z", b"x" * 70_000, b'"' + b"x" * 140_000 + b'"'),
    *(b"\xc1", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\x91" * 2000),
    *(b"\xc7\x01\x05x", b"\xd7\xff" + b"\xff" * 8, b"\x81\x91\x01\x01", b"\x81\xa6resize\x80", b"\xc0"),
)
"""Pieces of text and of MessagePack that readers stumble over."""


def change_value(rng: random.Random, value: Any) -> Any:
    """A copy of an honest value in which one to three things are wrong."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        value = _changed(rng, value)
    return value


def change_params(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """The same, still with what the decoder guarantees of a frame's map: that it is one, and its keys are text."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        changed = _changed_map(rng, params) if params else {"extra": rng.choice(ODD)}
        params = {key: value for key, value in changed.items() if type(key) is str}
    return params


def _changed(rng: random.Random, value: Any) -> Any:
    match value:
        case dict() if value and rng.random() < 0.95:
            return _changed_map(rng, value)
        case list() if value and rng.random() < 0.6:
            at = rng.randrange(len(value))
            match rng.randrange(4):
                case 0:
                    return [*value[:at], *value[at + 1 :]]
                case 1:
                    return value[:9] * rng.choice([2, 600])
                case _:
                    return [*value[:at], _changed(rng, value[at]), *value[at + 1 :]]
        case str() if value and rng.random() < 0.4:
            return _changed_text(rng, value)
        case bytes() if rng.random() < 0.7:
            return change_text(rng, value)
        case int() if type(value) is int and rng.random() < 0.4:
            return min(max(value + rng.choice([-1, 1, 1 << 16, 1 << 32]), -(1 << 63)), (1 << 64) - 1)
    return rng.choice(ODD)


def _changed_map(rng: random.Random, value: dict[Any, Any]) -> dict[Any, Any]:
    key = rng.choice(list(value))
    rest = {name: field for name, field in value.items() if name != key}
    match rng.randrange(12):
        case 0:
            return rest
        case 1:
            return {**value, rng.choice(["extra", "", "PATH", b"key", "é", "x" * 200]): rng.choice(ODD)}
        case 2:
            return {**rest, rng.choice([f"{key}_", "", b"k"]): value[key]}
        case 3 | 4:
            return {**value, key: value[rng.choice(list(value))]}
        case 5 | 6 | 7:
            return {**value, key: rng.choice(ODD)}
        case _:
            return {**value, key: _changed(rng, value[key])}


def _changed_text(rng: random.Random, text: str) -> str:
    at = rng.randint(0, len(text))
    match rng.randrange(4):
        case 0:
            return (
                text[:at]
                + rng.choice(["\0", "/", " ", "\n", "é", "\U0001f648", "=", "..", "\x7f"])
                + text[at:]
            )
        case 1:
            return text[:at]
        case 2:
            return text[:300] * rng.choice([2, 20, 300])
        case _:
            return text.swapcase()


def change_text(rng: random.Random, text: bytes) -> bytes:
    """Bytes of an honest text or stream with pieces changed, lost, doubled, or put in."""
    data = bytearray(text)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randint(0, len(data))
        match rng.randrange(6):
            case 0 if data:
                data[at % len(data)] ^= 1 << rng.randrange(8)
            case 1:
                del data[at : at + rng.randint(1, 9)]
            case 2:
                data[at:at] = data[at : at + rng.randint(1, 40)]
            case 3:
                del data[at:]
            case _:
                data[at:at] = rng.choice(TOKENS)
    return bytes(data)
