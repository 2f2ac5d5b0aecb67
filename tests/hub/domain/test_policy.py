"""Deciding: the first rule that matches, and nothing that passes because it could not be told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.approval import OnDeadline
from cloche_hub.domain.callback_json import JsonValue
from cloche_hub.domain.policy import (
    DEFAULT_RULE,
    Call,
    Decision,
    Policy,
    Rule,
    Verdict,
    decide,
    deny_everything,
)
from cloche_hub.domain.policy_conditions import AtMost, Condition, Like, OneOf
from tests.hub.domain.test_callback_json import values

CALL = Call("pay.send", {"amount": 5, "to": "bob"}, "alice", {"team": "ml-infra"})
ALLOW = Rule("everything", Verdict.ALLOW, ("*",))
SMALL = Condition(("amount",), (AtMost(100),))

conditions = st.sampled_from(
    [SMALL, Condition(("to",), (Like("b*"),)), Condition(("x", "y"), (OneOf((True, "a", 1)),))]
)
rules = st.builds(
    Rule,
    st.text("abc", min_size=1, max_size=3),
    st.sampled_from(Verdict),
    st.lists(st.sampled_from(["*", "pay.*", "mail"]), min_size=1, max_size=2).map(tuple),
    owners=st.sampled_from([(), ("alice",), ("b*",)]),
    labels=st.sampled_from([{}, {"team": "ml*"}, {"tier": "*"}]),
    conditions=st.lists(conditions, max_size=2).map(tuple),
    on_deadline=st.sampled_from(OnDeadline),
)
policies = st.builds(
    Policy, st.lists(rules, max_size=4).map(tuple), st.sampled_from([Verdict.DENY, Verdict.ASK])
)
params = values | st.fixed_dictionaries({}, optional={"amount": values, "to": values, "x": values})
calls = st.builds(
    Call,
    st.sampled_from(["pay.send", "mail", "other"]),
    params,
    st.sampled_from(["alice", "bob"]),
    st.sampled_from([{}, {"team": "ml-infra"}, {"team": "web", "tier": "1"}]),
)


@given(policies, calls)
def test_the_first_rule_that_matches_decides_and_the_rest_does_not_matter(policy: Policy, call: Call) -> None:
    decision = decide(policy, call)
    matching = [rule for rule in policy.rules if rule.matches(call)]
    if not matching:
        assert (decision.rule, decision.verdict) == (DEFAULT_RULE, policy.default)
        return
    first = matching[0]
    assert decision == Decision(first.verdict, first.name, first.deadline_s, first.on_deadline, first.reason)
    until = policy.rules[: policy.rules.index(first) + 1]
    assert decide(replace(policy, rules=until), call) == decision


@given(policies, calls)
def test_nothing_passes_without_a_rule_that_lets_it(policy: Policy, call: Call) -> None:
    decision = decide(policy, call)
    if decision.rule == DEFAULT_RULE:
        assert decision.verdict is not Verdict.ALLOW
        assert decision.on_deadline is OnDeadline.DENY


@given(conditions, params)
def test_what_cannot_be_told_denies_and_neither_allows_nor_asks(
    condition: Condition, given: JsonValue
) -> None:
    holds = condition.holds(given)
    call = replace(CALL, params=given)
    for verdict in Verdict:
        rule = Rule("r", verdict, ("*",), conditions=(condition,))
        assert rule.matches(call) is (verdict is Verdict.DENY if holds is None else holds)


@pytest.mark.parametrize("given", [{}, {"amount": "5"}, {"amount": True}, {"amount": None}, [], None, "5"])
def test_a_limit_on_a_number_is_not_got_around_by_another_type(given: JsonValue) -> None:
    call = replace(CALL, params=given)
    assert not Rule("r", Verdict.ALLOW, ("*",), conditions=(SMALL,)).matches(call)
    assert Rule("r", Verdict.DENY, ("*",), conditions=(SMALL,)).matches(call)


def test_a_condition_that_fails_keeps_a_denial_from_matching_whatever_another_cannot_tell() -> None:
    missing, to_eve = Condition(("missing",), (Like("*"),)), Condition(("to",), (OneOf(("eve",)),))
    assert not Rule("r", Verdict.DENY, ("*",), conditions=(missing, to_eve)).matches(CALL)


@pytest.mark.parametrize(
    ("changes", "matches"),
    [
        ({}, True),
        ({"methods": ("mail", "pay.*")}, True),
        ({"methods": ("pay",)}, False),
        ({"owners": ("bob", "al*")}, True),
        ({"owners": ("bob",)}, False),
        ({"labels": {"team": "ml*"}}, True),
        ({"labels": {"team": "ml"}}, False),
        ({"labels": {"team": "ml*", "tier": "*"}}, False),
        ({"conditions": (SMALL,)}, True),
        ({"conditions": (SMALL, Condition(("to",), (OneOf(("eve",)),)))}, False),
    ],
)
def test_a_rule_matches_if_everything_it_says_does(changes: dict[str, object], matches: bool) -> None:
    assert replace(ALLOW, **changes).matches(CALL) is matches  # type: ignore[arg-type]


def test_a_decision_carries_what_the_rule_says_of_deadlines() -> None:
    ask = Rule(
        "ask", Verdict.ASK, ("*",), deadline_s=9, on_deadline=OnDeadline.ALLOW, reason="over the limit"
    )
    assert decide(Policy((ask,)), CALL) == Decision(Verdict.ASK, "ask", 9, OnDeadline.ALLOW, "over the limit")


def test_the_default_has_a_deadline_and_ends_in_denial() -> None:
    decision = decide(Policy(default=Verdict.ASK, deadline_s=7), CALL)
    assert decision == Decision(Verdict.ASK, "default", 7, OnDeadline.DENY, "no rule matches 'pay.send'")


def test_no_policy_allows_by_default() -> None:
    with pytest.raises(ValueError, match="allows by default"):
        Policy(default=Verdict.ALLOW)


def test_a_refusal_names_the_rule_and_its_reason() -> None:
    deny = Rule("no payments", Verdict.DENY, ("pay.*",), reason="the budget is spent")
    assert decide(Policy((deny,)), CALL).refusal == "denied by rule 'no payments': the budget is spent"
    assert decide(Policy((replace(deny, reason=""),)), CALL).refusal == "denied by rule 'no payments'"
    assert decide(Policy(), CALL).refusal == "denied by the policy: no rule matches 'pay.send'"


def test_a_policy_that_stands_for_a_broken_one_denies_everything_and_says_why() -> None:
    decision = decide(deny_everything("policy.toml: line 3 is wrong"), CALL)
    assert decision.verdict is Verdict.DENY
    assert decision.refusal == "denied by the policy: policy.toml: line 3 is wrong"
