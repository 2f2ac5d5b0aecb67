"""A person's own keys: `keymap.toml`, read and checked, and its sample with every key as it is.

    [keys]
    sandbox.create = "n"
    app.quit = ["q", "ctrl+q"]
    audit.follow = []          # no key

Pure but for `load_keymap`. Rules:
- A line that is wrong is left out and said, in one line that names the file's line and the action; the others count.
- A key means one thing in a place. A line that would give it a second meaning there is left out.
- Keys are kept as the registry writes them: `/` and not `slash`, `Z` and not `shift+z`, `ctrl+d` and not `Control+D`.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from cloche_tui.own_files import parse_toml, read_own_file

_TABLE = "keys"
_LONGEST_FILE = 256 << 10
_DEEPEST = 8
"""Tables inside one another; no action is named as deep as that."""
_MODIFIERS = ("alt", "ctrl", "meta", "shift", "super")
_SPELT_OTHERWISE = {
    "control": "ctrl", "option": "alt", "cmd": "super", "esc": "escape", "return": "enter", "del": "delete",
    "pgup": "pageup", "pgdn": "pagedown", "ins": "insert", "slash": "/", "backslash": "\\", "at": "@", "minus": "-",
    "plus": "+", "underscore": "_", "dot": ".", "full_stop": ".", "hyphen_minus": "-",
}  # fmt: skip
_NAMED = {
    "backspace", "delete", "down", "end", "enter", "escape", "home", "insert", "left", "pagedown", "pageup", "right",
    "space", "tab", "up", *(f"f{number}" for number in range(1, 25)),
}  # fmt: skip
_TABLE_LINE = re.compile(r"\s*\[([^\[\]]+)\]\s*(#.*)?$")
_KEY_LINE = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


class Bindable(Protocol):
    """What a key can be bound to."""

    @property
    def id(self) -> str:
        """Its name in the file."""

    @property
    def title(self) -> str:
        """What it does."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Its keys if nobody says otherwise."""

    @property
    def places(self) -> Collection[str]:
        """Where its keys count."""

    @property
    def group(self) -> str:
        """What it stands under."""


@dataclass(frozen=True, slots=True)
class Keymap:
    """The keys as a person wants them."""

    keys: Mapping[str, tuple[str, ...]]
    """Of every action by its id."""
    problems: tuple[str, ...] = ()
    """One line each about what was left out."""


class BadKey(ValueError):
    """A text names no key; the message says which would."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A line of the file that is right by itself."""

    line: int
    action: str
    keys: tuple[str, ...]


def keymap_path(environ: Mapping[str, str] | None = None) -> Path:
    """Where a person's keys are."""
    env = os.environ if environ is None else environ
    config = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME") or "/") / ".config")
    return config / "cloche" / "keymap.toml"


def load_keymap(actions: Sequence[Bindable], path: Path | None = None) -> Keymap:
    """The keys of a file; the defaults if there is none."""
    path = path or keymap_path()
    try:
        text = read_own_file(path, _LONGEST_FILE).decode()
    except FileNotFoundError:
        return _defaults(actions)
    except OSError as error:
        return _defaults(actions, f"{path} cannot be read: {error.strerror or error}")
    except UnicodeDecodeError:
        return _defaults(actions, f"{path} is no UTF-8")
    return read_keymap(text, actions, name=path.name)


def read_keymap(text: str, actions: Sequence[Bindable], *, name: str = "keymap.toml") -> Keymap:
    """The keys of a text.

    Args:
        text: as the module says.
        actions: all there are.
        name: what the text is called in problems.
    """
    try:
        tables = parse_toml(text)
    except ValueError as error:
        return _defaults(actions, f"{name}: {error}")
    lines = dict(_lines_of(text))
    problems = {
        lines.get((table,), 0): f"{table}: nothing is read from here; keys stand under [{_TABLE}]"
        for table in tables
        if table != _TABLE
    }
    table = tables.get(_TABLE, {})
    if not isinstance(table, dict):
        return _defaults(actions, f'{name}: "{_TABLE}" is to be a table: [{_TABLE}]')
    wanted: list[_Wanted] = []
    for action, value in _flat(table):
        line = lines.get((_TABLE, *action.split(".")), 0)
        try:
            wanted.append(_Wanted(line, action, _checked(action, value, actions)))
        except BadKey as error:
            problems[line] = f"{action}: {error}"
    keys, conflicts = _without_conflicts(wanted, actions)
    said = sorted([*problems.items(), *conflicts])
    return Keymap(keys, tuple(f"{name}:{line}: {problem}" for line, problem in said))


def dump(actions: Sequence[Bindable]) -> str:
    """The keys as they are, as a file in which every line is still a comment."""
    lines = [
        "# Keys of Cloche's dashboard: ~/.config/cloche/keymap.toml",
        "#",
        "# Take the # away from a line and change its keys. What stays a comment keeps the key it has, also when a",
        '# later version gives it another. Keys are written as: "n", "N", "/", "f5", "enter", "space", "ctrl+d",',
        '# "shift+tab", "alt+x"; [] is none. A key may mean one thing in a place.',
        "",
        f"[{_TABLE}]",
    ]
    for group, members in groupby(actions, key=lambda action: action.group):
        lines += ["", f"# {group.capitalize()}"]
        for action in members:
            keys = ", ".join(_quoted(key) for key in action.keys)
            value = keys if len(action.keys) == 1 else f"[{keys}]"
            lines.append(f"# {action.id} = {value}  # {action.title}")
    return "\n".join([*lines, ""])


def normal_key(text: str) -> str:
    """A key as the registry writes it.

    Raises:
        BadKey: there is no such key.
    """
    *modifiers, base = _split(text.strip() or text)
    modifiers = [_SPELT_OTHERWISE.get(word.lower(), word.lower()) for word in modifiers]
    for modifier in modifiers:
        if modifier not in _MODIFIERS:
            raise BadKey(f"there is no key {text!r}{_meant(modifier, _MODIFIERS)}")
    base = _normal_base(base, text)
    if base == "space" and not modifiers:
        return base
    if len(base) == 1 and base.isalpha():
        if modifiers == ["shift"]:
            return base.upper()
        base = base.lower() if modifiers else base
    return "+".join([*sorted(set(modifiers)), base])


def _split(text: str) -> list[str]:
    # The last key may be the plus itself: `+`, `ctrl++`.
    return (
        [*text[:-1].rstrip("+").split("+"), "+"]
        if text.endswith("++")
        else text.split("+")
        if text != "+"
        else ["+"]
    )


def _normal_base(base: str, text: str) -> str:
    if len(base) == 1 and base.isprintable():
        return "space" if base == " " else base
    lowered = _SPELT_OTHERWISE.get(base.lower(), base.lower())
    if lowered in _NAMED or (len(lowered) == 1 and lowered.isprintable()):
        return lowered
    try:
        # Names of signs such as question_mark.
        return unicodedata.lookup(lowered.replace("_", " "))
    except KeyError:
        raise BadKey(f"there is no key {text!r}{_meant(lowered, _NAMED)}") from None


def _checked(action: str, value: Any, actions: Sequence[Bindable]) -> tuple[str, ...]:
    known = [each.id for each in actions]
    if action not in known:
        raise BadKey(f"there is no such action{_meant(action, known)}")
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(key, str) for key in value):
        raise BadKey('give a key, such as "n", or several: ["n", "ctrl+n"]')
    return tuple(dict.fromkeys(normal_key(key) for key in value))


def _without_conflicts(
    wanted: Sequence[_Wanted], actions: Sequence[Bindable]
) -> tuple[dict[str, tuple[str, ...]], list[tuple[int, str]]]:
    """The keys of all actions, without the lines that give a key a second meaning in a place."""
    counting = list(wanted)
    problems: list[tuple[int, str]] = []
    while True:
        own = {each.action: each for each in counting}
        keys = {action.id: own[action.id].keys if action.id in own else action.keys for action in actions}
        conflict = next(_conflicts(own, keys, actions), None)
        if conflict is None:
            return keys, problems
        wrong, problem = conflict
        counting.remove(wrong)
        problems.append((wrong.line, f"{wrong.action}: {problem}"))


def _conflicts(
    own: Mapping[str, _Wanted], keys: Mapping[str, tuple[str, ...]], actions: Sequence[Bindable]
) -> Iterator[tuple[_Wanted, str]]:
    """Each line to blame for a key with two meanings: the later one where both are a person's own."""
    meanings: dict[tuple[str, str], str] = {}
    # Whatever is a person's own comes last, in the order of the file, so that it is what is found in conflict.
    ordered = sorted(actions, key=lambda action: own[action.id].line if action.id in own else -1)
    for action in ordered:
        for key in keys[action.id]:
            for place in sorted(action.places):
                other = meanings.setdefault((place, key), action.id)
                if other != action.id and action.id in own:
                    problem = (
                        f'"{key}" is {other} in {place} already; use another key, or give that one another'
                    )
                    yield own[action.id], problem


def _defaults(actions: Iterable[Bindable], *problems: str) -> Keymap:
    return Keymap({action.id: action.keys for action in actions}, problems)


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Each value of a table of tables under its dotted name: `sandbox.create` may be quoted, dotted or nested."""
    for key, value in table.items():
        name = f"{before}{key}"
        if isinstance(value, dict) and name.count(".") < _DEEPEST:
            yield from _flat(value, f"{name}.")
        else:
            yield name, value


def _lines_of(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Where each table begins and each key stands. For messages only: the parser tells no places."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _TABLE_LINE.match(line):
            table = _parts(header[1])
            yield table, number
        elif key := _KEY_LINE.match(line):
            yield (*table, *_parts(key[1])), number


def _parts(dotted: str) -> tuple[str, ...]:
    bare = (
        part.strip().strip("\"'") for part in re.split(r"""\.(?=(?:[^"']*["'][^"']*["'])*[^"']*$)""", dotted)
    )
    return tuple(part for name in bare for part in name.split("."))


def _meant(word: str, known: Collection[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, known, 1)
    return f"; do you mean {close[0]}?" if close else ""


def _quoted(key: str) -> str:
    return f"'{key}'" if key in ('"', "\\") else f'"{key}"'
