"""The registry of what a person can do: one meaning for a key in a place, a reason for whatever cannot be done."""

from __future__ import annotations

import itertools

import pytest

from cloche_tui.actions import ACTIONS, BY_COMMAND, BY_ID, Need, Place, Situation, meant_by, possible, refusal
from cloche_tui.model.chosen import Chosen

EVERYTHING = Chosen(
    sandboxes=("sb_1", "sb_2"),
    names=("a", "b c"),
    sandbox="sb_1",
    console="con_1",
    console_label="a/1",
    approval="apr_1",
    event=7,
    path="/etc/motd",
)


def _now(
    place: Place = Place.SANDBOXES,
    chosen: Chosen = EVERYTHING,
    *,
    is_connected: bool = True,
    is_readonly: bool = False,
) -> Situation:
    return Situation(place, chosen, is_connected, is_readonly)


def test_every_action_has_an_id_and_a_command_of_its_own() -> None:
    assert len(BY_ID) == len(BY_COMMAND) == len(ACTIONS)


@pytest.mark.parametrize("place", Place)
def test_a_key_means_one_thing_in_a_place(place: Place) -> None:
    meanings = [(key, action.id) for action in ACTIONS if place in action.places for key in action.keys]
    by_key = itertools.groupby(sorted(meanings), key=lambda meaning: meaning[0])
    assert [group for _, found in by_key if len(group := list(found)) > 1] == []


def test_the_same_key_means_what_it_means_in_the_place_that_has_the_focus() -> None:
    keys = {action.id: action.keys for action in ACTIONS}
    approves, asks = meant_by("a", Place.APPROVALS, keys), meant_by("a", Place.CONSOLE, keys)
    assert approves is BY_ID["approval.approve"]
    assert asks is BY_ID["console.ask"]
    assert meant_by("a", Place.SANDBOXES, keys) is None


def test_a_person_s_own_key_counts_in_place_of_the_default() -> None:
    keys = {"app.quit": ("ctrl+q",)}
    assert meant_by("ctrl+q", Place.AUDIT, keys) is BY_ID["app.quit"]
    assert meant_by("q", Place.AUDIT, keys) is None


def test_what_changes_something_is_refused_to_who_only_looks_on() -> None:
    for action in ACTIONS:
        refused = refusal(action, _now(min(action.places), is_readonly=True))
        assert (refused is not None) is (Need.CHANGES in action.needs), action.id


def test_what_needs_the_hub_is_refused_without_one() -> None:
    for action in ACTIONS:
        refused = refusal(action, _now(min(action.places), is_connected=False))
        assert (refused == "not connected to the hub") is (Need.HUB in action.needs), action.id


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("sandbox.destroy", "select a sandbox first"),
        ("console.take", "select a console first"),
        ("approval.approve", "no approval is selected"),
        ("audit.detail", "select an event first"),
    ],
)
def test_what_needs_a_choice_says_so_where_there_is_none(action: str, why: str) -> None:
    assert refusal(BY_ID[action], _now(min(BY_ID[action].places), Chosen())) == why


def test_what_is_done_elsewhere_says_where() -> None:
    now = _now(Place.SANDBOXES)
    assert refusal(BY_ID["approval.approve"], now) == "this is done where the focus is on: approvals"


def test_what_is_named_need_not_be_chosen_nor_have_the_focus() -> None:
    now = _now(Place.SANDBOXES, Chosen())
    assert refusal(BY_ID["approval.approve"], now, is_named=True) is None
    assert refusal(BY_ID["console.take"], now, is_named=True) is not None


def test_only_what_can_be_done_is_possible() -> None:
    there = possible(_now(Place.APPROVALS, Chosen()))
    assert BY_ID["help.show"] in there
    assert BY_ID["approval.approve"] not in there
    assert BY_ID["sandbox.create"] not in there


def test_no_decision_can_be_made_outside_of_the_inbox() -> None:
    decisions = [
        action for action in ACTIONS if Need.APPROVAL in action.needs and Need.CHANGES in action.needs
    ]
    assert {action.id for action in decisions} == {"approval.approve", "approval.deny", "approval.edit"}
    assert {place for action in decisions for place in action.places} == {Place.APPROVALS}


@pytest.mark.parametrize(
    ("action", "typed"),
    [
        ("sandbox.destroy", "cloche rm a 'b c'"),
        ("console.take", "cloche attach --take a/1"),
        ("console.close", "cloche consoles close a/1"),
        ("approval.edit", "cloche approvals approve apr_1 --edit"),
        ("view.sandboxes", "cloche ls"),
    ],
)
def test_an_action_tells_the_command_line_that_does_the_same(action: str, typed: str) -> None:
    cli = BY_ID[action].cli
    assert cli is not None
    assert cli(EVERYTHING) == typed


def test_which_console_ends_is_left_open_where_only_its_sandbox_is_chosen() -> None:
    cli = BY_ID["console.close"].cli
    assert cli is not None
    assert cli(Chosen(names=("a",))) == "cloche consoles close a/CONSOLE"


def test_what_the_machine_says_is_left_for_a_shell() -> None:
    cli = BY_ID["console.drive"].cli
    assert cli is not None
    assert cli(EVERYTHING) == "cloche attach a/1"
    chosen = Chosen(names=("a",), console_label="a/boot", words={"console.drive": "new shell"})
    assert cli(chosen) == "cloche shell a"


def test_without_a_choice_there_is_no_command_line() -> None:
    for action in ACTIONS:
        if action.cli is not None and Need.SANDBOX in action.needs:
            assert action.cli(Chosen()) is None
