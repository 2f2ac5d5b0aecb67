"""A policy as people write it: TOML, checked to the last key.

    default = "deny"                # what becomes of a call that no rule matches: deny or ask

    [ask]                           # for rules that ask and say nothing else
    deadline = "5m"
    on_deadline = "deny"

    [[rule]]
    name = "small payments"
    methods = ["pay.*"]
    params = [{ at = "amount", at_most = 100 }, { at = "to.country", one_of = ["CH", "DE"] }]
    verdict = "ask"

Pure: text in, value or problems out. Rule: every problem names the rule and the key, all of them are told at once, and
one is enough to refuse the whole: half a policy is none.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

from cloche_hub.domain.approval import MAX_REASON, OnDeadline
from cloche_hub.domain.callback_json import MAX_WHOLE, MIN_WHOLE
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.globs import MAX_GLOB
from cloche_hub.domain.policy import DEADLINE_S, DEFAULT_RULE, Policy, Rule, Verdict
from cloche_hub.domain.policy_conditions import AtLeast, AtMost, Condition, Like, OneOf, Scalar, Test
from cloche_hub.domain.policy_tables import Table, Wrong, is_table, member_of, quoted, tables, text_of, texts
from cloche_hub.domain.requests import parse_labels
from cloche_hub.errors import BadRequest

MAX_POLICY_BYTES = 64 << 10
"""Bytes of a policy's text in UTF-8."""
MAX_RULES = 256
MAX_CONDITIONS = 512
"""Of all rules together."""
MAX_RULE_NAME = 64
"""Characters."""
MAX_PROBLEMS = 20
"""That are told at once."""
MIN_DEADLINE_S = 1.0
MAX_DEADLINE_S = 30 * 86400.0

BUILT_IN = f"""\
# In force while there is no policy file: an operator decides everything.
default = "ask"

[ask]
deadline = "{DEADLINE_S / 60:.0f}m"
on_deadline = "deny"
"""
"""The policy of a hub that has been given none."""

_MAX_PATTERNS = 64
_MAX_VALUES = 256
_MAX_STEPS = 16
_WHOLE_VALUE = "."
_METHOD_PATTERN = re.compile(r"[A-Za-z0-9_.:/*?-]+", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
# The parser's time grows with the square of a dotted key's parts. Parts longer than 64 are too few to matter.
_MANY_DOTS = re.compile(r"""(?:(?:[A-Za-z0-9_-]{1,64}|"[^"\n]{0,64}"|'[^'\n]{0,64}')[ \t]*\.[ \t]*){32}""")
_MAX_DURATION = 32
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Ask:
    deadline_s: float = DEADLINE_S
    on_deadline: OnDeadline = OnDeadline.DENY


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    problems: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    conditions: int = 0


def parse_policy(text: str, where: str) -> Policy:
    """The policy written in a text.

    Args:
        text: TOML.
        where: the file, as the message names it.

    Raises:
        BadRequest: there are problems; the message has the first, `details["problems"]` all.
    """
    policy, problems = read_policy(text)
    if policy is None:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise BadRequest(f"{where}: {problems[0]}{more}", problems=problems)
    return policy


def read_policy(text: str) -> tuple[Policy | None, list[str]]:
    """The policy written in a text, or what is wrong with it, at most `MAX_PROBLEMS` lines."""
    if len(text.encode(errors="replace")) > MAX_POLICY_BYTES:
        return None, [f"it is longer than {MAX_POLICY_BYTES} bytes"]
    if dotted := _MANY_DOTS.search(text):
        line = text.count("\n", 0, dotted.start()) + 1
        return None, [f"more than 32 names are joined by dots (at line {line}); no key of a policy has any"]
    try:
        values = tomllib.loads(text)
    except ValueError as error:
        # Not only TOMLDecodeError: a number of thousands of digits has an error of its own.
        return None, [str(error)]
    except RecursionError:
        return None, ["tables or lists are nested too deeply"]
    reading = _Reading()
    policy = _policy(values, reading)
    return (None, reading.problems[:MAX_PROBLEMS]) if reading.problems else (policy, [])


def _policy(values: dict[str, Any], reading: _Reading) -> Policy:
    top = Table("", values, reading.problems, ("default", "ask", "rule"))
    default = top.take("default", _default, Verdict.DENY)
    ask = _ask(Table("ask: ", top.take("ask", is_table, {}), reading.problems, ("deadline", "on_deadline")))
    rules: list[dict[str, Any]] = top.take("rule", tables, [])
    if len(rules) > MAX_RULES:
        reading.problems.append(f"there are {len(rules)} rules; the limit is {MAX_RULES}")
        rules = []
    made = tuple(_rule(number, rule, ask, reading) for number, rule in enumerate(rules, 1))
    if reading.conditions > MAX_CONDITIONS:
        reading.problems.append(f"there are {reading.conditions} conditions; the limit is {MAX_CONDITIONS}")
    return Policy(made, default, ask.deadline_s)


def _ask(table: Table) -> _Ask:
    return _Ask(
        table.take("deadline", _duration, DEADLINE_S),
        table.take("on_deadline", lambda value: member_of(OnDeadline, value), OnDeadline.DENY),
    )


_RULE_KEYS = (
    *("name", "methods", "owners", "labels", "params"),
    *("verdict", "deadline", "on_deadline", "reason"),
)


def _rule(number: int, values: dict[str, Any], ask: _Ask, reading: _Reading) -> Rule:
    table = Table(_said(number, values), values, reading.problems, _RULE_KEYS)
    name = table.need("name", _rule_name, "")
    if name and name in reading.names:
        table.tell("name", "another rule has it; give each one of its own")
    reading.names.add(name)
    verdict = table.need("verdict", lambda value: member_of(Verdict, value), Verdict.DENY)
    rule = Rule(
        name=name,
        verdict=verdict,
        methods=table.need("methods", _methods, ()),
        owners=table.take("owners", _patterns, ()),
        labels=table.take("labels", _labels, {}),
        conditions=_conditions(table, reading),
        deadline_s=table.take("deadline", _duration, ask.deadline_s),
        on_deadline=table.take("on_deadline", lambda value: member_of(OnDeadline, value), ask.on_deadline),
        reason=table.take("reason", lambda value: text_of(value, most=MAX_REASON), ""),
    )
    for key in ("deadline", "on_deadline"):
        if verdict is not Verdict.ASK and key in values:
            table.tell(key, f'is for verdict = "ask"; this rule is to {verdict}')
    return rule


def _said(number: int, values: dict[str, Any]) -> str:
    name = values.get("name")
    return f"rule {number} {quoted(name)}: " if isinstance(name, str) and name else f"rule {number}: "


def _conditions(table: Table, reading: _Reading) -> tuple[Condition, ...]:
    conditions: list[dict[str, Any]] = table.take("params", tables, [])
    reading.conditions += len(conditions)
    return tuple(
        _condition(Table(f"{table.where}params[{index}]: ", values, reading.problems, ("at", *_TESTS)))
        for index, values in enumerate(conditions)
    )


def _condition(table: Table) -> Condition:
    way: tuple[str, ...] = table.need("at", _way, ())
    made = [table.take(key, make, None) for key, make in _TESTS.items() if key in table.values]
    # A test that is misspelt has been told as an unknown key.
    if table.values.keys() <= {"at"}:
        table.tell("at", f"says what to look at, but not what for; give one of {', '.join(_TESTS)}")
    match table.values:
        case {"at_least": int() | float() as least, "at_most": int() | float() as most} if least > most:
            table.tell(
                "at_least", f"is above at_most, so that no number will do: {quoted(least)} > {quoted(most)}"
            )
    return Condition(way, tuple(test for test in made if test is not None))


def _way(value: object) -> tuple[str, ...]:
    if value == _WHOLE_VALUE:
        return ()
    steps = tuple(value.split(".")) if isinstance(value, str) else texts(value, most=_MAX_STEPS)
    if len(steps) > _MAX_STEPS or not all(0 < len(step) <= MAX_GLOB for step in steps):
        raise Wrong(
            f"expected a way such as 'to.country' or ['a.b', 'c'], at most {_MAX_STEPS} steps, "
            f"or {_WHOLE_VALUE!r} for all of it; it is {quoted(value)}"
        )
    return steps


def _scalar(value: object) -> Scalar:
    match value:
        case bool() | str():
            return value
        case int() | float():
            return _number(value)
        case _:
            raise Wrong(f"expected a text, a number, true or false; it is {quoted(value)}")


def _number(value: Any) -> int | float:
    match value:
        case bool():
            good = False
        case int():
            good = MIN_WHOLE <= value <= MAX_WHOLE
        case float():
            good = math.isfinite(value)
        case _:
            good = False
    if not good:
        raise Wrong(f"expected a number of at most 64 bits; it is {quoted(value)}")
    number: int | float = value
    return number


def _one_of(value: object) -> Test:
    if not isinstance(value, list) or not 0 < len(value) <= _MAX_VALUES:
        raise Wrong(f"expected a list of 1 to {_MAX_VALUES} values; it is {quoted(value)}")
    return OneOf(tuple(map(_scalar, value)))


_TESTS = {
    "is": lambda value: OneOf((_scalar(value),)),
    "one_of": _one_of,
    "at_least": lambda value: AtLeast(_number(value)),
    "at_most": lambda value: AtMost(_number(value)),
    "like": lambda value: Like(text_of(value, most=MAX_GLOB, printable=False)),
}
"""Key of a condition → the test it makes."""


def _default(value: object) -> Verdict:
    if value == Verdict.ALLOW:
        raise Wrong("may be 'deny' or 'ask' only; to allow everything, end with a rule that says so")
    return member_of(Verdict, value, but=(Verdict.ALLOW,))


def _rule_name(value: object) -> str:
    name = text_of(value, most=MAX_RULE_NAME)
    if name.strip() != name or name == DEFAULT_RULE:
        raise Wrong(f"{quoted(name)} will not do: no space at its ends, and not {DEFAULT_RULE!r}")
    return name


def _patterns(value: object) -> tuple[str, ...]:
    patterns = texts(value, most=_MAX_PATTERNS)
    return tuple(text_of(pattern, most=MAX_GLOB) for pattern in patterns)


def _methods(value: object) -> tuple[str, ...]:
    patterns = _patterns(value)
    for pattern in patterns:
        if not _METHOD_PATTERN.fullmatch(pattern):
            raise Wrong(
                f"{quoted(pattern)} matches no method: one has letters, digits and any of _ . : / - "
                "(in a pattern also * and ?)"
            )
    return patterns


def _labels(value: object) -> dict[str, str]:
    try:
        return parse_labels(Fields({"labels": value}))
    except BadRequest as error:
        raise Wrong(error.message) from None


def _duration(value: object) -> float:
    seconds = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value
    elif isinstance(value, str) and len(value) <= _MAX_DURATION and _DURATION.fullmatch(value):
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(value))
    if not MIN_DEADLINE_S <= seconds <= MAX_DEADLINE_S:
        raise Wrong(f"expected a duration from 1s to 30d, such as '90s' or '1h30m'; it is {quoted(value)}")
    return float(seconds)
