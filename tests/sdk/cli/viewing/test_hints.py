"""What a person is told in the last line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cloche.cli.viewing.hints import announced, asks, keys, label, status, told
from cloche.cli.viewing.way_out import DetachKey
from tests.sdk.cli.viewing.consoles import ANN, BOB, CONSOLE

KEY = DetachKey("]")


def test_a_console_is_named_as_on_a_command_line() -> None:
    assert label(CONSOLE) == "box/1"


def test_who_drives_is_told_the_way_out() -> None:
    assert status(CONSOLE, ANN.id, keys(CONSOLE, ANN.id, KEY)) == "box/1 · you drive · ctrl+] leaves · 80x24"
    assert keys(CONSOLE, ANN.id, DetachKey("q")) == "ctrl+q leaves"


def test_who_watches_is_told_who_drives_and_the_keys() -> None:
    assert (
        status(CONSOLE, BOB.id, keys(CONSOLE, BOB.id, KEY))
        == "box/1 · ann drives · a asks, t takes, q leaves · 80x24"
    )


def test_a_long_name_is_cut_before_the_keys_are() -> None:
    long = replace(CONSOLE, sandbox_name="a-sandbox-" * 6)
    told = status(long, BOB.id, keys(long, BOB.id, KEY), cols=80)
    assert told.startswith("a-sandbox-a-sandbox-")
    assert told.endswith("… · a asks, t takes, q leaves")
    assert len(told) == 79


@pytest.mark.parametrize(("cols", "end"), [(55, "q leaves · 80x24"), (54, "q leaves"), (10, "q leaves")])
def test_the_size_is_told_where_there_is_room_for_all_of_it(cols: int, end: str) -> None:
    assert status(CONSOLE, BOB.id, keys(CONSOLE, BOB.id, KEY), cols=cols).endswith(end)


def test_where_nobody_drives_one_may() -> None:
    nobody = replace(CONSOLE, driver=None)
    assert (
        status(nobody, BOB.id, keys(nobody, BOB.id, KEY))
        == "box/1 · nobody drives · a drives, t takes, q leaves · 80x24"
    )


def test_the_machine_s_own_console_can_only_be_left() -> None:
    boot = replace(CONSOLE, name="boot", kind="boot", driver=None)
    assert (
        status(boot, BOB.id, keys(boot, BOB.id, KEY)) == "box/boot · what the machine says · q leaves · 80x24"
    )


def test_the_driver_is_told_who_asks() -> None:
    assert asks(BOB, KEY) == "bob asks to drive: ctrl+] g gives"
    assert status(CONSOLE, ANN.id, keys(CONSOLE, ANN.id, KEY), asks(BOB, KEY)).endswith(
        " · ctrl+] leaves · bob asks to drive: ctrl+] g gives · 80x24"
    )
    assert "asks" not in status(CONSOLE, ANN.id, keys(CONSOLE, ANN.id, KEY))
    given = replace(CONSOLE, driver=BOB.id)
    assert status(given, ANN.id, keys(given, ANN.id, KEY), asks(BOB, KEY)).endswith(
        "bob drives · a asks, t takes, q leaves · 80x24"
    )


def test_who_came_to_watch_only_can_only_leave() -> None:
    assert keys(CONSOLE, BOB.id, KEY, may_drive=False) == "q leaves"
    assert keys(CONSOLE, ANN.id, KEY, may_drive=False) == "ctrl+] leaves"


def test_of_oneself_one_does_not_read_the_name() -> None:
    assert told("ann drives now (taken)", CONSOLE, ANN.id) == "you drive now (taken)"
    assert told("ann drives now (taken)", CONSOLE, BOB.id) == "ann drives now (taken)"
    assert told("the disk is full", CONSOLE, ANN.id) == "the disk is full"


@pytest.mark.parametrize(
    ("cols", "line"),
    [
        (40, "lost\\n the hub · q leaves"),
        (20, "lost\\n … · q leaves"),
        (12, "q leaves"),
        (1, "q leaves"),
    ],
)
def test_the_keys_are_seen_however_long_what_is_told(cols: int, line: str) -> None:
    assert announced("lost\n the hub", "q leaves", cols) == line
