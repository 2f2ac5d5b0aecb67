"""What roles look like in a theme's colours, in a terminal's own sixteen, and without any."""

from __future__ import annotations

import pytest
from rich.style import Style
from textual.app import App
from textual.theme import Theme

from cloche_tui.model.roles import Role, Span, line
from cloche_tui.widgets.styles import MONO, style_of, styles_of, text_of


def _app(theme: str = "textual-dark") -> App[None]:
    app = App[None]()
    app.theme = theme
    return app


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "nord", "solarized-light", "dracula"])
def test_each_role_looks_different_in_a_theme_s_colours(theme: str) -> None:
    assert len(set(styles_of(_app(theme)).values())) == len(Role)


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
def test_a_terminal_s_own_colours_are_used_as_they_are(theme: str) -> None:
    styles = styles_of(_app(theme))
    colours = [style.color for style in styles.values() if style.color is not None]
    assert colours
    assert all(colour.number is not None and colour.number < 16 for colour in colours)
    assert style_of(_app(theme), Role.SELECTED).reverse


def test_without_colours_roles_differ_by_attributes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    styles = styles_of(_app())
    assert all(style.color is None and style.bgcolor is None for style in styles.values())
    # That something is well is said by its word alone.
    assert len(set(styles.values())) == len(Role) - len({Role.GOOD})


def test_a_theme_can_ask_for_no_colours() -> None:
    app = _app()
    app.register_theme(Theme("paper", primary="#808080", variables={MONO: "yes"}))
    app.theme = "paper"
    assert style_of(app, Role.SELECTED) == Style(reverse=True)


def test_styles_are_made_once_and_anew_for_another_theme_or_one_that_was_changed() -> None:
    app = _app()
    first = styles_of(app)
    assert styles_of(app) is first
    app.theme = "nord"
    other = styles_of(app)
    assert other is not first
    app.register_theme(Theme("nord", primary="#ff0000"))
    assert styles_of(app)[Role.SELECTED] != other[Role.SELECTED]


def test_what_a_theme_leaves_open_is_left_open() -> None:
    app = _app()
    app.register_theme(Theme("open", primary="#0000ff", variables={"text-success": "auto 80%"}))
    app.theme = "open"
    assert style_of(app, Role.GOOD).color is None


def test_lines_become_text_in_which_nothing_is_markup() -> None:
    app = _app()
    text = text_of(app, line("a ", Span("[b]", Role.BAD)), line("c"))
    assert text.plain == "a [b]\nc"
    assert [(span.start, span.end, span.style) for span in text.spans if span.style != Style()] == [
        (2, 5, style_of(app, Role.BAD))
    ]
