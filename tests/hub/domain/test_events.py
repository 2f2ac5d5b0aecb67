"""What a subscriber of events gets to hear."""

from __future__ import annotations

from typing import Any

import pytest

from cloche_hub.domain.approval import ApprovalState
from cloche_hub.domain.console import ended
from cloche_hub.domain.events import EventFilter, Told, Topic, Usage, parse_event_filter, topic_of
from cloche_hub.domain.sandbox import Sandbox, State
from cloche_hub.errors import BadRequest
from tests.hub.domain.examples import MOMENT, approval, console, sandbox

BOX = sandbox(id="sb_a", owner="ann", state=State.RUNNING, labels={"team": "ml-infra"})
CALL = approval(id="apr_a", sandbox="sb_a", owner="ann", state=ApprovalState.PENDING, labels=BOX.labels)
USE = Usage(BOX, MOMENT, 1.5, None, 1, 2)
ALL = (BOX, CALL, USE)


def wants(**params: Any) -> list[Topic]:
    """The topics of the examples that pass a filter."""
    wanted = parse_event_filter(params)
    return [topic_of(value) for value in ALL if wanted.wants(value)]


def test_without_a_filter_everything_passes() -> None:
    assert wants() == [Topic.SANDBOX, Topic.APPROVAL, Topic.USAGE]


@pytest.mark.parametrize(
    "params",
    [
        {"sandbox": "sb_b"},
        {"owner": "bob"},
        {"labels": {"team": "web*"}},
        {"labels": {"tier": "*"}},
        {"labels": {"team": "ml*", "tier": "*"}},
    ],
)
def test_what_a_thing_is_not_about_keeps_it_out(params: dict[str, Any]) -> None:
    assert wants(**params) == []


@pytest.mark.parametrize(
    "params", [{"sandbox": "sb_a"}, {"owner": "ann"}, {"labels": {"team": "ml-*"}}, {"labels": {"team": "*"}}]
)
def test_what_a_thing_is_about_lets_it_pass(params: dict[str, Any]) -> None:
    assert len(wants(**params)) == 3


def test_topics_and_states_restrict_what_they_are_of() -> None:
    assert wants(topics=["usage", "approval"]) == [Topic.APPROVAL, Topic.USAGE]
    assert wants(states=["failed"]) == [Topic.APPROVAL, Topic.USAGE]
    assert wants(states=["running"]) == [Topic.SANDBOX, Topic.APPROVAL, Topic.USAGE]
    assert wants(states=["denied", "running"]) == [Topic.SANDBOX, Topic.USAGE]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"topics": ["weather"]}, "topics has 'weather'; there are: sandbox, console, approval, usage"),
        ({"states": ["asleep"]}, "states has 'asleep'; there are: abandoned, approved"),
        ({"labels": {"a": "x" * 257}}, "labels has a pattern of more than 256"),
        ({"labels": {"team=": "ml"}}, "labels has a key 'team='"),
        ({"labels": {"": "ml"}}, "labels has a key ''"),
        ({"label": {}}, "unknown field 'label'"),
    ],
)
def test_a_filter_that_will_not_do_is_told_why(params: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        parse_event_filter(params)


def test_an_owner_sees_its_own_things_whatever_it_asks_for() -> None:
    assert EventFilter().seen_by("ann").owner == "ann"
    assert EventFilter(owner="ann").seen_by("ann").wants(BOX)
    assert EventFilter(owner="ann").seen_by(None).owner == "ann"
    assert EventFilter().seen_by(None).wants(BOX)
    theirs = EventFilter(owner="ann").seen_by("bob")
    assert [value for value in ALL if theirs.wants(value)] == []
    assert [value for value in ALL if EventFilter().seen_by("bob").wants(value)] == []


def removed(box: Sandbox = BOX) -> Sandbox:
    return sandbox(id=box.id, owner=box.owner, state=State.REMOVED, labels=dict(box.labels))


def test_a_thing_is_current_then_changed_then_gone() -> None:
    told = Told(EventFilter())
    assert told.change(BOX, is_current=True) == "current"
    assert told.change(BOX) == "changed"
    assert told.change(USE) == "changed"
    assert told.change(removed()) == "gone"
    assert told.change(removed()) is None, "it was told already"


def test_a_sandbox_that_was_never_told_of_is_not_gone() -> None:
    assert Told(EventFilter()).change(removed()) is None


def test_whoever_asks_for_removed_sandboxes_is_told_of_each() -> None:
    told = Told(parse_event_filter({"states": ["removed"]}))
    assert told.change(BOX) is None
    assert told.change(removed()) == "gone"


def test_a_thing_that_passes_no_more_is_gone_for_this_subscriber() -> None:
    told = Told(parse_event_filter({"states": ["running", "pending"]}))
    failed = sandbox(id="sb_a", owner="ann", state=State.FAILED)
    denied = approval(id="apr_a", state=ApprovalState.DENIED)
    assert [told.change(value) for value in (BOX, failed, failed)] == ["changed", "gone", None]
    assert [told.change(value) for value in (CALL, denied, denied)] == ["changed", "gone", None]


def test_a_console_is_told_until_it_has_ended() -> None:
    told = Told(EventFilter())
    assert told.change(console(), is_current=True) == "current"
    assert told.change(console(title="vim")) == "changed"
    over = ended(console(), at=MOMENT)
    assert told.change(over) == "changed"
    assert told._known == set()
    only_open = Told(
        parse_event_filter({"topics": ["console"], "states": ["open"], "labels": {"team": "m*"}})
    )
    assert [only_open.change(value) for value in (BOX, console(), over)] == [None, "changed", "gone"]
    elsewhere = EventFilter(sandbox="sb_other")
    assert not elsewhere.concerns(console())
    assert EventFilter(sandbox=console().sandbox).concerns(console())


def test_what_has_been_decided_or_used_is_told_and_forgotten() -> None:
    told = Told(EventFilter())
    assert told.change(USE) == "changed"
    for number in range(10):
        assert told.change(approval(id=f"apr_{number}", state=ApprovalState.DENIED)) == "changed"
    assert told._known == set()
