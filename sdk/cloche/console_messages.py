"""What the hub says of consoles and of who looks at them, as typed values. Pure; see `cloche.messages`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from cloche.answers import Answer

LONGEST_SIDE, MOST_CELLS = 1000, 50_000
"""Of a console: rows or columns, and their product."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who is attached to a console."""

    id: str
    """`v1`, …: unique in its console."""
    token: str
    """The id of the token it came with."""
    name: str
    """The token's name."""
    mode: str
    """driving or watching."""
    rows: int
    """The size of its own window."""
    cols: int
    since: datetime

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("viewer", value)
        return cls(
            id=read.text("id"),
            token=read.text("token"),
            name=read.text("name"),
            mode=read.text("mode"),
            rows=read.whole("rows"),
            cols=read.whole("cols"),
            since=read.moment("since"),
        )


@dataclass(frozen=True, slots=True)
class ConsoleInfo:
    """What the hub knows of a console."""

    id: str
    """`con_…`."""
    sandbox: str
    """The id of the sandbox it is in."""
    sandbox_name: str
    owner: str
    """Whose sandbox that is."""
    labels: Mapping[str, str]
    """The sandbox's."""
    name: str
    """Unique among the open ones of its sandbox."""
    kind: str
    """pty, or boot: what the machine's kernel and agent say, only to be watched."""
    command: tuple[str, ...] | None
    """The program and its arguments; None: the user's shell."""
    user: str | None
    """As whom it was asked to run; None: the sandbox's own."""
    rows: int
    """Its size, which is that of who drives."""
    cols: int
    title: str
    """What its program calls it. The guest wrote it."""
    state: str
    """open or ended."""
    created_at: datetime
    created_by: str
    """A token's id."""
    created_by_name: str
    """The token's name at the time."""
    ended_at: datetime | None
    end_reason: str | None
    """Why it ended, where its program did not simply end."""
    exit_code: int | None
    """None while it is open, if a signal ended its program, or if nobody knows."""
    signal: str | None
    """The signal that ended its program, such as `KILL`."""
    duration_s: float | None
    """How long its program ran; None while it does, or if nobody knows."""
    recording: str | None
    """The id of its recording; None if it is not recorded."""
    viewers: tuple[Viewer, ...]
    driver: str | None
    """The id of the viewer whose keys reach the program; None: nobody's do."""

    @property
    def is_open(self) -> bool:
        """Whether its program still runs."""
        return self.state == "open"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("console", value)
        return cls(
            id=read.text("id"),
            sandbox=read.text("sandbox"),
            sandbox_name=read.text("sandbox_name"),
            owner=read.text("owner"),
            labels=read.mapping("labels", str),
            name=read.text("name"),
            kind=read.text("kind"),
            command=read.optional("command", read.texts),
            user=read.optional("user", read.text),
            rows=read.whole("rows"),
            cols=read.whole("cols"),
            title=read.text("title"),
            state=read.text("state"),
            created_at=read.moment("created_at"),
            created_by=read.text("created_by"),
            created_by_name=read.text("created_by_name"),
            ended_at=read.optional("ended_at", read.moment),
            end_reason=read.optional("end_reason", read.text),
            exit_code=read.optional("exit_code", read.whole),
            signal=read.optional("signal", read.text),
            duration_s=read.optional("duration_s", read.number),
            recording=read.optional("recording", read.text),
            viewers=tuple(read.each("viewers", Viewer.parse)),
            driver=read.optional("driver", read.text),
        )
