"""What is known: what a hub tells is kept by its topic, and what a new subscription does not tell any more is gone."""

from __future__ import annotations

from datetime import UTC, datetime

from cloche import ConsoleInfo, Event
from cloche_tui.model.link import Connecting
from cloche_tui.model.world import World
from tests.support.approvals import apr
from tests.tui.consoles import console
from tests.tui.sandbox_values import is_now, sandbox

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
END = Event("current_end", None, None)


def _world() -> World:
    return World(Connecting(), now=NOW)


def _told(one: ConsoleInfo, change: str = "current") -> Event:
    return Event("console", change, one)


def test_a_sandbox_runs_as_long_as_its_state_says_so() -> None:
    world = _world()
    world.apply([is_now(sandbox("box")), is_now(sandbox("dead", state="failed"))])
    assert [world.runs(f"sb_{name}") for name in ("box", "dead", "nowhere")] == [True, False, False]


def test_what_is_told_is_kept_by_its_topic() -> None:
    world = _world()
    topics = world.apply([_told(console()), Event("approval", "changed", apr(1))])
    assert topics == {"console", "approval"}
    assert list(world.consoles.values()) == [console()]
    assert world.inbox.waiting == 1


def test_the_end_of_what_there_is_has_everything_shown_anew() -> None:
    assert _world().apply([END]) == {"all"}


def test_what_a_new_subscription_does_not_tell_any_more_is_gone() -> None:
    world = _world()
    first, second = console(id="con_1"), console(id="con_2")
    world.begin()
    world.apply([_told(first), _told(second), END])
    world.begin()
    assert len(world.consoles) == 2
    world.apply([_told(second), END])
    assert list(world.consoles) == ["con_2"]


def test_a_console_that_goes_is_gone_at_once() -> None:
    world = _world()
    world.apply([_told(console()), _told(console(), "gone")])
    assert not world.consoles
