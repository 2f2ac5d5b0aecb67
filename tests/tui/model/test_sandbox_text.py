"""What is written of sandboxes: in columns, in the lines of detail, and of what dies with them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cloche_tui.model.roles import Role, Span, plain_text
from cloche_tui.model.sandbox_rows import Attention, Row
from cloche_tui.model.sandbox_text import MOST_NAMED, cells, details, losses, state_span, waits
from tests.tui.sandbox_values import NOW, sandbox, usage


def _cells(row: Row) -> dict[str, str]:
    return {key: plain_text(cell) for key, cell in cells(row, NOW).items()}


def test_every_column_of_a_sandbox_says_its_part() -> None:
    row = Row(
        sandbox("box", labels={"tier": "web", "gpu": ""}),
        usage(cpu=37.4, memory=64 << 20),
        (0.0, 50.0, 37.4),
        (1.0, 2.0),
        Attention(2, 3, ("ann",), 1, ("bob",)),
        is_marked=True,
    )
    assert _cells(row) == {
        "mark": "✓",
        "state": "● running",
        "name": "box",
        "waits": "⚑ 1 ? bob",
        "cpu": "37%",
        "cpu_bars": "     ▁▅▃",
        "memory": "64 MiB",
        "memory_bars": "      ▁▁",
        "age": "3m",
        "lease": "1h00m",
        "accelerator": "tcg",
        "viewers": "3 ▶ ann",
        "recipe": "python/small",
        "owner": "ann",
        "labels": "gpu tier=web",
    }


def test_what_is_not_known_yet_is_no_zero() -> None:
    shown = _cells(Row(sandbox(state="creating", accelerator=None, expires_at=None)))
    assert {shown[key] for key in ("cpu", "memory", "lease", "accelerator", "viewers")} == {"–"}
    assert shown["cpu_bars"] == " " * 8
    assert shown["waits"] == shown["mark"] == shown["labels"] == ""


def test_the_lease_of_a_sandbox_that_has_ended_runs_no_more() -> None:
    assert _cells(Row(sandbox(state="failed", ended_at=NOW)))["lease"] == "–"


def test_a_sandbox_that_went_while_the_table_stands_still_is_said_to_be_gone() -> None:
    assert _cells(Row(sandbox(), is_gone=True))["state"] == "○ gone"
    assert plain_text(details(Row(sandbox(), is_gone=True), NOW)[0]) == "box  ○ gone"


@pytest.mark.parametrize(
    ("state", "span"),
    [
        ("failed", Span("✗ failed", Role.BAD)),
        ("removing", Span("◌ removing", Role.WARNING)),
        ("frozen", Span("? frozen", Role.PLAIN)),
    ],
)
def test_a_state_is_a_symbol_and_a_word(state: str, span: Span) -> None:
    assert state_span(state) == span


@pytest.mark.parametrize(
    ("percent", "span"),
    [
        (3, Span("3%", Role.MUTED)),
        (50, Span("50%")),
        (90, Span("!90%", Role.WARNING)),
        (None, Span("–", Role.MUTED)),
    ],
)
def test_a_load_that_is_high_stands_out(percent: float | None, span: Span) -> None:
    assert cells(Row(sandbox(), usage(cpu=percent)), NOW)["cpu"] == (span,)


def test_a_sparkline_of_several_processors_keeps_its_highest_in_sight() -> None:
    assert _cells(Row(sandbox(), cpu=(100.0, 200.0)))["cpu_bars"] == "      ▅█"


def test_those_who_only_look_are_counted() -> None:
    assert _cells(Row(sandbox(), attention=Attention(viewers=2)))["viewers"] == "2"


def test_what_waits_is_told_by_kind() -> None:
    assert waits(Attention(approvals=2)) == (Span("⚑ 2", Role.WARNING),)
    assert waits(Attention(asks=("bob", "eve"))) == (Span("? bob, eve", Role.ACCENT),)


def test_what_others_wrote_cannot_leave_its_cell() -> None:
    row = Row(sandbox("box", labels={"a": "b\x1b[2J"}, owner="an\nn"))
    assert _cells(row)["labels"] == r"a=b\x1b[2J"
    assert _cells(row)["owner"] == r"an\nn"


def test_the_details_say_all_that_is_known() -> None:
    row = Row(
        sandbox(
            labels={"team": "blue"},
            env_names=("API",),
            timings={"image": 0.001, "clone": 0.09, "become": 0.1},
        ),
        usage(),
        attention=Attention(2, 1, ("ann",), 1, ("bob",)),
    )
    assert [plain_text(each) for each in details(row, NOW)] == [
        "box  ● running",
        "id sb_box   recipe python/small   on tcg   owner ann",
        "expires in 1h00m   created 3m ago   lease 1h00m   written 1.0 MiB",
        "consoles 2   driven by ann   calls that wait 1   ask to drive bob",
        "labels team=blue   env API",
        "image abababababab   took clone 0.09 + become 0.10 s",
    ]


def test_the_details_of_a_failed_sandbox_say_why_and_when() -> None:
    info = sandbox(
        state="failed",
        image=None,
        accelerator=None,
        end_reason="the machine\n  ended",
        ended_at=NOW - timedelta(seconds=5),
        timings={},
    )
    assert [plain_text(each) for each in details(Row(info), NOW)] == [
        "box  ✗ failed: the machine ended",
        "id sb_box   recipe python/small   owner ann",
        "ended 5s ago   created 3m ago   lease 1h00m",
        "consoles 0",
    ]


def test_a_sandbox_without_a_lease_yet_says_nothing_of_its_end() -> None:
    shown = details(Row(sandbox(state="creating", expires_at=None)), NOW)
    assert plain_text(shown[2]) == "created 3m ago   lease 1h00m"


def test_what_dies_with_a_sandbox_is_named() -> None:
    row = Row(sandbox(), attention=Attention(2, 1, ("ann", "bob"), 1))
    assert [plain_text(each) for each in losses([row])] == [
        "box ● running  of ann  2 open consoles, driven by ann, bob, 1 waiting call"
    ]
    assert [plain_text(each) for each in losses([Row(sandbox())])] == ["box ● running  of ann"]


def test_what_dies_with_several_is_summed_up() -> None:
    rows = [
        Row(sandbox("a"), attention=Attention(1, approvals=2)),
        Row(sandbox("b"), attention=Attention(1)),
        Row(sandbox("c")),
    ]
    shown = [plain_text(each) for each in losses(rows)]
    assert [text.split()[0] for text in shown] == ["a", "b", "c", "in"]
    assert shown[3] == "in all 2 open consoles and 2 waiting calls"
    assert len(losses(rows[2:] * 2)) == 2


def test_of_very_many_the_first_are_named_and_the_others_counted() -> None:
    shown = losses([Row(sandbox(f"box{number}")) for number in range(MOST_NAMED + 40)])
    assert len(shown) == MOST_NAMED + 1
    assert plain_text(shown[-1]).startswith("and 40 more: box10, box11")
    assert plain_text(shown[-1]).endswith("…")
