"""What stands in a row of the audit, in an event in full, and in the line below the list."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cloche_tui.model.roles import Role, plain_text
from cloche_tui.model.trail import Trail, row_of
from cloche_tui.model.trail_text import cells, event_lines, place_of, status
from tests.tui.trail_values import NOW, all_of_them, event, part

NAMES = {"tok_1": "laptop", "sb_1": "box"}


def texts(of: object) -> dict[str, str]:
    assert isinstance(of, dict)
    return {key: plain_text(line) for key, line in of.items()}


def test_a_row_says_who_did_what_where_by_name() -> None:
    at = NOW.astimezone()
    assert texts(cells(row_of(event(7, argv=["ls"]), NAMES), NOW)) == {
        "number": "7",
        "at": f"{at:%H:%M:%S}",
        "event": "exec.started",
        "actor": "laptop",
        "sandbox": "box",
        "about": 'argv: ["ls"]',
    }


def test_a_row_without_names_has_ids_and_another_day_its_date() -> None:
    row = texts(cells(row_of(event(7, sandbox=None), {}), NOW + timedelta(days=3)))
    assert (row["actor"], row["sandbox"]) == ("tok_1", "–")
    assert row["at"] == f"{NOW.astimezone():%b %d %H:%M:%S}"
    assert texts(cells(row_of(event(7), {}), NOW))["sandbox"] == "sb_1"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("exec.failed", Role.BAD),
        ("approval.approved", Role.GOOD),
        ("callback.requested", Role.WARNING),
        ("exec.started", Role.PLAIN),
        ("nonsense", Role.PLAIN),
    ],
)
def test_what_is_bad_or_wants_to_be_seen_stands_out(name: str, role: Role) -> None:
    assert cells(row_of(event(7, name), {}), NOW)["event"][0].role is role


def test_what_others_have_written_does_nothing_to_the_screen() -> None:
    hostile = "a\x1b[2J\u202e\nb"
    shown = texts(cells(row_of(event(7, path=hostile), {"tok_1": hostile, "sb_1": hostile}), NOW))
    lines = [
        plain_text(one.line)
        for one in event_lines(event(7, path=hostile), {"tok_1": hostile, "sb_1": hostile})
    ]
    for text in (*shown.values(), *lines):
        assert text.isprintable()
    assert shown["sandbox"] == r"a\x1b[2J\u202e\nb"


def test_an_event_in_full_has_all_of_it_with_both_hashes() -> None:
    lines = [plain_text(one.line) for one in event_lines(event(1234, argv=["ls", "-l"], cwd="/"), NAMES)]
    assert lines[0] == "event    1,234"
    assert "UTC      2026-01-02 03:04:05.000000" in lines
    assert "actor    laptop  tok_1" in lines
    assert "sandbox  box  sb_1" in lines
    assert f"hash     {1234:064x}" in lines
    assert f"follows  {1233:064x}" in lines
    assert lines[lines.index("") + 1 :] == ["exec.started({", '  "argv": ["ls", "-l"],', '  "cwd": "/"', "})"]


def test_an_event_about_no_sandbox_says_so() -> None:
    lines = [plain_text(one.line) for one in event_lines(event(1, "hub.started", sandbox=None), {})]
    assert "actor    tok_1" in lines
    assert "sandbox  –" in lines
    assert lines[-1] == "hub.started({})"


def test_what_is_long_in_an_event_is_folded_until_it_is_unfolded() -> None:
    long = event(1, path="x" * 5000)
    (fold,) = {one.fold for one in event_lines(long, {}) if one.fold is not None and one.is_folded}
    assert sum(len(plain_text(one.line)) for one in event_lines(long, {})) < 1000
    unfolded = event_lines(long, {}, toggled=frozenset({fold}))
    assert sum(len(plain_text(one.line)) for one in unfolded) > 5000


def test_the_line_below_says_how_much_is_shown_and_whether_it_is_followed() -> None:
    trail = Trail()
    trail.add(all_of_them(1_000_000))
    assert plain_text(status(trail)) == "1,000,000 events · following"
    trail.follow(is_on=False)
    assert plain_text(status(trail)) == "1,000,000 events · standing still"
    trail.add(all_of_them(1_000_132))
    assert plain_text(status(trail)) == "1,000,132 events · +132 new"


def test_the_line_below_says_how_far_a_search_has_come() -> None:
    trail = Trail()
    trail.add(part(880_001, 1_000_000, 900_000, head=1_000_000))
    assert plain_text(status(trail)) == "1 of 1,000,000 events · searched 120,000 of 1,000,000 · following"
    trail.add(part(1, 880_000, head=1_000_000))
    assert plain_text(status(trail)) == "1 of 1,000,000 events · following"
    trail.is_full = True
    assert "there are more" in plain_text(status(trail))


def test_the_place_of_an_event_is_its_sandbox_and_console() -> None:
    assert place_of(event(1, console="con_1")) == ("sb_1", "con_1")
    assert place_of(event(1, console=3)) == ("sb_1", None)
    assert place_of(event(1, sandbox=None)) == (None, None)
