"""What may leave a sandbox: a policy is rules in order, a call is decided by the first that matches.

Pure: `decide(policy, call)` is the whole of it. How a policy is written is `policy_text`.

Rule: nothing passes because something could not be told. Where no rule matches, the default decides, which is never
to allow. A condition that cannot be told (a missing key, a value of another type) is not met where the rule would
allow or ask, and is met where it would deny.
Rule: what no rule asked to be let through is not let through by a deadline either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cloche_hub.domain.approval import OnDeadline
from cloche_hub.domain.callback_json import JsonValue
from cloche_hub.domain.globs import matches
from cloche_hub.domain.policy_conditions import Condition
from cloche_hub.domain.sandbox import NOTHING

DEFAULT_RULE = "default"
"""The name of what decides where no rule matches; no rule may be called so."""
DEADLINE_S = 300.0
"""How long an operator has where the policy does not say."""


class Verdict(StrEnum):
    """What becomes of a call."""

    ALLOW = "allow"
    """It goes to its handler at once."""
    DENY = "deny"
    """It is refused."""
    ASK = "ask"
    """An operator decides."""


@dataclass(frozen=True, slots=True)
class Call:
    """A callback, as a policy sees it. Who calls is what the link says, never what the guest says."""

    method: str
    params: JsonValue
    owner: str
    """The sandbox's."""
    labels: Mapping[str, str]
    """The sandbox's."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Calls, and what becomes of them."""

    name: str
    """One of its own in the policy."""
    verdict: Verdict
    methods: tuple[str, ...]
    """Patterns, one of which must match."""
    owners: tuple[str, ...] = ()
    """Patterns, one of which must match; none: everybody's."""
    labels: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """Patterns for labels, all of which must be there and match."""
    conditions: tuple[Condition, ...] = ()
    """All must be met."""
    deadline_s: float = DEADLINE_S
    """How long an operator has; for ASK."""
    on_deadline: OnDeadline = OnDeadline.DENY
    """What becomes of a call nobody has decided by then; for ASK."""
    reason: str = ""
    """Shown to the guest and to operators."""

    def matches(self, call: Call) -> bool:
        """Whether this rule decides a call that no rule before it does."""
        return (
            _any_matches(self.methods, call.method)
            and (not self.owners or _any_matches(self.owners, call.owner))
            and all(
                key in call.labels and matches(pattern, call.labels[key])
                for key, pattern in self.labels.items()
            )
            and all(self._is_met(condition, call.params) for condition in self.conditions)
        )

    def _is_met(self, condition: Condition, params: JsonValue) -> bool:
        # SAFETY: the guest chooses the parameters. What cannot be told must not open a way: it counts for a denial
        # and against everything else.
        holds = condition.holds(params)
        return self.verdict is Verdict.DENY if holds is None else holds


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in order, and what decides where none matches.

    Raises:
        ValueError: the default would allow.
    """

    rules: tuple[Rule, ...] = ()
    default: Verdict = Verdict.DENY
    """DENY or ASK."""
    deadline_s: float = DEADLINE_S
    """How long an operator has where the default is to ask."""
    reason: str = ""
    """Of the default; empty: that no rule matches."""

    def __post_init__(self) -> None:
        if self.default is Verdict.ALLOW:
            raise ValueError("a policy that allows by default is none")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy says of one call."""

    verdict: Verdict
    rule: str
    """The name of the rule, or `DEFAULT_RULE`."""
    deadline_s: float
    """How long an operator has; for ASK."""
    on_deadline: OnDeadline
    """What becomes of the call if nobody decides by then; for ASK."""
    reason: str
    """Why, in the policy's words; may be empty."""

    @property
    def refusal(self) -> str:
        """The message of a denial, which names the rule."""
        by = "denied by the policy" if self.rule == DEFAULT_RULE else f"denied by rule {self.rule!r}"
        return f"{by}: {self.reason}" if self.reason else by


def decide(policy: Policy, call: Call) -> Decision:
    """What a policy says of a call: the first rule that matches, else the default."""
    for rule in policy.rules:
        if rule.matches(call):
            return Decision(rule.verdict, rule.name, rule.deadline_s, rule.on_deadline, rule.reason)
    reason = policy.reason or f"no rule matches {call.method!r}"
    return Decision(policy.default, DEFAULT_RULE, policy.deadline_s, OnDeadline.DENY, reason)


def deny_everything(reason: str) -> Policy:
    """The policy in force where there should be another one."""
    return Policy(reason=reason)


def _any_matches(patterns: tuple[str, ...], text: str) -> bool:
    return any(matches(pattern, text) for pattern in patterns)
