"""Our own themes: read at night, on few colours and on none."""

from __future__ import annotations

import itertools
import os

import pytest
from textual.app import App, ComposeResult
from textual.color import Color
from textual.theme import Theme
from textual.widgets import Button, DataTable, Input, OptionList, TextArea

from cloche_tui.model.roles import Role
from cloche_tui.themes.own import DARK, LIGHT, MONO, OWN, app_options, first_theme
from cloche_tui.widgets.styles import MONO as MONO_VARIABLE
from cloche_tui.widgets.styles import style_of

COLOURED = [theme for theme in OWN if not theme.ansi]
KNOWN = (DARK, LIGHT, MONO, "mine", "ansi-dark")


class _Widgets(App[None]):
    """Some of Textual's."""

    CSS = "Screen { border: solid $border-blurred; color: $text-muted; }"

    def compose(self) -> ComposeResult:
        yield Input("a")
        yield TextArea("b")
        yield Button("c", variant="error")
        yield DataTable()
        yield OptionList("d")


def _contrast(one: Color, other: Color) -> float:
    """WCAG 2.2's contrast ratio."""

    def luminance(colour: Color) -> float:
        parts = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
        ]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _variables(theme: Theme) -> dict[str, Color]:
    host: App[None] = App()
    host.register_theme(theme)
    host.theme = theme.name
    found = {}
    for name, value in host.get_css_variables().items():
        if value.startswith("#"):
            found[name] = Color.parse(value)
    return found


@pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)
def test_plain_text_has_a_contrast_of_7_to_whatever_it_stands_on(theme: Theme) -> None:
    colours = _variables(theme)
    for behind in ("background", "surface", "panel", "primary-muted", "accent-muted"):
        assert _contrast(colours["foreground"], colours[behind]) >= 7, behind


@pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)
def test_coloured_and_muted_text_has_a_contrast_of_4_5(theme: Theme) -> None:
    colours = _variables(theme)
    texts = ("text-primary", "text-success", "text-warning", "text-error", "text-accent", "foreground-muted")
    for text, behind in itertools.product(texts, ("background", "surface", "panel")):
        assert _contrast(colours[text], colours[behind]) >= 4.5, (text, behind)
    assert _contrast(colours["background"], colours["warning"]) >= 4.5, "who drives stands on this"
    lost, waits = colours["error"].with_alpha(0.2), colours["warning"].with_alpha(0.15)
    assert _contrast(colours["text-error"], colours["background"] + lost) >= 4.5, (
        "the banner of a lost connection"
    )
    assert _contrast(colours["text-warning"], colours["background"] + waits) >= 4.5, (
        "and of one that is not there yet"
    )
    for text in ("text-success", "text-warning", "text-error"):
        assert _contrast(colours[text], colours["primary-muted"]) >= 3, text


@pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)
def test_what_is_a_colour_of_its_own_is_told_as_it_is_named(theme: Theme) -> None:
    colours = _variables(theme)
    assert colours["text-error"].hex.lower() == str(theme.error)
    assert colours["text-success"].hex.lower() == str(theme.success)


@pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)
def test_selected_and_marked_lines_are_told_from_others(theme: Theme) -> None:
    colours = _variables(theme)
    behind = [colours[name].rgb for name in ("background", "primary-muted", "accent-muted", "panel")]
    apart = [
        sum(abs(a - b) for a, b in zip(one, other, strict=True))
        for one, other in itertools.combinations(behind, 2)
    ]
    assert min(apart) >= 30


@pytest.mark.parametrize("theme", OWN, ids=lambda theme: theme.name)
async def test_all_of_textual_s_widgets_can_be_shown_in_it(theme: Theme) -> None:
    host = _Widgets()
    host.register_theme(theme)
    host.theme = theme.name
    async with host.run_test():
        roles = (Role.PLAIN, Role.DRIVING, Role.WATCHING, Role.BAD, Role.SELECTED)
        assert len({style_of(host, role) for role in roles}) == len(roles)


async def test_no_color_means_the_terminal_s_own_two_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    host = _Widgets(**app_options(os.environ))
    for theme in OWN:
        host.register_theme(theme)
    host.theme = MONO
    async with host.run_test(size=(40, 8)) as pilot:
        await pilot.pause()
        strips = [
            strip.apply_filter(host._filters[-1], Color.parse("black"))
            for strip in host.screen._compositor.render_strips()
        ]
    styles = [segment.style for strip in strips for segment in strip if segment.style is not None]
    assert styles
    assert all(
        colour is None or colour.is_default for style in styles for colour in (style.color, style.bgcolor)
    )


def test_the_one_without_colours_has_none() -> None:
    (mono,) = (theme for theme in OWN if theme.name == MONO)
    assert MONO_VARIABLE in mono.variables
    host: App[None] = App()
    host.register_theme(mono)
    host.theme = MONO
    named = {value for value in host.get_css_variables().values() if value.startswith(("#", "ansi_", "rgb"))}
    assert {value.split()[0] for value in named} == {"ansi_default"}


@pytest.mark.parametrize(
    ("environ", "wanted", "remembered", "theme"),
    [
        ({"TERM": "xterm-256color"}, "", "", DARK),
        ({"TERM": "xterm-256color"}, "", LIGHT, LIGHT),
        ({"TERM": "xterm-256color"}, "", "lost-theme", DARK),
        ({"TERM": "xterm-256color"}, "mine", LIGHT, "mine"),
        ({"TERM": "xterm-256color"}, "lost-theme", LIGHT, LIGHT),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "", LIGHT, MONO),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, "", LIGHT, LIGHT),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "mine", "", "mine"),
        ({"TERM": "dumb"}, "", "", MONO),
        ({"TERM": "linux"}, "", "", "ansi-dark"),
        ({"TERM": "linux"}, "", LIGHT, LIGHT),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "", "", DARK),
        ({"TERM": "xterm-kitty"}, "", "", DARK),
        ({}, "", "", DARK),
    ],
)
def test_the_theme_to_begin_with(environ: dict[str, str], wanted: str, remembered: str, theme: str) -> None:
    assert first_theme(environ, KNOWN, wanted=wanted, remembered=remembered) == theme
