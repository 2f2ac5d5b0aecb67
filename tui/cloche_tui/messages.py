"""What workers and widgets tell the app, which alone changes the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.message import Message

from cloche import Event
from cloche_tui.model.link import LinkState
from cloche_tui.model.roles import Role


class Begun(Message):
    """A new subscription: what is told as current from here on, until `CurrentEnd` is among the events, is all there is."""


@dataclass
class EventsArrived(Message):
    """What the hub has told since the last of these, in order."""

    events: Sequence[Event]


@dataclass
class LinkChanged(Message):
    """The connection to the hub is in another state."""

    state: LinkState


@dataclass
class RunAction(Message):
    """Somebody wants an action done, as with its key."""

    id: str
    argument: str = ""


@dataclass
class Said(Message):
    """A line for the person, for some seconds."""

    text: str
    role: Role = Role.PLAIN


class ChoiceChanged(Message):
    """Something else is selected or marked, or has the focus: what can be done now may be something else."""
