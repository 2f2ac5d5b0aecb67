"""Cells of bittty as runs of styled text. Pure.

A cell of bittty is a pair of its style and its text; the second cell of a wide character has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from cloche_term.terminal import PLAIN, Color, Run, Style, Underline

Cell = tuple[Any, str]

_UNDERLINES = {
    None: Underline.SINGLE,
    "double": Underline.DOUBLE,
    "curly": Underline.CURLY,
    "dotted": Underline.DOTTED,
    "dashed": Underline.DASHED,
}


def runs_of(cells: Iterable[Cell]) -> tuple[Run, ...]:
    """Joins neighbouring cells that look the same."""
    runs: list[Run] = []
    seen: Any = None
    style = PLAIN
    texts: list[str] = []
    for cell_style, text in cells:
        if cell_style is not seen:
            seen = cell_style
            if (new := style_of(cell_style)) != style:
                if texts:
                    runs.append(Run("".join(texts), style, len(texts)))
                style, texts = new, []
        texts.append(text)
    if texts:
        runs.append(Run("".join(texts), style, len(texts)))
    return tuple(runs)


def text_of(cells: Sequence[Cell]) -> str:
    """The text of cells, without trailing blanks."""
    return "".join([text for _, text in cells]).rstrip(" ")


@lru_cache(maxsize=4096)
def style_of(style: Any) -> Style:
    """How bittty's style looks. Protection, fonts, frames and the like look like nothing here."""
    underline = _UNDERLINES[style.underline_style] if style.underline else Underline.NONE
    return Style(
        foreground=_color_of(style.fg),
        background=_color_of(style.bg),
        underline_color=_color_of(style.underline_color),
        is_bold=bool(style.bold),
        is_faint=bool(style.dim),
        is_italic=bool(style.italic),
        is_blinking=bool(style.blink),
        is_inverse=bool(style.reverse),
        is_invisible=bool(style.conceal),
        is_struck=bool(style.strike),
        is_overlined=bool(style.overline),
        underline=underline,
        is_link=style.hyperlink is not None,
    )


def _color_of(color: Any) -> Color:
    value: Color = None if color is None or color.mode == "default" else color.value
    return value
