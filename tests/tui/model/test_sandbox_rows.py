"""Who looks at sandboxes and what of them waits, gathered from consoles and approvals."""

from __future__ import annotations

from cloche_tui.model.sandbox_rows import Attention, attention_of, fields_of, labels_text
from tests.support.approvals import apr
from tests.tui.consoles import boot, console, viewer
from tests.tui.sandbox_values import sandbox


def test_open_consoles_are_counted_and_who_drives_them_is_named() -> None:
    consoles = [
        console(1, viewers=(viewer(1, "ann"), viewer(2, "bob")), driver="v1"),
        console(2, viewers=(viewer(1, "eve"),), driver="v1"),
        console(3, state="ended", viewers=(viewer(1, "old"),)),
        console(4, sandbox="sb_2"),
    ]
    assert attention_of(consoles, (), {}) == {
        "sb_1": Attention(consoles=2, viewers=3, drivers=("ann", "eve")),
        "sb_2": Attention(consoles=1),
    }


def test_the_machine_s_own_console_is_none_that_is_lost_but_those_who_watch_it_look() -> None:
    assert attention_of([boot(viewers=(viewer(),))], (), {}) == {"sb_1": Attention(viewers=1)}


def test_calls_that_wait_and_those_who_ask_are_told_by_sandbox() -> None:
    waiting = [apr(number, sandbox="sb_1") for number in range(2)]
    assert attention_of([console()], waiting, {"sb_2": ["bob"]}) == {
        "sb_1": Attention(consoles=1, approvals=2),
        "sb_2": Attention(asks=("bob",)),
    }


def test_labels_are_written_as_they_are_typed() -> None:
    assert labels_text(sandbox(labels={"tier": "web", "gpu": ""})) == "gpu tier=web"


def test_a_filter_finds_a_sandbox_by_its_name_as_its_sandbox() -> None:
    assert fields_of(sandbox("Box")).values["sandbox"] == "box"
