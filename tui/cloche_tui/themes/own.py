"""The themes that come with the dashboard, and which one it begins with.

Rules for their colours:
- Whatever is read has a contrast of 4.5 to what is behind it, plain text of 7; tests hold it.
- Behind everything stands a dark grey with some blue, or a warm white: no pure black or white, since the dashboard is
  open all night. Most of the screen has no colour, so that one means something.
- Good, bad and a warning differ in lightness too, for who does not see red and green; and each has a word or a symbol.
- Amber is whoever drives a console, and nothing else is filled with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from textual.theme import Theme

DARK = "cloche-dark"
LIGHT = "cloche-light"
MONO = "cloche-mono"
_SIXTEEN = "ansi-dark"
"""Textual's own, in the terminal's sixteen colours."""

_TERMINALS_OF_FEW_COLOURS = ("linux", "vt100", "vt220", "xterm-16color", "ansi", "screen", "xterm")


def _theme(
    name: str, *, is_dark: bool, lines: str, muted: str, chosen: str, marked: str, **colours: Any
) -> Theme:
    """A theme in which text has the very colours that are named; Textual would mix them with white."""
    return Theme(
        name=name,
        dark=is_dark,
        luminosity_spread=0.12,
        **colours,
        variables={
            "text-primary": colours["primary"],
            "text-secondary": colours["secondary"],
            "text-success": colours["success"],
            "text-warning": colours["warning"],
            "text-error": colours["error"],
            "text-accent": colours["accent"],
            "text-muted": muted,
            "foreground-muted": muted,
            "primary-muted": chosen,
            "accent-muted": marked,
            "border": colours["primary"],
            "border-blurred": lines,
            "scrollbar": lines,
            "scrollbar-hover": muted,
            "scrollbar-active": colours["primary"],
            "scrollbar-background": colours["background"],
            "scrollbar-background-hover": colours["background"],
            "scrollbar-background-active": colours["background"],
            "footer-key-foreground": colours["primary"],
            "block-cursor-background": chosen,
            "block-cursor-foreground": colours["foreground"],
            "block-cursor-blurred-background": colours["panel"],
            "input-selection-background": chosen,
            "screen-selection-background": chosen,
            "button-color-foreground": colours["background"],
        },
    )


def _without_colours() -> Theme:
    """The terminal's own two colours and nothing else, whatever Textual would use."""
    names = (
        "primary", "secondary", "warning", "error", "success", "accent", "foreground", "background", "surface",
        "panel", "boost",
    )  # fmt: skip
    two: dict[str, Any] = dict.fromkeys(names, "ansi_default")
    bare = Theme(MONO, ansi=True, **two)
    colours = {name for name, value in bare.to_color_system().generate().items() if value.startswith("ansi_")}
    return replace(
        bare,
        variables={
            **dict.fromkeys((*sorted(colours), "ansi-background", "ansi-foreground"), "ansi_default"),
            # Whose style it is tells by it that only bold, dim, underlined and reversed are left.
            "mono": "ansi_default",
            "block-cursor-text-style": "reverse",
            "input-cursor-text-style": "reverse",
        },
    )


OWN: tuple[Theme, ...] = (
    _theme(
        DARK,
        is_dark=True,
        background="#11151b",
        surface="#171c24",
        panel="#202733",
        foreground="#d6dce5",
        primary="#7db3ea",
        secondary="#9aa9bd",
        accent="#c4a8f5",
        success="#7ccf9f",
        warning="#f2bb5e",
        error="#ff8a80",
        muted="#8f9bab",
        lines="#3a4555",
        chosen="#22405f",
        marked="#3b3259",
    ),
    _theme(
        LIGHT,
        is_dark=False,
        background="#f6f5f1",
        surface="#fdfcfa",
        panel="#e6e6e3",
        foreground="#1e2732",
        primary="#1b5c9e",
        secondary="#4d5a6a",
        accent="#6a3fb5",
        success="#1a6b3c",
        warning="#8a5100",
        error="#ac1f1f",
        muted="#59636f",
        lines="#b9bcbf",
        chosen="#cbdff4",
        marked="#e2d8f6",
    ),
    _without_colours(),
)
"""Our own."""


def first_theme(environ: Mapping[str, str], known: Collection[str], *, wanted: str, remembered: str) -> str:
    """The theme to begin with.

    Args:
        environ: NO_COLOR, COLORTERM and TERM count.
        known: the themes there are.
        wanted: asked for just now; empty: none.
        remembered: used the last time; empty: none.
    """
    if wanted in known:
        return wanted
    term = environ.get("TERM", "")
    if environ.get("NO_COLOR") or term == "dumb":
        return MONO
    if remembered in known:
        return remembered
    has_many = environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    return _SIXTEEN if term in _TERMINALS_OF_FEW_COLOURS and not has_many else DARK


def app_options(environ: Mapping[str, str]) -> dict[str, Any]:
    """What an app is to be made with: Textual takes NO_COLOR for shades of grey unless the colours are the terminal's."""
    return {"ansi_color": True} if "NO_COLOR" in environ else {}
