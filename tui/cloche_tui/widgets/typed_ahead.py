"""Keys that are typed before it is known what the one before them has come to.

    ahead = TypedAhead()
    ahead.follow(event, widget)   a key was given to a widget
    ahead.keeps(event)            whether a key waits for it; it is kept then
    ahead.has_passed(event)       whether this is what they waited for
    for event in ahead.let_go(): …

A key goes to the widget that has the focus and, unless that takes it, from one to the next up to the app, which alone
knows what tab, enter or backspace do. A letter that is typed behind it goes straight into a field: without this `ab`,
Tab, `cd` could fill in `abcd`, and `:open box`, Enter, Enter would type the second Enter into whatever had the focus.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from contextvars import ContextVar

from textual import _time, events
from textual.widget import Widget
from textual.widgets import Input, TextArea

MOST = 1000
"""Keys that wait; whoever types more has pasted into a program that stands still."""


_TYPED_AT: ContextVar[float | None] = ContextVar("typed_at", default=None)


@contextlib.contextmanager
def typed(key: events.Key) -> Iterator[None]:
    """What is done within it is done because of this key; so is what a worker does that begins there."""
    token = _TYPED_AT.set(key.time)
    try:
        yield
    finally:
        _TYPED_AT.reset(token)


def typed_s_ago() -> float:
    """How long ago the key was typed because of which something is done: it may have waited. 0: there was none."""
    typed_at = _TYPED_AT.get()
    return 0.0 if typed_at is None else _time.get_time() - typed_at


class Passed(events.Event):
    """Goes the way of a key, behind it: who could have used it has had it.

    Attributes:
        key: that key.
    """

    def __init__(self, key: events.Key) -> None:
        super().__init__()
        self.key = key


class TypedAhead:
    """The keys that wait."""

    def __init__(self) -> None:
        self._waiting: deque[events.Key] = deque(maxlen=MOST)
        self._followed: events.Key | None = None
        self.is_holding = False
        self._is_old = False

    def follow(self, key: events.Key, to: Widget, *, ends_line: bool = False) -> None:
        """From now on keys wait until this one has passed, unless it is one that a field takes for itself.

        Args:
            key: one that was just given to a widget.
            to: that widget.
            ends_line: whether they wait longer: `let_go` is called when the line has been read.
        """
        is_letter = key.is_printable and isinstance(to, Input | TextArea)
        self._is_old = False
        if ends_line:
            self.is_holding = True
        # A widget that goes takes no message, and the key has gone with it.
        elif not is_letter and to.post_message(Passed(key)):
            self._followed, self.is_holding = key, True

    def has_passed(self, event: events.Event) -> bool:
        """Whether keys wait for the one that has come by, or that `Passed` tells of; they need not any more."""
        key = event.key if isinstance(event, Passed) else event
        if self._followed is None or key is not self._followed:
            return False
        self._followed = None
        return True

    def keeps(self, key: events.Key) -> bool:
        """Keeps a key if keys wait; returns whether it does."""
        if self.is_holding:
            self._waiting.append(key)
        return self.is_holding

    def tick(self) -> bool:
        """Whether keys have waited since it was last asked: nothing has come of the one they wait for, nor will.

        To be asked each second. A focus that was taken away meanwhile may leave a line without its end.
        """
        was_old, self._is_old = self._is_old, self.is_holding
        return self.is_holding and was_old

    def let_go(self) -> Iterator[events.Key]:
        """Keys wait no more: those that have, in order, until one of them has others wait again."""
        self.is_holding = False
        while self._waiting and not self.is_holding:
            yield self._waiting.popleft()
