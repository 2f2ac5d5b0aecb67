"""What is chosen on the screen, and so what an action would be about. Names things by id, never by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Chosen:
    """What actions would be about now."""

    sandboxes: tuple[str, ...] = ()
    """Ids: the marked ones, else the selected one."""
    names: tuple[str, ...] = ()
    """The names of those."""
    sandbox: str | None = None
    """The id of the one that is selected, marked or not."""
    console: str | None = None
    """A console's id."""
    console_label: str | None = None
    """As people name it: `box/1`."""
    approval: str | None = None
    event: int | None = None
    """The number of an event of the audit."""
    path: str | None = None
    """A file's, in the sandbox."""
    is_driving: bool = False
    """Whether keys of the chosen console reach its program."""
    copies: tuple[str, ...] = ()
    """What would be copied and where to, as `cloche cp` takes it."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What actions are called in the line of keys, by their ids, where that is another word than always; empty: nothing."""
