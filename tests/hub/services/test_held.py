"""The record of a sandbox, and the small moves on it."""

from __future__ import annotations

import pytest

from cloche_hub.domain.masking import Secrets
from cloche_hub.domain.sandbox import Move, State, move
from cloche_hub.errors import Cancelled
from cloche_hub.services.held import Ending, ask_to_end, begin_removal, hold, milliseconds, timed
from tests.hub.domain.examples import sandbox
from tests.support.hub import Time

EARLY = Ending("tok_a", "removed by tok_a")
LATE = Ending("hub", "its lease ran out")


async def test_changes_are_told_once_the_sandbox_can_be_seen() -> None:
    told: list[State] = []
    held = hold(sandbox(state=State.CREATING), lambda changed: told.append(changed.state))
    held.sandbox = sandbox(state=State.CREATING, name="another")
    assert told == []
    held.set_recorded()
    begin_removal(held, EARLY, Time().clock)
    assert (told, held.is_recorded) == ([State.CREATING, State.REMOVING], True)


async def test_secrets_are_held_and_show_in_no_log() -> None:
    held = hold(sandbox(), secrets=Secrets({"TOKEN": "hunter2"}))
    assert held.secrets.mask("hunter2") == "*******"
    assert "hunter2" not in repr(held)


async def test_a_sandbox_ends_for_the_first_who_asks() -> None:
    held = hold(sandbox())
    ask_to_end(held, EARLY)
    ask_to_end(held, LATE)
    assert held.ending.result() == EARLY


async def test_a_removal_tells_a_maker_who_still_waits() -> None:
    time = Time()
    held = hold(sandbox(state=State.CREATING))
    begin_removal(held, EARLY, time.clock)
    assert (held.sandbox.state, held.sandbox.end_reason) == (State.REMOVING, "removed by tok_a")
    with pytest.raises(Cancelled, match="while it was being created: removed by tok_a"):
        held.started.result()


async def test_a_removal_that_was_under_way_goes_on() -> None:
    time = Time()
    held = hold(move(sandbox(state=State.RUNNING), Move.REMOVE, at=time.now, reason="first"))
    held.started.set_result(None)
    begin_removal(held, LATE, time.clock)
    assert held.sandbox.end_reason == "first"


async def test_a_failure_nobody_looks_at_is_no_warning() -> None:
    held = hold(sandbox())
    held.started.set_exception(Cancelled("enough"))


async def test_the_parts_of_a_step_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    held = hold(sandbox())
    readings = iter([10.0, 10.25, 20.0, 20.5])
    monkeypatch.setattr("time.monotonic", lambda: next(readings))
    with timed(held, "image"):
        pass
    with timed(held, "image"):
        pass
    monkeypatch.undo()
    assert (held.steps, milliseconds(held)) == ({"image": 0.75}, {"image_ms": 750})
