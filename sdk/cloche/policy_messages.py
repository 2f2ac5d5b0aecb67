"""What the hub says of its policy, as typed values. Pure; see `cloche.messages`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from cloche.answers import Answer


@dataclass(frozen=True, slots=True)
class PolicyInfo:
    """The policy in force."""

    source: str
    """Its file on the hub's host, or `built-in`."""
    text: str
    """As it was read."""
    digest: str
    """sha256 hex of the text; the audit has it, too."""
    loaded_at: datetime
    rules: int
    """How many."""
    error: str | None
    """What is wrong with the file now: then the policy in force is an older one, or one that denies everything."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("policy", value)
        return cls(
            source=read.text("source"),
            text=read.text("text"),
            digest=read.text("digest"),
            loaded_at=read.moment("loaded_at"),
            rules=read.whole("rules"),
            error=read.optional("error", read.text),
        )


@dataclass(frozen=True, slots=True)
class PolicyChecked:
    """What a policy is worth, and what it says of a call."""

    rules: int
    """How many; 0 if there are problems."""
    problems: Sequence[str]
    """What is wrong with it, each naming the rule and the key; none: it can be used."""
    verdict: str | None
    """allow, deny or ask; None if no call was asked about, or there are problems."""
    rule: str | None
    """The rule that decides, or `default`; None as above."""
    reason: str | None
    """Why, in the policy's words; None as above."""
    deadline_s: float | None
    """How long an operator would have; None unless the verdict is to ask."""
    on_deadline: str | None
    """deny or allow, if nobody decides by then; None unless the verdict is to ask."""

    @property
    def ok(self) -> bool:
        """Whether it can be used."""
        return not self.problems

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("check", value)
        return cls(
            rules=read.whole("rules"),
            problems=read.texts("problems"),
            verdict=read.optional("verdict", read.text),
            rule=read.optional("rule", read.text),
            reason=read.optional("reason", read.text),
            deadline_s=read.optional("deadline_s", read.number),
            on_deadline=read.optional("on_deadline", read.text),
        )
