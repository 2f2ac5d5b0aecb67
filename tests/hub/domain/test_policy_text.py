"""The policy file: what can be written, and what each mistake is told as."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.approval import OnDeadline
from cloche_hub.domain.policy import Policy, Rule, Verdict
from cloche_hub.domain.policy_conditions import AtLeast, AtMost, Condition, Like, OneOf
from cloche_hub.domain.policy_text import (
    BUILT_IN,
    MAX_CONDITIONS,
    MAX_POLICY_BYTES,
    MAX_PROBLEMS,
    MAX_RULES,
    parse_policy,
    read_policy,
)
from cloche_hub.errors import BadRequest

WHOLE = """
default = "deny"

[ask]
deadline = "10m"
on_deadline = "allow"

[[rule]]
name = "small payments"
methods = ["pay.*", "refund"]
owners = ["alice", "team-*"]
labels = { team = "ml*", "example.com/tier" = "?" }
params = [
    { at = "amount", at_least = 1, at_most = 99.5 },
    { at = "to.country", one_of = ["CH", 41, true] },
    { at = ["a.b", "0"], is = false },
    { at = ".", like = "https://example.com/*" },
]
verdict = "ask"
deadline = "1h30m"
on_deadline = "deny"
reason = "somebody should see it"

[[rule]]
name = "the rest of payments"
methods = ["*"]
verdict = "ask"

[[rule]]
name = "reading"
methods = ["read"]
verdict = "allow"
"""
RULE = '[[rule]]\nname = "a"\nmethods = ["*"]\nverdict = "ask"\n'


def problems_of(text: str) -> list[str]:
    policy, problems = read_policy(text)
    assert (policy is None) is bool(problems)
    return problems


def test_everything_that_can_be_written_is_read() -> None:
    assert parse_policy(WHOLE, "policy.toml") == Policy(
        rules=(
            Rule(
                name="small payments",
                verdict=Verdict.ASK,
                methods=("pay.*", "refund"),
                owners=("alice", "team-*"),
                labels={"team": "ml*", "example.com/tier": "?"},
                conditions=(
                    Condition(("amount",), (AtLeast(1), AtMost(99.5))),
                    Condition(("to", "country"), (OneOf(("CH", 41, True)),)),
                    Condition(("a.b", "0"), (OneOf((False,)),)),
                    Condition((), (Like("https://example.com/*"),)),
                ),
                deadline_s=5400,
                on_deadline=OnDeadline.DENY,
                reason="somebody should see it",
            ),
            Rule("the rest of payments", Verdict.ASK, ("*",), deadline_s=600, on_deadline=OnDeadline.ALLOW),
            Rule("reading", Verdict.ALLOW, ("read",), deadline_s=600, on_deadline=OnDeadline.ALLOW),
        ),
        default=Verdict.DENY,
        deadline_s=600,
    )


def test_a_hub_that_was_given_none_asks_for_everything() -> None:
    assert parse_policy(BUILT_IN, "built-in") == Policy(default=Verdict.ASK, deadline_s=300)


def test_an_empty_policy_denies_everything() -> None:
    assert parse_policy("", "policy.toml") == Policy()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("defualt = 'ask'", "unknown key 'defualt'; did you mean 'default'?"),
        ("default = 'allow'", "default: may be 'deny' or 'ask' only"),
        (
            "default = 'dney'",
            "default: expected 'deny' or 'ask'; it is 'dney'; did you mean 'deny'?",
        ),
        ("ask = 3", "ask: expected a table; it is 3"),
        ("[ask]\ndeadlin = 3", "ask: unknown key 'deadlin'; did you mean 'deadline'?"),
        ("[ask]\non_deadline = 'ask'", "ask: on_deadline: expected 'deny' or 'allow'; it is 'ask'"),
        ("rule = 3", "rule: expected a list of tables; it is 3"),
        ("[rule]\nname = 'a'", "rule: expected a list of tables"),
        ("a = ", "Invalid value (at "),
        ("a = 1\na = 2\n", "Cannot overwrite a value (at line 2, column 6)"),
        ("a = " + "[" * 9999, "tables or lists are nested too deeply"),
        ("a = " + "9" * 9999, "Exceeds the limit"),
        ("\n" + "a." * 30_000 + "a = 1", "more than 32 names are joined by dots (at line 2)"),
    ],
)
def test_a_mistake_outside_the_rules_is_named(text: str, problem: str) -> None:
    assert problem in problems_of(text)[0]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("method = ['a']", "unknown key 'method'; did you mean 'methods'?"),
        ("owners = []", "owners: expected a list of 1 to 64 texts; it is []"),
        ("owners = ['a', '']", "owners: expected one line of text of at most 256 characters; it is ''"),
        (f"owners = ['{'a' * 257}']", "owners: expected one line of text of at most 256 characters"),
        ("labels = 3", "labels: labels must be a map of texts to texts"),
        ("labels = { 'A B' = 'x' }", "labels: labels has a key 'A B'"),
        ("labels = { a = 3 }", "labels: labels['a'] must be a text"),
        ("deadline = '0.5s'", "deadline: expected a duration from 1s to 30d"),
        ("deadline = '31d'", "it is '31d'"),
        ("deadline = '5 m'", "deadline: expected a duration"),
        ("deadline = true", "deadline: expected a duration"),
        ("deadline = nan", "deadline: expected a duration"),
        (f"deadline = '{'1m' * 17}'", "deadline: expected a duration"),
        ("on_deadline = 'ask'", "on_deadline: expected 'deny' or 'allow'"),
        ("reason = ''", "reason: expected one line of text of at most 500 characters"),
        ("reason = '''a\nb'''", "reason: expected one line of text"),
        ("params = 3", "params: expected a list of tables"),
        ("params = [{ is = 1 }]", "params[0]: at: is missing"),
        (
            "params = [{ at = 'a' }]",
            "params[0]: at: says what to look at, but not what for; give one of is, one_of",
        ),
        ("params = [{ at = 'a', lik = 'b' }]", "params[0]: unknown key 'lik'; did you mean 'like'?"),
        ("params = [{ at = 'a..b', is = 1 }]", "params[0]: at: expected a way such as 'to.country'"),
        (f"params = [{{ at = '{'a.' * 16}a', is = 1 }}]", "params[0]: at: expected a way"),
        ("params = [{ at = 3, is = 1 }]", "params[0]: at: expected a list of 1 to 16 texts"),
        (
            "params = [{ at = 'a', is = [] }]",
            "params[0]: is: expected a text, a number, true or false; it is []",
        ),
        ("params = [{ at = 'a', one_of = [] }]", "params[0]: one_of: expected a list of 1 to 256 values"),
        ("params = [{ at = 'a', one_of = [{}] }]", "params[0]: one_of: expected a text, a number"),
        (
            "params = [{ at = 'a', at_most = nan }]",
            "params[0]: at_most: expected a number of at most 64 bits",
        ),
        ("params = [{ at = 'a', at_most = true }]", "params[0]: at_most: expected a number"),
        ("params = [{ at = 'a', at_least = '1' }]", "params[0]: at_least: expected a number"),
        (f"params = [{{ at = 'a', is = {1 << 64} }}]", "params[0]: is: expected a number of at most 64 bits"),
        (f"params = [{{ at = 'a', is = 0x{'f' * 9999} }}]", "it is a number of thousands of digits"),
        ("params = [{ at = 'a', at_least = 2, at_most = 1 }]", "no number will do: 2 > 1"),
        ("params = [{ at = 'a', like = 1 }]", "params[0]: like: expected a text of at most 256 characters"),
    ],
)
def test_a_mistake_in_a_rule_names_the_rule_and_the_key(line: str, problem: str) -> None:
    (told,) = problems_of(RULE + line)
    assert told.startswith("rule 1 'a': ")
    assert problem in told


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[rule]]\nmethods = ['*']\nverdict = 'deny'", "rule 1: name: is missing"),
        ("[[rule]]\nname = 3\nmethods = ['*']\nverdict = 'deny'", "rule 1: name: expected one line of text"),
        (RULE.replace('"a"', '"default"'), "rule 1 'default': name: 'default' will not do"),
        (RULE.replace('"a"', '" a"'), "rule 1 ' a': name: ' a' will not do"),
        (RULE.replace('"a"', f'"{"a" * 65}"'), "name: expected one line of text of at most 64 characters"),
        (RULE.replace('methods = ["*"]\n', ""), "rule 1 'a': methods: is missing"),
        (RULE.replace('"*"', '"a b"'), "rule 1 'a': methods: 'a b' matches no method"),
        (RULE.replace('verdict = "ask"', ""), "rule 1 'a': verdict: is missing"),
        (
            RULE.replace('"ask"', '"alow"'),
            "rule 1 'a': verdict: expected 'allow' or 'deny' or 'ask'; it is 'alow'",
        ),
        (RULE + RULE, "rule 2 'a': name: another rule has it"),
        (
            RULE.replace("ask", "deny") + "deadline = '1m'",
            'deadline: is for verdict = "ask"; this rule is to deny',
        ),
        (RULE.replace("ask", "allow") + "on_deadline = 'deny'", "on_deadline: is for verdict"),
    ],
)
def test_what_a_rule_must_have_is_missed(text: str, problem: str) -> None:
    (told,) = problems_of(text)
    assert problem in told


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("'90s'", 90), ("'1h30m'", 5400), ("'1.5m'", 90), ("'1000ms'", 1), ("'30d'", 30 * 86400), ("5", 5)],
)
def test_a_deadline_is_a_duration_as_everywhere_or_a_number_of_seconds(written: str, seconds: float) -> None:
    policy = parse_policy(f"{RULE}deadline = {written}", "policy.toml")
    assert policy.rules[0].deadline_s == seconds


def test_all_problems_are_told_at_once_up_to_a_limit() -> None:
    assert problems_of("x = 1\ndefault = 2\n[ask]\ndeadline = 0") == [
        "unknown key 'x'; known are default, ask, rule",
        "default: expected 'deny' or 'ask'; it is 2",
        "ask: deadline: expected a duration from 1s to 30d, such as '90s' or '1h30m'; it is 0",
    ]
    assert len(problems_of("\n".join(f"x{number} = 1" for number in range(99)))) == MAX_PROBLEMS


def test_counts_have_limits() -> None:
    def rule(number: int, conditions: int = 0) -> str:
        params = ", ".join(["{ at = 'a', is = 1 }"] * conditions)
        return f"[[rule]]\nname = '{number}'\nmethods = ['*']\nverdict = 'deny'\nparams = [{params}]\n"

    assert problems_of("".join(rule(number) for number in range(MAX_RULES))) == []
    assert problems_of("".join(rule(number) for number in range(MAX_RULES + 1))) == [
        "there are 257 rules; the limit is 256"
    ]
    assert problems_of(rule(1, MAX_CONDITIONS)) == []
    assert problems_of(rule(1, MAX_CONDITIONS) + rule(2, 1)) == ["there are 513 conditions; the limit is 512"]


def test_a_text_over_the_limit_is_not_even_read() -> None:
    text = "#" + "é" * (MAX_POLICY_BYTES // 2)
    assert problems_of(text) == ["it is longer than 65536 bytes"]
    assert problems_of(text[:-1]) == []


def test_the_error_names_the_file_and_has_all_problems() -> None:
    with pytest.raises(BadRequest, match=r"^/etc/p\.toml: unknown key 'x'; .* \(and 1 more\)$") as raised:
        parse_policy("x = 1\ny = 2", "/etc/p.toml")
    assert [problem[:15] for problem in raised.value.details["problems"]] == [
        "unknown key 'x'",
        "unknown key 'y'",
    ]
    with pytest.raises(BadRequest, match=r"^p\.toml: default: expected .* it is 2$"):
        parse_policy("default = 2", "p.toml")


pieces = st.sampled_from([*"[]{}=\"'.,\n 1ax", "rule", "[[rule]]\n", "params", "at", "ask", RULE])


@given(st.lists(pieces, max_size=30).map("".join) | st.text(max_size=30))
def test_any_text_is_a_policy_or_has_problems_that_are_short(text: str) -> None:
    assert all(len(problem) < 300 for problem in problems_of(text))
