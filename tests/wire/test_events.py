"""The events: one list of plain values that a driver can match completely."""

from __future__ import annotations

from typing import get_args

from cloche_wire import events
from cloche_wire.errors import LinkLost
from cloche_wire.events import Event, Failed, Finished


def test_every_kind_of_event_is_in_the_type_that_a_driver_matches() -> None:
    defined = {cls for cls in vars(events).values() if hasattr(cls, "_fields")}
    assert set(get_args(Event)) == defined


def test_an_event_about_a_channel_begins_with_its_number() -> None:
    about_the_link = {"Greeted", "Ponged", "Parted"}
    for cls in get_args(Event):
        assert (cls._fields[0] == "channel") == (cls.__name__ not in about_the_link), cls


def test_events_are_values() -> None:
    error = LinkLost("gone")
    assert Failed(1, error) == Failed(1, error)
    assert Failed(1, error) != Failed(3, error)
    assert Finished(1, {"code": 0}) == Finished(1, {"code": 0})
