"""Recordings read from asciicast v2, in pieces."""

from __future__ import annotations

import json

import pytest

from cloche.cli.viewing.casts import CastLine, CastReader, Header, Marked, Shown, SizeChanged, clock
from cloche.errors import BadRequest

HEADER = b'{"version": 2, "width": 80, "height": 24, "title": "box/1"}\n'


def _read(*pieces: bytes) -> list[CastLine]:
    reader = CastReader()
    return [line for piece in pieces for line in reader.read(piece)] + list(reader.end())


def test_a_recording_is_a_header_and_what_happened() -> None:
    text = HEADER + b"".join(
        json.dumps(event).encode() + b"\n"
        for event in (
            [0.5, "o", "hi\u001b[m\r\n"],
            [1, "r", "100x30"],
            [2.0, "i", "typed"],
            [2.5, "m", "cut: the disk is full"],
            [3, "x", "what a newer version has"],
        )
    )
    expected = [
        Header(24, 80, "box/1"),
        Shown(0.5, b"hi\x1b[m\r\n"),
        SizeChanged(1.0, 30, 100),
        Marked(2.5, "cut: the disk is full"),
    ]
    assert _read(text) == expected
    for cut in range(len(text)):
        assert _read(text[:cut], text[cut:]) == expected
    assert _read(text.rstrip(b"\n")) == expected


def test_time_does_not_go_back() -> None:
    assert _read(HEADER, b'[5, "o", "a"]\n[3, "o", "b"]\n')[1:] == [Shown(5.0, b"a"), Shown(5.0, b"b")]


def test_a_title_may_be_missing_and_a_size_is_bounded() -> None:
    assert _read(b'{"version": 2, "width": 99999, "height": 1}\n') == [Header(1, 1000, "")]
    assert _read(HEADER, b'[0, "r", "9999x2"]\n')[1:] == [SizeChanged(0.0, 2, 1000)]


@pytest.mark.parametrize(
    "line",
    [
        b"no json",
        b"[]",
        b"{}",
        b'{"version": 1, "width": 80, "height": 24}',
        b'{"version": 2, "width": 0, "height": 24}',
        b'{"version": 2, "width": "80", "height": 24}',
        b'{"version": 2, "width": true, "height": 24}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_what_is_no_recording_is_refused(line: bytes) -> None:
    with pytest.raises(BadRequest, match="line 1 is not as asciicast v2 has it"):
        _read(line + b"\n")


@pytest.mark.parametrize(
    "line",
    [b"1", b"[1]", b'[1, "o"]', b'["a", "o", "x"]', b'[1, "o", 2]', b'[1, "r", "80"]', b'[1, "r", "0x5"]', b'[NaN, "o", ""]'],
)  # fmt: skip
def test_an_event_that_is_malformed_is_named_by_its_line(line: bytes) -> None:
    with pytest.raises(BadRequest, match="line 3 is not as asciicast v2 has it"):
        _read(HEADER, b'[0, "o", "fine"]\n', line + b"\n")


def test_a_line_without_an_end_is_refused() -> None:
    with pytest.raises(BadRequest, match="a line has no end"):
        _read(b"x" * (10 << 20), b"x" * (10 << 20))


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "0:00"), (61.9, "1:01"), (3600, "1:00:00"), (36_061, "10:01:01")]
)
def test_a_place_in_a_recording_is_told_as_people_write_it(seconds: float, told: str) -> None:
    assert clock(seconds) == told
