"""All that the dashboard knows: the fleet, its consoles, the calls that wait, the connection. Changed by the app only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from cloche import ConsoleInfo, Event
from cloche_tui.model.current import Current
from cloche_tui.model.fleet import Fleet
from cloche_tui.model.inbox import Inbox
from cloche_tui.model.link import LinkState


class Consoles(Mapping[str, ConsoleInfo]):
    """The consoles there are, by their ids."""

    def __init__(self) -> None:
        self._known: dict[str, ConsoleInfo] = {}
        self._current = Current()

    def __getitem__(self, console_id: str) -> ConsoleInfo:
        return self._known[console_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def of(self, sandbox_id: str) -> list[ConsoleInfo]:
        """Those of a sandbox: open ones first, the newest first."""
        found = [console for console in self._known.values() if console.sandbox == sandbox_id]
        return sorted(found, key=lambda console: (console.is_open, console.created_at), reverse=True)

    def begin(self) -> None:
        """A new subscription: what is not told as current any more is gone."""
        self._current.begin()

    def apply(self, event: Event) -> None:
        """One of them is, has changed or is gone."""
        console = event.value
        assert isinstance(console, ConsoleInfo)
        if event.change == "gone":
            self._known.pop(console.id, None)
            return
        self._known[console.id] = console
        self._current.tell(console.id)

    def end_of_current(self) -> None:
        """All that there is has been told."""
        for console_id in self._current.end(self._known.keys()):
            del self._known[console_id]


class World:
    """What is known.

    Args:
        link: the connection as it begins.
        now: the time.
    """

    def __init__(self, link: LinkState, *, now: datetime) -> None:
        self.fleet, self.consoles, self.inbox = Fleet(), Consoles(), Inbox()
        self.link, self.now = link, now

    def runs(self, sandbox_id: str) -> bool:
        """Whether a sandbox runs, so that a program can be started in it."""
        info = self.fleet.get(sandbox_id)
        return info is not None and info.state == "running"

    def begin(self) -> None:
        """A new subscription: what is told from here to its end is all there is."""
        self.fleet.begin()
        self.consoles.begin()
        self.inbox.begin()

    def apply(self, events: Iterable[Event]) -> frozenset[str]:
        """What the hub has told; returns which topics have changed."""
        topics = set()
        for event in events:
            match event.topic:
                case "sandbox" | "usage":
                    self.fleet.apply(event)
                case "console":
                    self.consoles.apply(event)
                case "approval":
                    self.inbox.apply(event)
                case "current_end":
                    self.fleet.end_of_current()
                    self.consoles.end_of_current()
                    self.inbox.end_of_current()
            topics.add("all" if event.topic == "current_end" else event.topic)
        return frozenset(topics)
