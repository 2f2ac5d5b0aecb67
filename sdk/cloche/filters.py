"""What a person types behind `/` to see less of a list, as a value. One grammar for every list. Pure.

    web prod                 both texts are in it somewhere
    "two words"              that text, blanks and all
    /fail(ed|ure)/           the expression matches; also re:fail(ed|ure), re:"two words"
    !web                     web is not in it; `!` stands before any word
    state=running,failed     the field is one of these; `*` in them is any text
    owner!=ann*              the field is none of these
    label=team=blue          the label has that value; `label=team`, there is one; `*` in both
    label!=team=blue         no label is so

Every word must hold. Upper and lower case are the same. A text with `=`, or that begins with `!`, `/` or a field and `:`,
is quoted. A field a thing does not have is like no value: `=` does not hold, `!=` does.

A word that nothing could ever match, because it is of another form than what it asks for, is refused and not searched.

What it is not: a view's. A list says what its things have (`Fields`); the hub makes SQL of `Filter.message`.

SAFETY: an expression is put to texts that guests write. One that could take exponential time on them is refused, and
only a text's first `MAX_SEARCHED` characters are searched; fewer by one that says `.*` or the like more than once. Who
searches on behalf of others bounds the time as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Self

from cloche.errors import BadRequest

MAX_FILTER = 1000
"""Characters of what is typed."""
MAX_WORDS = 32
MAX_SEARCHED = 4096
"""Characters of a text that an expression is put to."""
FIELDS = (
    "actor", "console", "event", "flavor", "kind", "method", "name", "owner", "path", "recipe", "rule", "sandbox", "state",
)  # fmt: skip
"""What can stand before `=`, beside `label`."""

_NAMED = re.compile(r"([a-z_]+)(!?=)", re.IGNORECASE)
_COLON = re.compile(rf"(label|{'|'.join(FIELDS)}):(?=\S)", re.IGNORECASE)
"""A field as other programs have it asked for."""
_NO_KEY = re.compile(r"[^a-z0-9._/*-]")
"""What stands in no label's key, nor in a pattern of one."""
_LABEL = re.compile(r"([a-z0-9._/*-]+)(?:[:=](.+))?", re.IGNORECASE)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"(?=\s|$)', re.DOTALL)
_SLASHED = re.compile(r"/(.+?)/(?=\s|$)", re.DOTALL)
_UP_TO_BLANK = re.compile(r"\S*")


class Kind(StrEnum):
    """What a word of a filter asks."""

    TEXT = "text"
    """Whether the text is in it."""
    REGEX = "regex"
    """Whether the expression matches somewhere."""
    FIELD = "field"
    """Whether the field `name` is one of `values`."""
    LABEL = "label"
    """Whether a label whose key is like `name` has one of `values`."""


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a filter."""

    kind: Kind
    values: tuple[str, ...]
    """The text or the expression; or the patterns, any of which will do."""
    name: str = ""
    """A field's name, or the pattern of a label's key."""
    is_inverse: bool = False

    def holds(self, fields: Fields) -> bool:
        """Whether a thing with these fields is what this word asks for."""
        return self._is_met(fields) is not self.is_inverse

    def _is_met(self, fields: Fields) -> bool:
        match self.kind:
            case Kind.TEXT:
                return any(self.values[0] in text for text in fields.folded)
            case Kind.REGEX:
                search, most = _expression(self.values[0]).search, _searched(self.values[0])
                return any(search(text, 0, most) for text in fields.texts)
            case Kind.FIELD:
                return self._is_one(fields.values.get(self.name))
            case Kind.LABEL:
                return any(
                    is_like(self.name, key) and self._is_one(value) for key, value in fields.labels.items()
                )

    def _is_one(self, value: str | None) -> bool:
        return value is not None and any(is_like(pattern, value) for pattern in self.values)


@dataclass(frozen=True, slots=True)
class Fields:
    """What a thing in a list has for filters to look at. `Fields.of` makes one."""

    texts: tuple[str, ...]
    """What texts and expressions are looked for in."""
    folded: tuple[str, ...]
    """The same without case."""
    values: Mapping[str, str]
    """By the name of the field, without case."""
    labels: Mapping[str, str]
    """Without case."""

    @classmethod
    def of(cls, *texts: str | None, labels: Mapping[str, str] | None = None, **values: str | None) -> Self:
        """The fields of a thing.

        Args:
            texts: what of it is shown; None is left out.
            labels: of its sandbox. They are found as texts too, as `key=value`.
            values: by the names in `FIELDS`. They are found as texts too.
        """
        own = {name: value for name, value in values.items() if value is not None}
        pairs = {key.casefold(): value.casefold() for key, value in (labels or {}).items()}
        shown = (
            *(text for text in texts if text is not None),
            *own.values(),
            *(f"{key}={value}" for key, value in (labels or {}).items()),
        )
        folded = tuple(text.casefold() for text in shown)
        return cls(shown, folded, {name: value.casefold() for name, value in own.items()}, pairs)


@dataclass(frozen=True, slots=True)
class Filter:
    """What somebody wants to see."""

    terms: tuple[Term, ...]
    source: str = field(compare=False)
    """As it was typed."""

    def matches(self, fields: Fields) -> bool:
        """Whether a thing with these fields is wanted."""
        return all(term.holds(fields) for term in self.terms)

    def message(self) -> list[dict[str, Any]]:
        """As it travels: a map a word."""
        return [
            {
                "kind": term.kind.value,
                "name": term.name,
                "values": list(term.values),
                "inverse": term.is_inverse,
            }
            for term in self.terms
        ]


def parse_filter(text: str) -> Filter | None:
    """What was typed, as a filter; None: nothing was, so everything is wanted.

    Raises:
        BadRequest: it is no filter; one line says why and what would be one.
    """
    if len(text) > MAX_FILTER:
        raise BadRequest(f"a filter has at most {MAX_FILTER} characters")
    terms = tuple(_terms(text.strip()))
    if len(terms) > MAX_WORDS:
        raise BadRequest(f"a filter has at most {MAX_WORDS} words")
    return Filter(terms, text.strip()) if terms else None


def is_like(pattern: str, text: str) -> bool:
    """Whether a whole text is as a pattern says, in which `*` is any text. Takes time linear in the text."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == first
    *middle, last = rest
    at, end = len(first), len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for piece in middle:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def label_key_trouble(key: str) -> str | None:
    """Why no label can have a key that is like this; None: one can."""
    wrong = _NO_KEY.search(key.casefold())
    return f"no label's key has a {wrong[0]!r} in it" if wrong else None


def _meant_label(text: str) -> str:
    """What was probably meant by a label of another form; the form itself, if that cannot be told."""
    meant = _LABEL.fullmatch(text)
    if meant is None:
        return "KEY=VALUE"
    return f"{meant[1]}={meant[2]}" if meant[2] else meant[1]


def _terms(text: str) -> Iterator[Term]:
    at = 0
    while at < len(text):
        is_inverse = text[at] == "!"
        at += is_inverse
        if is_inverse and (at == len(text) or text[at].isspace()):
            raise BadRequest("nothing stands behind the !; give what to leave out, such as !web")
        term, at = _term(text, at, is_inverse=is_inverse)
        yield term
        while at < len(text) and text[at].isspace():
            at += 1


def _term(text: str, at: int, *, is_inverse: bool) -> tuple[Term, int]:
    """The word that begins here, and where it ends."""
    if text[at] == '"':
        wanted, at, _ = _value(text, at)
        if not wanted:
            raise BadRequest('there is nothing in the quotes; give a text, such as "two words"')
        return Term(Kind.TEXT, (wanted.casefold(),), is_inverse=is_inverse), at
    if slashed := _SLASHED.match(text, at):
        return Term(Kind.REGEX, (_checked(slashed[1]),), is_inverse=is_inverse), slashed.end()
    if text[at : at + 3].lower() == "re:":
        wanted, at, _ = _value(text, at + 3)
        return Term(Kind.REGEX, (_checked(wanted),), is_inverse=is_inverse), at
    if named := _NAMED.match(text, at):
        is_inverse ^= named[2] == "!="
        wanted, at, is_quoted = _value(text, named.end())
        return _named(named[1].lower(), wanted, is_quoted=is_quoted, is_inverse=is_inverse), at
    if colon := _COLON.match(text, at):
        name, behind = colon[1].lower(), text[colon.end() : _value(text, colon.end())[1]]
        wanted = _meant_label(behind) if name == "label" else behind
        raise BadRequest(
            f'what {name} is to be stands behind =: {name}={wanted}; a text is quoted: "{name}:…"'
        )
    wanted, at, _ = _value(text, at)
    return Term(Kind.TEXT, (wanted.casefold(),), is_inverse=is_inverse), at


def _value(text: str, at: int) -> tuple[str, int, bool]:
    """What stands here up to a blank or in quotes, where it ends, and whether it was quoted."""
    if text[at : at + 1] != '"':
        bare = _UP_TO_BLANK.match(text, at)
        assert bare is not None
        return bare[0], bare.end(), False
    if quoted := _QUOTED.match(text, at):
        return re.sub(r'\\(["\\])', r"\1", quoted[1]), quoted.end(), True
    raise BadRequest('a quote is not closed; end it with " and a blank')


def _named(name: str, wanted: str, *, is_quoted: bool, is_inverse: bool) -> Term:
    """What stands before and behind a `=`."""
    wanted = wanted.casefold()
    if name == "label":
        key, equals, value = wanted.partition("=")
        if not key or (equals and not value):
            raise BadRequest("say which label: label=team, or label=team=blue")
        if trouble := label_key_trouble(key):
            raise BadRequest(f"{trouble}; say label={_meant_label(wanted)}")
        return Term(Kind.LABEL, _patterns(value or "*", is_quoted=is_quoted), key, is_inverse)
    if name not in FIELDS:
        raise BadRequest(
            f'there is no field {name}; there are: label, {", ".join(FIELDS)}; a text with = is quoted: "{name}=…"'
        )
    if not wanted:
        raise BadRequest(f"say what {name} is to be: {name}=text, where * is any text")
    return Term(Kind.FIELD, _patterns(wanted, is_quoted=is_quoted), name, is_inverse)


def _patterns(text: str, *, is_quoted: bool) -> tuple[str, ...]:
    if is_quoted:
        return (text,)
    return tuple(pattern for pattern in text.split(",") if pattern) or (text,)


def _checked(expression: str) -> str:
    """The expression itself, if it is one that may be used."""
    if not expression:
        raise BadRequest("the expression is empty; give one, such as /fail(ed|ure)/")
    try:
        _expression(expression)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadRequest(f"/{expression}/ is no expression: {error}") from None
    if _repeats_repeats(expression):
        raise BadRequest(
            f"/{expression}/ could take for ever: it repeats what repeats, or refers to what it found; say it simpler"
        )
    return expression


@lru_cache(maxsize=64)
def _expression(text: str) -> re.Pattern[str]:
    # What anything may stand before is found as well without it, and much sooner where it is not there.
    return re.compile(_ANYTHING_FIRST.sub("", text), re.IGNORECASE)


@lru_cache(maxsize=64)
def _searched(expression: str) -> int:
    """Characters of a text that an expression is put to: its time grows with their number to the power of its wide repeats."""
    repeats, before = 0, ""
    for piece in _PIECE.findall(_ANYTHING_FIRST.sub("", expression)):
        is_many = piece in "*+" or (piece[0] == "{" and len(piece) > 2)
        repeats += is_many and (before in _WIDE or before.startswith("[^"))
        before = piece
    return _SEARCHED_BY_REPEATS[min(repeats, len(_SEARCHED_BY_REPEATS) - 1)]


_ANYTHING_FIRST = re.compile(r"\A\.\*\??(?![*+?{])")
_WIDE = frozenset((".", r"\S", r"\D", r"\W", r"\w"))
"""What matches nearly every character; `[^…]` does as well."""
_SEARCHED_BY_REPEATS = (MAX_SEARCHED, MAX_SEARCHED, 512, 160, 64)
_PIECE = re.compile(
    r"""\\.                           # escaped
      | \[\^?\]?(?:\\.|[^\]\\])*\]    # a class
      | \(\?[^:=!<)]*[:=!<]?          # the head of a special group
      | [()|]
      | [*+?]                         # how often: none, once, any number
      | \{\d*,?\d*\}
      | .""",
    re.VERBOSE | re.DOTALL,
)


def _repeats_repeats(expression: str) -> bool:
    """Whether a group that may repeat holds what may repeat or has alternatives, or something said earlier is asked for again.

    That is where a search may take exponential time; a few harmless expressions are caught with them.
    """
    groups, closed = [False], False
    for piece in _PIECE.findall(expression):
        many = piece in "*+" or (piece[0] == "{" and len(piece) > 2)
        if many and closed:
            return True
        if piece[0] == "\\" and piece[1:].isdigit() and piece != "\\0":
            return True
        closed = False
        if piece[0] == "(":
            groups.append(False)
        elif piece == ")" and len(groups) > 1:
            closed = groups.pop()
            groups[-1] |= closed
        elif many or piece == "|":
            groups[-1] = True
    return False
