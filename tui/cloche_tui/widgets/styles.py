"""What roles look like: styles from the theme's variables, or attributes alone where there are no colours.

Rule: two roles that mean different things look different in each of three worlds: a theme's colours, the sixteen colours of
a terminal (an `ansi` theme), and none at all (NO_COLOR, or a theme with the variable `mono`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from rich.style import Style
from rich.text import Text
from textual.color import Color, ColorParseError

from cloche_tui.model.roles import Line, Role

if TYPE_CHECKING:
    from textual.app import App
    from textual.theme import Theme

MONO = "mono"
"""A theme that has this variable uses no colours."""

_MONO: Mapping[Role, Style] = {
    Role.PLAIN: Style(),
    Role.MUTED: Style(dim=True),
    Role.GOOD: Style(),
    Role.WARNING: Style(bold=True),
    Role.BAD: Style(bold=True, underline=True),
    Role.ACCENT: Style(italic=True),
    Role.DRIVING: Style(bold=True, reverse=True),
    Role.WATCHING: Style(underline=True),
    Role.SELECTED: Style(reverse=True),
    Role.MARKED: Style(bold=True, italic=True),
    Role.HEADING: Style(dim=True, underline=True),
}
_SIXTEEN: Mapping[Role, str] = {
    Role.GOOD: "success",
    Role.WARNING: "warning",
    Role.BAD: "error",
    Role.ACCENT: "primary",
    Role.DRIVING: "warning",
    Role.WATCHING: "primary",
}
"""Whose colour of the theme is the role's, beside what it has in a world without colours."""
_COLOURS: Mapping[Role, tuple[str | None, str | None, bool]] = {
    Role.PLAIN: (None, None, False),
    Role.MUTED: ("foreground-muted", None, False),
    Role.GOOD: ("text-success", None, False),
    Role.WARNING: ("text-warning", None, False),
    Role.BAD: ("text-error", None, True),
    Role.ACCENT: ("text-primary", None, True),
    Role.DRIVING: ("background", "warning", True),
    Role.WATCHING: ("text-primary", None, False),
    Role.SELECTED: (None, "primary-muted", True),
    Role.MARKED: (None, "accent-muted", False),
    Role.HEADING: ("foreground", "panel", True),
}
"""The theme's variables for the text and what is behind it, and whether it is bold."""

_known: WeakKeyDictionary[App[Any], tuple[Theme, bool, Mapping[Role, Style]]] = WeakKeyDictionary()


def styles_of(app: App[Any]) -> Mapping[Role, Style]:
    """What each role looks like now; another object once the theme is another."""
    theme, is_mono = app.current_theme, _is_mono(app)
    known = _known.get(app)
    if known is None or known[0] is not theme or known[1] is not is_mono:
        known = (theme, is_mono, _made(app, theme, is_mono=is_mono))
        _known[app] = known
    return known[2]


def style_of(app: App[Any], role: Role) -> Style:
    """What a role looks like now. It has no background of its own but where the role is one."""
    return styles_of(app)[role]


def text_of(app: App[Any], *lines: Line) -> Text:
    """Lines as widgets of Textual take them. They are text and never markup."""
    styles, text = styles_of(app), Text()
    for number, line in enumerate(lines):
        if number:
            text.append("\n")
        for span in line:
            text.append(span.text, styles[span.role])
    return text


def _is_mono(app: App[Any]) -> bool:
    return app.no_color or MONO in app.current_theme.variables


def _made(app: App[Any], theme: Theme, *, is_mono: bool) -> Mapping[Role, Style]:
    if is_mono:
        return _MONO
    variables = app.get_css_variables()
    if theme.ansi:
        return {
            role: style + Style(color=_colour(variables, _SIXTEEN[role])) if role in _SIXTEEN else style
            for role, style in _MONO.items()
        }
    return {role: _coloured(variables, *wanted) for role, wanted in _COLOURS.items()}


def _coloured(variables: Mapping[str, str], text: str | None, behind: str | None, bold: bool) -> Style:  # noqa: FBT001
    return Style(color=_colour(variables, text), bgcolor=_colour(variables, behind), bold=bold or None)


def _colour(variables: Mapping[str, str], name: str | None) -> str | None:
    """A variable as a colour that needs nothing behind it; None: the theme leaves it open."""
    try:
        colour = Color.parse(variables[name]) if name is not None else None
    except (KeyError, ColorParseError):
        return None
    if colour is None:
        return None
    if colour.ansi is not None:
        return colour.rich_color.name
    return (Color.parse(variables["background"]) + colour).hex if colour.a < 1 else colour.hex
