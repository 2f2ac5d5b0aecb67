"""How a style is told to a terminal: SGR. Pure.

Source: ECMA-48 8.3.117, and xterm's control sequences for the colors beyond the first eight.
"""

from __future__ import annotations

import functools

from cloche_term.terminal import Color, Style, Underline

_FLAGS = (
    ("is_bold", "1"),
    ("is_faint", "2"),
    ("is_italic", "3"),
    ("is_blinking", "5"),
    ("is_inverse", "7"),
    ("is_invisible", "8"),
    ("is_struck", "9"),
    ("is_overlined", "53"),
)


@functools.lru_cache(maxsize=4096)
def rendition(style: Style) -> str:
    """The sequence that makes this the style of what follows (SGR), whatever it was before."""
    parameters = ["0", *(code for name, code in _FLAGS if getattr(style, name))]
    if style.underline is not Underline.NONE:
        single = style.underline is Underline.SINGLE
        parameters.append("4" if single else f"4:{style.underline.value}")
    parameters += _color(style.foreground, 30, 90, 38)
    parameters += _color(style.background, 40, 100, 48)
    if style.underline_color is not None:
        # With colons, since who does not know 58 would read its parameters as styles of their own.
        color = style.underline_color
        parameters.append(f"58:5:{color}" if isinstance(color, int) else "58:2::{}:{}:{}".format(*color))
    return f"\x1b[{';'.join(parameters)}m"


def _color(color: Color, dark: int, bright: int, extended: int) -> list[str]:
    if color is None:
        return []
    if isinstance(color, tuple):
        return [f"{extended};2;{color[0]};{color[1]};{color[2]}"]
    if color < 8:
        return [str(dark + color)]
    return [str(bright + color - 8)] if color < 16 else [f"{extended};5;{color}"]
