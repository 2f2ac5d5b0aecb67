"""A call out of a sandbox as lines to read: its method and its parameters as indented JSON. Pure.

Rules:
- What is shown is the call and nothing else: what does not print, or turns its neighbours round, is written as JSON's
  own escape, and stands out. A text of several lines is broken behind its line ends only, behind a bar of its own.
- What is long or deep is folded, and says so with its size: nothing is left out silently. Folding never changes what
  an approval lets through.
- SAFETY: a guest chooses how many lines there are. Each is made when it is asked for, and none before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias

from cloche.json_text import brief_json, visible_json
from cloche.printable import printable
from cloche_tui.model.figures import count, cut, size
from cloche_tui.model.roles import Line, Role, Span

Path: TypeAlias = tuple[str | int | None, ...]
"""Where in the parameters something is; with None at its end: what follows the first members there."""

LONG_TEXT = 200
"""Characters of a text that are shown unasked."""
LONG_LINES = 12
"""Lines of a text that are shown unasked."""
LARGE = 2048
"""Characters of what is in a list or a map that is shown unasked."""
DEEP = 6
"""Lists and maps inside one another that are shown unasked."""
MANY = 50
"""Members of a list or a map that are shown unasked."""
_INLINE = 60
"""Characters of a list that stands in one line."""
_IN_BRIEF = 40
"""Characters of a member where a call stands in one line: one long text leaves room for the others."""

_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{4}|.)")
# Of a folded text; never half an escape.
_BEGINNING = 40
_BEGINS = re.compile(rf"(?:\\u[0-9a-f]{{4}}|\\.|[^\\]){{0,{_BEGINNING}}}")
_HARMLESS = frozenset({r"\n", r"\t", r"\"", r"\\"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
_ID = re.compile(r"[a-z]{2,4}_[0-9a-z]+", re.ASCII)
_UNFOLDS = "enter unfolds"


@dataclass(frozen=True, slots=True)
class CallLine:
    """A line of a call."""

    line: Line
    fold: Path | None = None
    """What can be folded or unfolded here."""
    indent: int = 0
    """Where its text begins, for what of it does not fit into one row."""
    is_folded: bool = False


def call_lines(method: str, params: Any, *, toggled: AbstractSet[Path] = frozenset()) -> Iterator[CallLine]:
    """A call, line by line, each of them made as it is asked for.

    Args:
        method: what is called.
        params: any JSON value.
        toggled: where a person has unfolded what was folded, or folded what was not.
    """
    # SAFETY: a guest wrote both. A method is in a form that the hub has checked; a terminal trusts nobody.
    writer = _Writer(toggled, _sizes(params))
    head = (Span(printable(method), Role.ACCENT), Span("(", Role.MUTED))
    return writer.value(params, (), 0, head, ")")


def cut_lines(method: str, params_bytes: int, params_sha256: str) -> Sequence[CallLine]:
    """A call whose parameters are not here."""
    digest = printable(params_sha256)[:12]
    what = Span(f"{size(params_bytes)} of JSON, digest {digest}…", Role.WARNING)
    return [
        CallLine((Span(printable(method), Role.ACCENT), Span("(", Role.MUTED), what, Span(")", Role.MUTED)))
    ]


def summary(method: str, params: Any, *, most: int) -> str:
    """A call in one line of at most so many characters: for lists and for notifications.

    A map's members stand without its braces; their names without quotes where they are plain.
    """
    if isinstance(params, dict) and params:
        inside = ", ".join(members_in_brief(params, most))
    else:
        inside = "" if params == {} else brief_json(params, most=most)
    text = f"{printable(method)}({inside})"
    return cut(text, most)


def members_in_brief(params: Mapping[str, Any], most: int) -> Iterator[str]:
    """`name: value` of each member, until that is so many characters; ids last, since they tell a person least."""
    length = 0
    for name, value in sorted(params.items(), key=lambda member: (_is_id(member[1]), member[0])):
        if length > most:
            return
        shown = name if _NAME.fullmatch(name) else brief_json(name, most=_IN_BRIEF)
        text = f"{shown}: {brief_json(value, most=_IN_BRIEF)}"
        length += len(text)
        yield text


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes values as lines.

    Rule: each method that writes gets what stands before the value on its first line (`head`) and behind it on its
    last one (`tail`).
    """

    toggled: AbstractSet[Path]
    sizes: Mapping[int, int]
    """Characters of each list and map, by its identity."""

    def value(self, value: Any, path: Path, indent: int, head: Line, tail: str) -> Iterator[CallLine]:
        if isinstance(value, str):
            yield from self._text(value, path, indent, head, tail)
        elif isinstance(value, (dict, list)) and value and not (path and _fits_inline(value)):
            yield from self._members(value, path, indent, head, tail)
        else:
            yield CallLine((*head, *_inline(value), *_tail(tail)), indent=indent)

    def _text(self, text: str, path: Path, indent: int, head: Line, tail: str) -> Iterator[CallLine]:
        lines = 1 + text.count("\n") - text.endswith("\n")
        is_long = lines > LONG_LINES or len(text) > LONG_TEXT or 2 + len(_escaped(text)) > LONG_TEXT
        fold = path if is_long else None
        if fold is not None and self._is_folded(path, is_usual=is_long):
            first = next(_broken(text[: _BEGINNING + 1]))
            beginning = _BEGINS.match(first)[0]  # type: ignore[index]
            extent = f"{count(lines, 'line')}, " if lines > 1 else ""
            note = Span(f" … {extent}{size(len(text.encode(errors='replace')))}, {_UNFOLDS}", Role.WARNING)
            # The note stands behind the text's end: no guest can write one.
            yield CallLine(
                (*head, *_text_spans(beginning), *_tail('"'), note, *_tail(tail)),
                fold,
                indent + 2,
                is_folded=True,
            )
            return
        bar = (Span(" " * (indent + 2)), Span("│ ", Role.MUTED))
        for number, piece in enumerate(_broken(text)):
            end = _tail(tail) if number == lines - 1 else ()
            start = bar if number else head
            yield CallLine(
                (*start, *_text_spans(piece), *end), None if number else fold, indent + (4 if number else 2)
            )

    def _members(
        self, value: dict[str, Any] | list[Any], path: Path, indent: int, head: Line, tail: str
    ) -> Iterator[CallLine]:
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        is_large = bool(path) and (self.sizes[id(value)] > LARGE or len(path) >= DEEP)
        fold = path if is_large else None
        if fold is not None and self._is_folded(path, is_usual=is_large):
            note = Span(f" … {self._extent(value)}, {_UNFOLDS} ", Role.WARNING)
            yield CallLine(
                (*head, Span(opening, Role.MUTED), note, *_tail(closing + tail)), fold, indent, is_folded=True
            )
            return
        yield CallLine((*head, Span(opening, Role.MUTED)), fold, indent)
        yield from self._inside(value, path, indent + 2)
        yield CallLine((Span(" " * indent), *_tail(closing + tail)), indent=indent)

    def _inside(self, value: dict[str, Any] | list[Any], path: Path, indent: int) -> Iterator[CallLine]:
        pairs: list[tuple[str | int, Any]] = (
            sorted(value.items()) if isinstance(value, dict) else list(enumerate(value))
        )
        margin = Span(" " * indent)
        rest = (*path, None)
        is_cut = len(pairs) > MANY and self._is_folded(rest, is_usual=True)
        for name, member in pairs[:MANY] if is_cut else pairs:
            head: Line = (margin, *_key(name)) if isinstance(name, str) else (margin,)
            is_last = not is_cut and name == pairs[-1][0]
            yield from self.value(member, (*path, name), indent, head, "" if is_last else ",")
        if is_cut:
            note = Span(f"… {len(pairs) - MANY} more, {_UNFOLDS}", Role.WARNING)
            yield CallLine((margin, note), rest, indent, is_folded=True)

    def _is_folded(self, path: Path, *, is_usual: bool) -> bool:
        return is_usual is not (path in self.toggled)

    def _extent(self, value: dict[str, Any] | list[Any]) -> str:
        return f"{count(len(value), 'member')}, {size(self.sizes[id(value)])}"


def _sizes(value: Any) -> Mapping[int, int]:
    """How many characters there are in each list and map, about."""
    sizes: dict[int, int] = {}

    def measure(one: Any) -> int:
        if isinstance(one, dict):
            total = sum(len(name) + 4 + measure(member) for name, member in one.items())
        elif isinstance(one, list):
            total = sum(2 + measure(member) for member in one)
        else:
            return len(one) + 2 if isinstance(one, str) else len(repr(one))
        sizes[id(one)] = total
        return total

    measure(value)
    return sizes


def _broken(text: str) -> Iterator[str]:
    """The JSON of a text in pieces: broken behind each of its line ends, but the last."""
    opening, at = '"', 0
    while (end := text.find("\n", at, len(text) - 1)) >= 0:
        yield f"{opening}{_escaped(text[at : end + 1])}"
        opening, at = "", end + 1
    yield f'{opening}{_escaped(text[at:])}"'


def _escaped(text: str) -> str:
    """The JSON of a text, without its quotes."""
    return visible_json(json.dumps(text, ensure_ascii=False))[1:-1]


def _fits_inline(value: dict[str, Any] | list[Any]) -> bool:
    """Whether it is short and holds plain values only."""
    members = value.values() if isinstance(value, dict) else value
    if len(value) > _INLINE or any(isinstance(one, (dict, list)) for one in members):
        return False
    return len(visible_json(json.dumps(value, ensure_ascii=False))) <= _INLINE


def _inline(value: Any) -> Line:
    """A value on one line."""
    if isinstance(value, str):
        return _text_spans(visible_json(json.dumps(value, ensure_ascii=False)))
    if isinstance(value, dict):
        return _joined("{}", [(*_key(name), *_inline(member)) for name, member in sorted(value.items())])
    if isinstance(value, list):
        return _joined("[]", [_inline(member) for member in value])
    return (Span(json.dumps(value), Role.GOOD),)


def _joined(brackets: str, members: Sequence[Line]) -> Line:
    spans = [Span(brackets[0], Role.MUTED)]
    for number, member in enumerate(members):
        spans += [*_tail(", " if number else ""), *member]
    return (*spans, Span(brackets[1], Role.MUTED))


def _key(name: str) -> Line:
    key = visible_json(json.dumps(name, ensure_ascii=False))
    return (*_text_spans(key, Role.ACCENT), Span(": ", Role.MUTED))


def _text_spans(shown: str, role: Role = Role.PLAIN) -> Line:
    """The JSON of a text, in which escapes stand out: those that hide something more than those that are usual."""
    spans, at = [], 0
    for found in _ESCAPE.finditer(shown):
        if found.start() > at:
            spans.append(Span(shown[at : found.start()], role))
        spans.append(Span(found[0], Role.MUTED if found[0] in _HARMLESS else Role.WARNING))
        at = found.end()
    if at < len(shown):
        spans.append(Span(shown[at:], role))
    return tuple(spans)


def _tail(text: str) -> Line:
    return (Span(text, Role.MUTED),) if text else ()
