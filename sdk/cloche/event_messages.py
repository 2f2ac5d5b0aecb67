"""What a hub tells of what changes, as typed values. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self, TypeAlias

from cloche.answers import Answer
from cloche.approval_messages import ApprovalInfo
from cloche.console_messages import ConsoleInfo
from cloche.messages import SandboxInfo

CURRENT_END = "current_end"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a sandbox's machine costs its host, at one moment."""

    sandbox: str
    """The sandbox's id."""
    at: datetime
    cpu_s: float
    """Processor time since the machine's start."""
    cpu_percent: float | None
    """Of one processor, since the sample before; None for the first one."""
    memory_pss_bytes: int
    """Its share of memory: pages shared with other machines are split among them."""
    disk_bytes: int
    """What it has written."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("usage", value)
        return cls(
            sandbox=read.text("sandbox"),
            at=read.moment("at"),
            cpu_s=read.number("cpu_s"),
            cpu_percent=read.optional("cpu_percent", read.number),
            memory_pss_bytes=read.whole("memory_pss_bytes"),
            disk_bytes=read.whole("disk_bytes"),
        )


Told: TypeAlias = SandboxInfo | ConsoleInfo | ApprovalInfo | Usage
_PARSERS: dict[str, Callable[[Any], Told]] = {
    "sandbox": SandboxInfo.parse,
    "console": ConsoleInfo.parse,
    "approval": ApprovalInfo.parse,
    "usage": Usage.parse,
}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that is so, or has changed."""

    topic: str
    """sandbox, console, approval or usage; `current_end` once, behind the state things had when the subscription began."""
    change: str | None
    """current, changed, or gone: removed, or no longer what was asked for. None at `current_end`."""
    value: Told | None
    """The thing as it is now. None at `current_end`, and for topics this version does not know."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("event", value)
        topic = read.text("topic")
        if topic == CURRENT_END:
            return cls(topic, None, None)
        parse = _PARSERS.get(topic)
        return cls(topic, read.text("change"), parse(value.get("value")) if parse else None)
