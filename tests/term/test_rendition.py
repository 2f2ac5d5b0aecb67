"""Styles as they are told to a terminal."""

from __future__ import annotations

import pytest

from cloche_term.rendition import rendition
from cloche_term.terminal import PLAIN, Style, Underline


@pytest.mark.parametrize(
    ("style", "sequence"),
    [
        (PLAIN, "0"),
        (Style(is_bold=True, is_faint=True, is_italic=True, is_blinking=True), "0;1;2;3;5"),
        (Style(is_inverse=True, is_invisible=True, is_struck=True, is_overlined=True), "0;7;8;9;53"),
        (Style(foreground=7, background=0), "0;37;40"),
        (Style(foreground=15, background=8), "0;97;100"),
        (Style(foreground=16, background=(1, 2, 3)), "0;38;5;16;48;2;1;2;3"),
        (Style(underline=Underline.SINGLE), "0;4"),
        (Style(underline=Underline.DOTTED, underline_color=3), "0;4:4;58:5:3"),
        (Style(underline=Underline.DOUBLE, underline_color=(1, 2, 3)), "0;4:2;58:2::1:2:3"),
    ],
)
def test_a_style_is_said_whole(style: Style, sequence: str) -> None:
    assert rendition(style) == f"\x1b[{sequence}m"
