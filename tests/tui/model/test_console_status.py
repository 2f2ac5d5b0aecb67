"""What is said of a console: its heading and its last line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from cloche_tui.model.clipboard import CopyRequest
from cloche_tui.model.console_status import (
    ConsoleStatus,
    Keys,
    Phase,
    Size,
    foot,
    heading,
    how_it_ended,
    label,
    tells_of_copying,
    told,
)
from cloche_tui.model.roles import Role, plain_text
from tests.tui.consoles import boot, console, viewer

US, ANN, BEN = viewer(1, "us"), viewer(2, "ann"), viewer(3, "ben")
SHELL = console(viewers=(US,), title="vim")
WATCHING = ConsoleStatus(Phase.LIVE, SHELL, "v1")
DRIVING = ConsoleStatus(Phase.LIVE, replace(SHELL, driver="v1"), "v1", is_driving=True, has_keys=True)
WINDOW = Size(24, 80)


def _foot(status: ConsoleStatus, window: Size = WINDOW) -> str:
    return plain_text(foot(status, window, Keys())).strip()


def _heading(status: ConsoleStatus) -> str:
    return plain_text(heading(status, "box")).strip()


# The heading.


@pytest.mark.parametrize(
    ("status", "text", "role"),
    [
        (WATCHING, "○ watching  box/1 vim", Role.WATCHING),
        (DRIVING, "▶ DRIVING  box/1 vim", Role.DRIVING),
        (replace(WATCHING, has_keys=True), "▶ driving…  box/1 vim", Role.DRIVING),
        (replace(DRIVING, phase=Phase.AWAY), "✗ NOT CONNECTED  box/1 vim", Role.BAD),
        (replace(WATCHING, phase=Phase.ENDED), "■ ended  box/1 vim", Role.MUTED),
        (ConsoleStatus(Phase.OPENING, has_keys=True), "… opening a shell  box", Role.DRIVING),
        (ConsoleStatus(Phase.ATTACHING), "… looking in  box", Role.WATCHING),
        (ConsoleStatus(Phase.NONE), "· no console  box", Role.WATCHING),
        (ConsoleStatus(Phase.FAILED), "✗ not shown  box", Role.BAD),
    ],
)
def test_how_we_stand_to_a_console_is_a_word_and_a_role(status: ConsoleStatus, text: str, role: Role) -> None:
    assert (_heading(status), status.role) == (text, role)


def test_what_a_guest_calls_itself_stays_on_its_line() -> None:
    status = replace(WATCHING, info=replace(SHELL, title="\x1b[2Jhi\nho"))
    assert _heading(status) == r"○ watching  box/1 \x1b[2Jhi\nho"


def test_a_console_is_named_by_its_sandbox() -> None:
    assert label(SHELL) == "box/1"


# The last line.


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (WATCHING, "nobody drives: enter drives · 80×24"),
        (replace(WATCHING, can_drive=False), "nobody drives · 80×24"),
        (DRIVING, "ctrl+] leaves · 80×24"),
        (replace(DRIVING, asking="ann"), "ctrl+] leaves · ann asks to drive: ctrl+] g lets them · 80×24"),
        (replace(WATCHING, asking="ann"), "nobody drives: enter drives · ann asks to drive: g lets them · 80×24"),
        (replace(WATCHING, is_scrolled=True), "nobody drives: enter drives · older lines · 80×24"),
        (replace(WATCHING, info=boot(viewers=(US,))), "what the machine says: enter opens a shell · 80×24"),
        (
            replace(WATCHING, info=console(viewers=(US, ANN), driver="v2")),
            "ann drives: a asks, t takes over · 80×24",
        ),
        (
            replace(WATCHING, info=console(viewers=(US, ANN), driver="v2"), can_drive=False),
            "ann drives · 80×24",
        ),
        (
            replace(WATCHING, info=console(viewers=(US,), driver="v9")),
            "somebody drives: a asks, t takes over · 80×24",
        ),
        (replace(DRIVING, info=console(viewers=(US, ANN), driver="v1")), "ctrl+] leaves · ann watches · 80×24"),
        (replace(DRIVING, info=console(viewers=(US, ANN, BEN), driver="v1")), "ctrl+] leaves · 2 watch · 80×24"),
        (replace(DRIVING, phase=Phase.AWAY), "ctrl+] leaves · no keys until the hub is back"),
        (replace(WATCHING, phase=Phase.AWAY), "no keys until the hub is back"),
        (ConsoleStatus(Phase.ENDED, SHELL, reason="it exited"), "it exited · enter opens another"),
        (ConsoleStatus(Phase.ENDED, SHELL, can_drive=False), "it has ended"),
        (ConsoleStatus(Phase.OPENING, has_keys=True), "ctrl+] leaves"),
        (ConsoleStatus(Phase.ATTACHING), ""),
        (ConsoleStatus(Phase.NONE), "nothing runs here: enter opens a shell"),
        (ConsoleStatus(Phase.NONE, is_machine_up=False), "nothing runs here: x hides"),
        (ConsoleStatus(Phase.FAILED, SHELL, reason="it is gone", is_machine_up=False), "it is gone · x hides"),
        (ConsoleStatus(Phase.LIVE), ""),
    ],
)  # fmt: skip
def test_the_last_line_says_who_drives_and_what_can_be_done(status: ConsoleStatus, text: str) -> None:
    assert _foot(status) == text


def test_another_size_than_the_pane_s_is_said_to_who_watches() -> None:
    assert _foot(WATCHING, Size(30, 100)) == "nobody drives: enter drives · 80×24 (pane 100×30)"
    assert _foot(DRIVING, Size(30, 100)) == "ctrl+] leaves · 80×24"


def test_a_notice_stands_for_a_moment_where_all_but_the_way_out_was() -> None:
    def line(status: ConsoleStatus) -> str:
        return plain_text(foot(status, WINDOW, Keys(), notice="ann drives now\x07")).strip()

    assert line(WATCHING) == r"ann drives now\x07"
    assert line(DRIVING) == r"ctrl+] leaves · ann drives now\x07"


def test_what_does_not_fit_is_left_out_and_what_matters_most_stays() -> None:
    status = replace(WATCHING, info=console(viewers=(US, ANN), driver="v2", rows=30))
    assert _foot(status, Size(24, 42)) == "ann drives: a asks, t takes over · 80×30 (pane 42×24)"[:32]
    assert _foot(status, Size(24, 10)) == "ann drives: a asks, t takes over"
    assert _foot(status, Size(24, 60)).endswith("80×30 (pane 60×24)")


def test_keys_are_called_as_the_person_has_bound_them() -> None:
    keys = Keys(drive="i", way_out="ctrl+q")
    assert plain_text(foot(WATCHING, WINDOW, keys)).strip() == "nobody drives: i drives · 80×24"
    assert plain_text(foot(DRIVING, WINDOW, keys)).strip() == "ctrl+q leaves · 80×24"


# What a program wants copied.

LET = CopyRequest("ls")
WIDE, NARROW = Size(24, 130), Size(24, 40)


@pytest.mark.parametrize(
    ("status", "window", "text"),
    [
        (WATCHING, WIDE, "nobody drives: enter drives · box/1 wants to copy 2 characters to your clipboard: Y lets it (ls) · 80×24 (pane 130×24)"),
        (WATCHING, WINDOW, "nobody drives: enter drives · wants to copy 2 characters: Y lets it (ls) · 80×24"),
        (replace(WATCHING, can_drive=False), WINDOW, "nobody drives · wants to copy 2 characters: Y lets it (ls) · 80×24"),
        (DRIVING, WIDE, "ctrl+] leaves · box/1 wants to copy 2 characters to your clipboard: ctrl+], then Y lets it (ls) · 80×24"),
        (replace(DRIVING, asking="ann"), WINDOW, "ctrl+] leaves · ann asks to drive: ctrl+] g lets them"),
        (replace(DRIVING, asking="ann"), WIDE, "ctrl+] leaves · ann asks to drive: ctrl+] g lets them · wants to copy 2 characters: ctrl+], then Y lets it (ls) · 80×24"),
        (replace(WATCHING, phase=Phase.ENDED), WINDOW, "it has ended · enter opens another · wants to copy 2 characters: Y lets it (ls)"),
        (replace(WATCHING, phase=Phase.AWAY), WINDOW, "no keys until the hub is back"),
        (replace(WATCHING, info=None), WINDOW, ""),
        (WATCHING, NARROW, "nobody drives: enter drives"),
    ],
)  # fmt: skip
def test_what_a_program_wants_copied_is_told_as_far_as_there_is_room(
    status: ConsoleStatus, window: Size, text: str
) -> None:
    status = replace(status, copying=LET)
    assert _foot(status, window) == text
    assert tells_of_copying(status, window, Keys()) == ("wants to copy" in text)


def test_a_notice_hides_for_a_moment_what_a_program_wants_copied() -> None:
    assert not tells_of_copying(replace(WATCHING, copying=LET), WIDE, Keys(), notice="ann drives now")


def test_what_a_program_wants_copied_takes_no_room_that_others_need_more() -> None:
    status = replace(WATCHING, copying=CopyRequest("日" * 100), info=console(viewers=(US, ANN), driver="v2"))
    for cols in range(20, 200):
        words = "ann drives: a asks, t takes over"
        assert _foot(status, Size(24, cols)).startswith(words)
    assert _foot(replace(status, asking="ben"), Size(24, 70)) == f"{words} · ben asks to drive: g lets them"
    for cols in range(100, 200):
        assert cell_len(_foot(status, Size(24, cols))) <= cols
    assert "Y lets it (日日日" in _foot(status, Size(24, 190))


# What is told.


def test_of_oneself_nobody_reads_the_own_name() -> None:
    info = console(viewers=(US, ANN), driver="v1")
    assert told("us drives now (taken)", info, "v1") == "you drive now (taken)"
    assert told("us drives now", info, "v1") is None
    assert told("us drives now (taken)", info, "v2") == "us drives now (taken)"
    assert told("us drives now", replace(info, driver="v2"), "v1") == "us drives now"
    assert told("ann drives now", info, "v1") == "ann drives now"
    assert told("anything", info, "v9") == "anything"


@pytest.mark.parametrize(
    ("exit_code", "signal", "reason", "said"),
    [
        (0, None, None, "its program has ended with 0"),
        (None, "KILL", None, "its program was ended by SIGKILL"),
        (None, None, None, "it has ended; nobody knows how"),
        (None, "HUP", "closed by ann", "closed by ann"),
    ],
)
def test_how_a_console_ended_is_said_in_words(
    exit_code: int | None, signal: str | None, reason: str | None, said: str
) -> None:
    assert how_it_ended(exit_code, signal, reason) == said


@pytest.mark.parametrize(
    ("size", "nearest"),
    [(Size(24, 80), Size(24, 80)), (Size(0, 0), Size(1, 1)), (Size(5000, 9), Size(1000, 9)), (Size(100, 1000), Size(50, 1000))],
)  # fmt: skip
def test_a_size_is_made_one_that_a_console_can_have(size: Size, nearest: Size) -> None:
    assert size.bounded() == nearest
