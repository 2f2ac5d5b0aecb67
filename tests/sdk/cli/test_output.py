"""What is written for people and for programs."""

from __future__ import annotations

import io
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cloche.cli import output
from cloche.cli.failures import PipeClosed

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _be_on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not in a fixture: between set-up and test, pytest puts its own stdout back.
    monkeypatch.setattr(sys, "stdout", _Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_columns_are_as_wide_as_they_need() -> None:
    assert output.table(("NAME", "ID"), [("a", "1"), ("longer", "22")]) == "NAME    ID\na       1\nlonger  22"


def test_at_a_terminal_a_table_fits_and_what_is_free_text_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    row = ("box", "sb_0123456789", "x" * 60)
    _be_on_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "30")
    output.show_table(("NAME", "ID", "PARAMS"), [row], free=("NAME", "PARAMS"))
    assert sys.stdout.getvalue().splitlines() == [  # type: ignore[union-attr]
        "NAME  ID             PARAMS",
        "box   sb_0123456789  xxxxxxxx…",
    ]


def test_elsewhere_a_table_is_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    output.show_table(("ID", "PARAMS"), [("1", "x" * 60)], free=("PARAMS",))
    assert capsys.readouterr().out.splitlines()[1] == "1   " + "x" * 60


def test_a_line_that_cannot_fit_is_cut_and_never_wrapped() -> None:
    lines = output.table(("NAME", "ID"), [("漢" * 9, "sb_0123456789")], free=("NAME",), most=16).splitlines()
    assert lines == ["NAME      ID", "漢漢漢…   sb_01…"]


def test_a_table_without_rows_is_its_headings() -> None:
    assert output.table(("NAME", "ID"), []) == "NAME  ID"


def test_a_cell_stays_in_its_place() -> None:
    assert output.table(("A",), [("1\n2\t3",)]) == "A\n1\\n2\\t3"
    assert output.properties([("a", "1\nb  2")]) == "a  1\\nb  2"


def test_properties_are_one_a_line() -> None:
    assert output.properties([("a", "1"), ("long", "2\033[2J")]) == "a     1\nlong  2\\x1b[2J"


def test_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    _be_on_terminal(monkeypatch)
    assert output.table(("A", "STATE", "B"), [("x", "running", "y")]) == (
        "\033[1mA  STATE    B\033[0m\nx  \033[32mrunning\033[0m  y"
    )


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_whose_user_wants_no_colours_gets_none(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    _be_on_terminal(monkeypatch)
    monkeypatch.setenv(name, value)
    assert output.bold("x") == "x"


def test_text_from_elsewhere_cannot_paint_on_a_terminal() -> None:
    assert output.clean("a\033]0;title\007b\rc\x9b1m") == "a\\x1b]0;title\\x07b\\rc\\x9b1m"
    assert output.clean("line\n\ttab é 漢") == "line\n\ttab é 漢"
    assert output.clean_line("adm\u3164in\u200b") == r"adm\u3164in\u200b"
    assert output.clean("\n\u0301a") == "\n\\u0301a"


def test_what_is_said_in_passing_goes_to_stderr_under_our_name(capsys: pytest.CaptureFixture[str]) -> None:
    output.say("hello\033[2J\ncloche: forged\t")
    assert capsys.readouterr() == ("", "cloche: hello\\x1b[2J\\ncloche: forged\\t\n")


def test_json_is_readable_and_an_event_is_one_canonical_line(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_json({"b": NOW, "a": "é"})
    assert capsys.readouterr().out == '{\n  "b": "2026-01-02T03:04:05.000000Z",\n  "a": "é"\n}\n'
    output.show_json({"b": 1, "a": {"d": 1, "c": "é"}}, one_line=True)
    assert capsys.readouterr().out == '{"a":{"c":"é","d":1},"b":1}\n'
    output.show_json([])
    assert json.loads(capsys.readouterr().out) == []


def test_bytes_are_written_untouched(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    output.show_bytes(b"\xff\x00\r\n")
    assert capfdbinary.readouterr().out == b"\xff\x00\r\n"


def test_a_reader_who_wants_no_more_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    with pytest.raises(PipeClosed):
        output.show("x")


def test_an_output_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(OSError, match="cannot write the output: No space left on device"):
            output.show("x")
        full.buffer.raw.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (3 << 19, "1.5 MiB"),
        (5 << 30, "5.0 GiB"),
        (9 << 50, "9216.0 TiB"),
    ],
)
def test_sizes_for_people(count: int, text: str) -> None:
    assert output.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (7199, "1 h 59 min"),
        (7200, "2 h"),
        (200000, "2 d 7 h"),
        (86460, "1 d"),
    ],
)
def test_durations_for_people(seconds: float, text: str) -> None:
    assert output.span(seconds) == text


def test_times_for_people_are_relative() -> None:
    assert output.age(NOW - timedelta(minutes=3), NOW) == "3 min ago"
    assert output.age(NOW + timedelta(hours=2), NOW) == "in 2 h"
    assert output.age(None) == "-"
    assert output.age(datetime.now(UTC)) == "0 s ago"


@pytest.mark.parametrize("one_line", [False, True])
def test_json_is_escaped_at_a_terminal_and_as_it_is_elsewhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, one_line: bool
) -> None:
    value = {"a": "\x9b2J\x7f\u202e\u034f\u3164 \U0001f600 é\ud800"}
    output.show_json({"a": "\x9b\u202e"}, one_line=one_line)
    assert "\x9b\u202e" in capsys.readouterr().out
    _be_on_terminal(monkeypatch)
    output.show_json(value, one_line=one_line)
    text = sys.stdout.getvalue()  # type: ignore[union-attr]
    assert json.loads(text) == value
    assert r"\u009b2J\u007f\u202e\u034f\u3164 😀 é\ud800" in text


def test_what_is_said_goes_elsewhere_for_as_long_as_that_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told: list[tuple[str, bool]] = []
    with output.said_elsewhere(lambda *said: told.append(said)):
        output.say("lost the hub", lasts=True)
        output.say("two wait")
    output.say("here again")
    assert told == [("lost the hub", True), ("two wait", False)]
    assert capsys.readouterr().err == "cloche: here again\n"
