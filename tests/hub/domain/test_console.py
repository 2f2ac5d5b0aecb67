"""Consoles as values: their names, their references, their ends, and the form clients get."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta

import pytest

from cloche_hub.domain.console import (
    MAX_TITLE,
    Console,
    ConsoleKind,
    ConsoleState,
    ViewerMode,
    check_console_name,
    check_console_reference,
    clean_title,
    console_fields,
    ended,
    free_name,
    resolve_console,
)
from cloche_hub.errors import BadRequest, NotFound
from tests.hub.domain.examples import MOMENT, console, viewer

THEN = "2026-01-02T03:04:05.678901Z"


def named(name: str, *, age_s: int = 0, **changes: object) -> Console:
    return console(
        **{
            "id": f"con_{name}{age_s}",
            "name": name,
            "created_at": MOMENT - timedelta(seconds=age_s),
            **changes,
        }
    )


def test_a_client_is_told_everything_in_plain_values() -> None:
    watched = console(
        viewers=(viewer(1, mode=ViewerMode.DRIVING),), driver="v1", recording="rec_1", title="vim"
    )
    assert console_fields(watched) == {
        "id": "con_4h7x2m9qk1tz",
        "sandbox": "sb_7k2m9qx4tn0c",
        "sandbox_name": "mossy-acorn",
        "owner": "admin",
        "labels": {"team": "ml"},
        "name": "1",
        "kind": "pty",
        "command": ["vim", "a.txt"],
        "user": None,
        "rows": 24,
        "cols": 80,
        "title": "vim",
        "state": "open",
        "created_at": THEN,
        "created_by": "tok_1",
        "created_by_name": "ann's laptop",
        "ended_at": None,
        "end_reason": None,
        "exit_code": None,
        "signal": None,
        "duration_s": None,
        "recording": "rec_1",
        "viewers": [
            {
                "id": "v1",
                "token": "tok_1",
                "name": "person 1",
                "mode": "driving",
                "rows": 30,
                "cols": 100,
                "since": THEN,
            }
        ],
        "driver": "v1",
    }
    assert set(console_fields(watched)) == {field.name for field in fields(Console)}
    assert console_fields(console(command=None))["command"] is None


def test_an_end_leaves_nobody_there_and_happens_once() -> None:
    watched = console(viewers=(viewer(1),), driver="v1")
    over = ended(watched, at=MOMENT, exit_code=3, duration_s=1.5)
    assert over == replace(
        watched,
        state=ConsoleState.ENDED,
        ended_at=MOMENT,
        exit_code=3,
        duration_s=1.5,
        viewers=(),
        driver=None,
    )
    assert not over.is_open
    assert ended(over, at=MOMENT + timedelta(days=1), reason="again") is over
    assert console_fields(over)["ended_at"] == THEN


def test_a_viewer_is_found_by_its_id() -> None:
    watched = console(viewers=(viewer(1), viewer(2)))
    assert watched.viewer("v2") == viewer(2)
    assert watched.viewer("v3") is watched.viewer(None) is None
    assert watched.label == "mossy-acorn/1"


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("vim – naïve.txt", "vim – naïve.txt"),
        ("  a\x1b]0;b\x07\r\n\tc ", "a]0;bc"),
        ("\u202egnp.exe", "gnp.exe"),
        ("x" * 10_000, "x" * MAX_TITLE),
        ("\x00" * 10_000 + "x", ""),
        ("", ""),
    ],
)
def test_a_title_is_printable_and_short_whatever_a_guest_makes_it(title: str, shown: str) -> None:
    assert clean_title(title) == shown


@pytest.mark.parametrize("name", ["1", "web", "a-b", "x" * 63, "0"])
def test_a_good_name_is_taken(name: str) -> None:
    assert check_console_name(name) == name


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("boot", "the machine's own"),
        ("", "up to 63"),
        ("A", "will not do"),
        ("a b", "will not do"),
        ("-a", "will not do"),
        ("a-", "will not do"),
        ("con_1", "will not do"),
        ("x" * 64, "will not do"),
        ("é", "will not do"),
        ("1\n", "will not do"),
    ],
)
def test_a_name_that_will_not_do_is_refused(name: str, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        check_console_name(name)


def test_who_names_nothing_gets_the_lowest_free_number() -> None:
    assert free_name(set()) == "1"
    assert free_name({"1", "2", "4", "web"}) == "3"


@pytest.mark.parametrize(
    ("reference", "is_good"), [("1", True), ("x" * 128, True), ("", False), ("x" * 129, False)]
)
def test_a_reference_has_a_bounded_length(reference: str, *, is_good: bool) -> None:
    if is_good:
        assert check_console_reference(reference) == reference
        return
    with pytest.raises(BadRequest, match="console must be"):
        check_console_reference(reference)


OVER = ConsoleState.ENDED
CONSOLES = [
    named("web", age_s=10),
    named("web", age_s=20, state=OVER),
    named("1", age_s=30),
    named("old", age_s=50, state=OVER),
    named("old", age_s=40, state=OVER),
    named("boot", kind=ConsoleKind.BOOT),
    named("x", id="con_web", age_s=60),
]


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        (None, "con_web10"),
        ("con_web", "con_web"),
        ("con_web20", "con_web20"),
        ("web", "con_web10"),
        ("old", "con_old40"),
        ("boot", "con_boot0"),
        ("con_1", "con_130"),
        ("con_old5", "con_old50"),
    ],
)
def test_a_reference_means_the_first_thing_it_can(reference: str | None, meant: str) -> None:
    assert resolve_console(reference, CONSOLES).id == meant


def test_several_that_begin_so_are_listed() -> None:
    with pytest.raises(BadRequest, match=r"old \(con_old40\), old \(con_old50\)") as refused:
        resolve_console("con_old", CONSOLES)
    assert refused.value.details == {"candidates": ["con_old40", "con_old50"]}


def test_what_means_nothing_is_not_found() -> None:
    with pytest.raises(NotFound, match="cloche consoles --all"):
        resolve_console("nope", CONSOLES)
    with pytest.raises(NotFound, match="no open console"):
        resolve_console(None, [named("1", state=OVER), named("boot", kind=ConsoleKind.BOOT)])
