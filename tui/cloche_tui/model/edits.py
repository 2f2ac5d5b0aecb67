"""Parameters that a person edits: whether they are good JSON, as they are typed, and what the edit changes. Pure.

What is taken is what a hub takes. Rule: what is wrong is told with its place, in words that say what to do about it.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cloche.json_text import shown_json, visible_json
from cloche_tui.model.figures import cut, size
from cloche_tui.model.roles import Line, Role, Span

MAX_BYTES = 128 << 10
MAX_DEPTH = 64
"""Lists and maps inside one another."""
MIN_WHOLE, MAX_WHOLE = -(1 << 63), (1 << 64) - 1

_AROUND = 2
"""Lines around a change."""
# Comparing takes a time that grows with the square of what is compared, and a guest chose half of it.
_COMPARED = 800
_MOST_SHOWN = 60

_TOKEN = re.compile(
    r'"(?P<text>(?:[^"\\]|\\.)*)"|(?P<number>-?\d[\d.eE+-]*)|(?P<word>-?[A-Za-z]+)|(?P<mark>[{}\[\]:,])'
)
_HALF = re.compile(r"[\ud800-\udfff]")
_SAID = {
    "Expecting value": "a value is missing here",
    "Expecting property name enclosed in double quotes": "a name in double quotes, or the end of the map, is missing here",
    "Expecting ':' delimiter": "a colon is missing here",
    "Expecting ',' delimiter": "a comma, or the end of the list or map, is missing here",
    "Illegal trailing comma before end of object": "a comma too many",
    "Illegal trailing comma before end of array": "a comma too many",
    "Unterminated string starting at": "a text that begins here does not end",
    "Invalid control character at": "a line end or tab in a text; write \\n or \\t",
    "Invalid \\escape": "no such escape; write \\\\ for a backslash",
    "Invalid \\uXXXX escape": "four hexadecimal digits are missing behind \\u",
    "Extra data": "there is more behind the end of the value",
}


@dataclass(frozen=True, slots=True)
class Good:
    """JSON that can be let through."""

    value: Any


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong, and where."""

    why: str
    line: int
    """From 1."""
    column: int
    """In characters, from 1."""

    @property
    def text(self) -> str:
        """All of it, for one line."""
        return f"line {self.line}, column {self.column}: {self.why}"


def editable(params: Any) -> str:
    """Parameters as a text to edit: indented, and everything in it can be seen."""
    # SAFETY: a guest wrote them, and an editor shows what it gets.
    return shown_json(params)


def check(text: str) -> Good | Wrong:
    """What a text is, as it stands now."""
    if not text.strip():
        return Wrong("nothing is there; close this to leave the call as it is", 1, 1)
    try:
        number_of_bytes = len(text.encode())
    except UnicodeEncodeError as error:
        return _wrong(text, error.start, "half a character")
    if number_of_bytes > MAX_BYTES:
        return Wrong(f"{size(number_of_bytes)} of JSON; at most {size(MAX_BYTES)} are taken", 1, 1)
    try:
        # Numbers come later: what is wrong with them is told with their place.
        json.loads(text, parse_int=len, parse_float=len, parse_constant=len)
    except json.JSONDecodeError as error:
        return _wrong(
            text, error.pos, _SAID.get(error.msg.removesuffix(" at"), _SAID.get(error.msg, error.msg))
        )
    except RecursionError:
        pass
    offence = _Reader(text).offence()
    if offence is not None:
        return _wrong(text, *offence)
    value = json.loads(text)
    if value is None:
        return _wrong(
            text, text.index("n"), "null stands for what was asked; close this and approve the call as it is"
        )
    return Good(value)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: unlike for Python, neither 1 and true nor 1 and 1.0 are."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def changes(asked: Any, edited: Any) -> Sequence[Line]:
    """What an edit changes, as a diff of the indented JSON; empty: nothing."""
    before, after = (shown_json(value).split("\n") for value in (asked, edited))
    if before == after:
        return ()
    return [_diff_line(line) for line in _diff(before, after)]


def _diff(before: list[str], after: list[str]) -> Iterator[str]:
    shortest = min(len(before), len(after))
    head = next((at for at in range(shortest) if before[at] != after[at]), shortest)
    left = shortest - head
    tail = next((at for at in range(left) if before[-1 - at] != after[-1 - at]), left)
    removed, added = before[head : len(before) - tail], after[head : len(after) - tail]
    if max(len(removed), len(added)) > _COMPARED:
        yield f"@@ -{head + 1},{len(removed)} +{head + 1},{len(added)} @@"
        yield from (f"-{line}" for line in removed)
        yield from (f"+{line}" for line in added)
        return
    # What is the same at both ends is compared no further than it is shown.
    first, last = max(head - _AROUND, 0), max(tail - _AROUND, 0)
    lines = difflib.unified_diff(
        before[first : len(before) - last], after[first : len(after) - last], lineterm="", n=_AROUND
    )
    for number, line in enumerate(lines):
        # The first two name files.
        if number > 1:
            yield _moved(line, first) if line.startswith("@@") else line


def _moved(hunk: str, by: int) -> str:
    return re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + by}", hunk)


_DIFF_ROLES = {"+": Role.GOOD, "-": Role.BAD}
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")


def _diff_line(text: str) -> Line:
    if (hunk := _HUNK.fullmatch(text)) is not None:
        return (Span(f"line {hunk[1]}", Role.MUTED),)
    return (Span(text, _DIFF_ROLES.get(text[:1], Role.PLAIN)),)


def hub_diff(lines: Sequence[str]) -> Sequence[Line]:
    """The diff that a hub keeps of an edit, without the two lines that name it."""
    # SAFETY: half of it a guest wrote, and the hub does not escape it.
    return [_diff_line(visible_json(line)) for line in lines if line not in ("--- asked", "+++ approved")]


def _wrong(text: str, at: int, why: str) -> Wrong:
    before = text[:at]
    return Wrong(why, before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1)


@dataclass(slots=True)
class _Reader:
    """Looks through JSON that is well-formed, or too deep to tell, for what not every reader understands alike."""

    text: str
    names: list[set[str] | None] = field(default_factory=list)
    """For each list and map one is in: the names so far, or None for a list."""

    def offence(self) -> tuple[int, str] | None:
        """The first one: where, and what."""
        found = list(_TOKEN.finditer(self.text))
        for number, token in enumerate(found):
            follower = found[number + 1][0] if number + 1 < len(found) else ""
            why = self._judge(token, is_name=follower == ":")
            if why is not None:
                return token.start(), why
        return None

    def _judge(self, token: re.Match[str], *, is_name: bool) -> str | None:
        if token["mark"] is not None:
            return self._nest(token["mark"])
        if token["number"] is not None:
            return _judge_number(token["number"])
        if token["word"] is not None:
            return (
                None
                if token["word"] in ("true", "false", "null")
                else f"{token['word']} is no number in JSON"
            )
        return self._judge_text(token[0], is_name=is_name)

    def _nest(self, mark: str) -> str | None:
        if mark in "{[":
            self.names.append(set() if mark == "{" else None)
            return (
                f"more than {MAX_DEPTH} lists and maps inside one another"
                if len(self.names) > MAX_DEPTH
                else None
            )
        if mark in "}]":
            self.names.pop()
        return None

    def _judge_text(self, quoted: str, *, is_name: bool) -> str | None:
        text = json.loads(quoted)
        if _HALF.search(text):
            return "half of a pair of \\u escapes, which is no character"
        names = self.names[-1] if self.names else None
        if not is_name or names is None:
            return None
        if text in names:
            return f"the name {cut(visible_json(quoted), _MOST_SHOWN)} comes twice in this map"
        names.add(text)
        return None


def _judge_number(text: str) -> str | None:
    if not re.search(r"[.eE]", text):
        # The length first: a number of a thousand digits takes a while.
        if len(text) > 20 or not MIN_WHOLE <= int(text) <= MAX_WHOLE:
            return "a number of more than 64 bits; give it as a text"
        return None
    return "too large a number; give it as a text" if abs(float(text)) == float("inf") else None
