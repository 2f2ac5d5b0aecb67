"""asciicast text: what its format says of it, times, UTF-8 across pieces, and secrets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cloche_hub.store.recordings.cast import (
    EVENT_BYTES,
    MARKER_CHARS,
    CastEvents,
    Cut,
    Marker,
    Move,
    Output,
    Resize,
    header_line,
    masked,
)
from tests.support.casts import header, parse_cast, shown


def written(*moves: Move, secrets: Sequence[bytes] = ()) -> bytes:
    events = CastEvents(secrets)
    lines = [line for move in moves for line in events.lines(move)]
    return b"".join([header_line(header()), *lines, *events.end()])


def test_a_recording_is_a_good_asciicast() -> None:
    text = written(Output(0.25, b"\x1b[1mhi\r\n"), Resize(1, 30, 100), Marker(2, "here"), Cut(3, "enough"))
    told, events = parse_cast(text)
    assert told == {
        "version": 2,
        "width": 80,
        "height": 24,
        "timestamp": 1767323045,
        "title": "shell",
        "env": {"TERM": "xterm-256color"},
        "cloche": {
            "recording": "rec_7k2m9qx4tn0c",
            "kind": "console",
            "of": "con_7k2m9qx4tn0c",
            "sandbox": "sb_1",
            "sandbox_name": "mossy-acorn",
            "owner": "ann",
            "started_at": "2026-01-02T03:04:05.678901Z",
        },
    }
    assert events == [
        (0.25, "o", "\x1b[1mhi\r\n"),
        (1, "r", "100x30"),
        (2, "m", "here"),
        (3, "m", "cut here: enough"),
    ]


def test_a_command_is_told_as_a_shell_reads_it() -> None:
    told, _ = parse_cast(header_line(header(command=("sh", "-c", "echo 'hi'"))))
    assert told["command"] == "sh -c 'echo '\"'\"'hi'\"'\"''"


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_characters_that_pieces_cut_apart_are_whole(size: int) -> None:
    text = "aä€😀\x1b[31m漢".encode()
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert shown(written(*(Output(n, piece) for n, piece in enumerate(pieces)))) == text.decode()


def test_what_is_no_utf_8_is_shown_as_such() -> None:
    assert shown(written(Output(0, b"a\xffb\xe2\x82"))) == "a\ufffdb\ufffd"
    assert shown(written(Output(0, b"\xe2\x82"), Output(1, b"x"))) == "\ufffdx"


def test_lines_end_where_events_do_whatever_is_shown() -> None:
    text = "a\u2028b\u2029c\x85d\n\x0b\x0c\x1c\x1d\x1e\x7f\0"
    assert shown(written(Output(0, text.encode()))) == text
    parse_cast(written(Marker(0, f"half a pair: \ud800 {text}")))


def test_much_output_is_many_events_of_the_same_time() -> None:
    _, events = parse_cast(written(Output(1.5, b"x" * (2 * EVENT_BYTES + 1))))
    assert [(at_s, len(data)) for at_s, _, data in events] == [
        (1.5, EVENT_BYTES),
        (1.5, EVENT_BYTES),
        (1.5, 1),
    ]


def test_markers_are_not_long() -> None:
    _, events = parse_cast(written(Marker(0, "x" * 9999)))
    assert len(events[0][2]) == MARKER_CHARS


def test_a_secret_is_masked_and_every_piece_keeps_its_time() -> None:
    moves = [Output(1, b"key: hun"), Output(2, b"ter"), Output(3, b"2! and hu"), Output(4, b"t")]
    _, events = parse_cast(written(*moves, secrets=[b"hunter2!"]))
    assert events == [
        (1, "o", "key: "),
        (1, "o", "***"),
        (2, "o", "***"),
        (3, "o", "** and "),
        (3, "o", "hu"),
        (4, "o", "t"),
    ]


def test_what_is_held_back_comes_before_what_happens_next() -> None:
    _, events = parse_cast(
        written(
            Output(1, b"hunt"),
            Resize(2, 1, 2),
            Output(3, b"hu"),
            Marker(4, "hunter2!"),
            secrets=[b"hunter2!"],
        )
    )
    assert events == [(1, "o", "hunt"), (2, "r", "2x1"), (3, "o", "hu"), (4, "m", "********")]


def test_a_headers_words_are_masked() -> None:
    told = masked(header(title="use hunter2!", command=("login", "--key=hunter2!")), [b"hunter2!"])
    assert (told.title, told.command) == ("use ********", ("login", "--key=********"))
    assert masked(header(), [b"hunter2!"]) == header()


def test_the_duration_is_the_time_of_the_last_event() -> None:
    events = CastEvents()
    assert events.duration_s == 0
    for move in (Output(1, b"x"), Resize(2.5, 1, 1)):
        list(events.lines(move))
    assert events.duration_s == 2.5
