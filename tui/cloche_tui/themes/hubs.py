"""What tells one hub from another at a glance: a name and a colour in the heading.

    # ~/.config/cloche/hubs.toml
    [production]                              # its name in the heading
    address = "wss://cloche.example:*"        # `*` is any text
    colour = "red"

A hub that is not named there has its address, in a colour that follows from it and so is always the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from rich.style import Style
from textual.color import Color, ColorParseError

from cloche.filters import is_like
from cloche.printable import printable
from cloche_tui.own_files import parse_toml, read_own_file

_LONGEST_FILE = 64 << 10
_NO_ONE_S = ("#2f6f8f", "#4b6a9b", "#6a5fa3", "#8a5a8f", "#5f7a4a", "#3f7f6f", "#7a6a5a", "#5a6f7f")
"""For hubs that nobody has given a colour: calm, and neither red nor amber, which a person gives on purpose."""
_NAMED = {
    "red": "#b3262a", "orange": "#b3541e", "amber": "#8f6400", "yellow": "#7d6b00", "green": "#2e7044", "teal": "#22707a",
    "blue": "#2b62a8", "purple": "#6b46a8", "pink": "#a33b78", "grey": "#5a6470", "gray": "#5a6470",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HubMark:
    """What a hub is told by."""

    name: str
    """Empty: its address is all there is."""
    colour: str
    """As Textual writes it: `#b3262a`."""

    @property
    def style(self) -> Style:
        """Text on the colour."""
        behind = Color.parse(self.colour)
        return Style(color=behind.get_contrast_text(1.0).rich_color, bgcolor=behind.rich_color, bold=True)


NO_MARK = HubMark("", _NO_ONE_S[1])
"""Of a hub nobody has named yet."""


@dataclass(frozen=True, slots=True)
class MarkRule:
    """Which hubs are marked, and how."""

    address: str
    """A pattern: `*` is any text."""
    mark: HubMark

    def is_of(self, address: str) -> bool:
        """Whether it is about the hub at this address."""
        return is_like(self.address, address)


def hubs_path(environ: Mapping[str, str] | None = None) -> Path:
    """Where a person says which hub is which."""
    env = os.environ if environ is None else environ
    config = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME") or "/") / ".config")
    return config / "cloche" / "hubs.toml"


def hub_mark(address: str, rules: Sequence[MarkRule] = ()) -> HubMark:
    """The mark of a hub: that of the first rule for it, else a colour of its own."""
    for rule in rules:
        if rule.is_of(address):
            return rule.mark
    digest = sha256(address.encode(errors="surrogateescape")).digest()
    return HubMark("", _NO_ONE_S[digest[0] % len(_NO_ONE_S)])


def load_hub_marks(path: Path | None = None) -> tuple[tuple[MarkRule, ...], tuple[str, ...]]:
    """The rules of a person's file, and one line for each thing that is wrong in it."""
    path = path or hubs_path()
    try:
        return read_hub_marks(read_own_file(path, _LONGEST_FILE).decode(), name=path.name)
    except FileNotFoundError:
        return (), ()
    except OSError as error:
        return (), (f"{path} cannot be read: {error.strerror or error}",)
    except UnicodeDecodeError:
        return (), (f"{path} is no UTF-8",)


def read_hub_marks(text: str, *, name: str = "hubs.toml") -> tuple[tuple[MarkRule, ...], tuple[str, ...]]:
    """The rules of a text, as the module says; a table that is wrong is left out and said in one line."""
    try:
        said = parse_toml(text)
    except ValueError as error:
        return (), (f"{name}: {error}",)
    rules, problems = [], []
    for title, table in said.items():
        try:
            rules.append(_rule(title, table))
        except ValueError as error:
            problems.append(f"{name}: {title}: {error}")
    return tuple(rules), tuple(problems)


def _rule(title: str, table: Any) -> MarkRule:
    if not isinstance(table, dict):
        raise ValueError(f'give a table: [{title}], address = "ws://…", colour = "red"')  # noqa: TRY004 - it is the file that is wrong
    if unknown := sorted(table.keys() - {"address", "colour"}):
        raise ValueError(f"there is no such key: {unknown[0]}; there are address and colour")
    address, colour = table.get("address"), table.get("colour")
    if not isinstance(address, str) or not address:
        raise ValueError('give its address, such as "ws://host:8080" or "unix:///*"')
    if colour is None:
        return MarkRule(address, HubMark(printable(title), hub_mark(address).colour))
    try:
        behind = Color.parse(_NAMED.get(str(colour), str(colour)))
    except ColorParseError:
        raise ValueError(f'{colour!r} is no colour; give one such as "red" or "#b3262a"') from None
    return MarkRule(address, HubMark(printable(title), behind.hex6))
