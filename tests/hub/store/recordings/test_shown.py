"""What a recording has shown, as lines."""

from __future__ import annotations

import json

import pytest

from cloche_hub.store.recordings.shown import LINE_CHARS, Lines, shown_lines


def lines(*pieces: str) -> list[tuple[float, str]]:
    """The lines of output whose pieces come one second after another."""
    made = Lines()
    ended = [line for at_s, piece in enumerate(pieces) for line in made.feed(at_s, piece)]
    return [*ended, *made.end()]


def texts(*pieces: str) -> list[str]:
    return [text for _, text in lines(*pieces)]


def test_a_line_has_the_time_when_it_began() -> None:
    assert lines("one\r\ntw", "o\r\n", "three") == [(0, "one"), (0, "two"), (2, "three")]


STYLED = "\x1b[1;38;5;3mred\x1b[0m \x1b]0;title\x07and\x1b]8;;http://x\x1b\\ link\x1b]8;;\x1b\\ \x1bP1$r\x1b\\\x1b(Bend\x1b="


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_sequences_are_left_out_however_they_are_cut(size: int) -> None:
    assert texts(*(STYLED[start : start + size] for start in range(0, len(STYLED), size))) == [
        "red and link end"
    ]


def test_what_moves_elsewhere_ends_a_line() -> None:
    assert texts("left\x1b[5;40Hright\x1b[2Bbelow\x1bEnext\x1b[Kstill") == [
        "left",
        "right",
        "below",
        "nextstill",
    ]


def test_columns_forward_are_a_space() -> None:
    assert texts("some\x1b[Cwords\tapart") == ["some words apart"]


def test_what_is_written_over_is_a_line_of_its_own() -> None:
    assert texts("10%\r20%\r\n") == ["10%", "20%"]


def test_a_step_back_takes_a_character_away() -> None:
    assert texts("\bls -x\b\b", "\b-l", "s\b\b\b\b\b\b\b\b\b\bq") == ["q"]
    assert texts("ls -x\b-l") == ["ls --l"]


def test_what_is_no_sequence_is_text() -> None:
    assert texts("\x1b\x1b[31ma", "\x1b\nb", "\x1b[1\x00c") == ["a", "b[1c"]


def test_a_sequence_without_an_end_hides_no_more_than_a_little() -> None:
    assert "found" in "".join(texts("\x1b]0;" + "x" * 5000, "found"))


def test_a_long_line_is_several() -> None:
    assert [len(text) for text in texts("x" * LINE_CHARS, "y" * 10)] == [LINE_CHARS, 10]


def test_an_asciicasts_output_and_markers_are_shown() -> None:
    events = [[0.5, "o", "one\r\n"], [1, "r", "80x24"], [2, "m", "mark"], [3, "o", "two"]]
    cast = [b'{"version": 2}', *(json.dumps(event).encode() for event in events)]
    assert [line for line in shown_lines(cast) if line] == [(0.5, "one"), (2, "mark"), (3, "two")]
    assert list(shown_lines(cast)).count(None) == 4
