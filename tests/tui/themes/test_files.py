"""A person's own themes: read, read again as they change, refused in one line."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from textual.widgets import Static

from cloche_tui.themes.files import BadTheme, ThemeFolder, ThemeNews, adopt, dress, read_theme, themes_path
from cloche_tui.themes.own import DARK, LIGHT, MONO, OWN
from tests.tui.support import HostApp

KNOWN = {theme.name: theme for theme in OWN}


def test_what_a_theme_does_not_say_is_as_in_the_one_it_is_based_on() -> None:
    theme = read_theme("mine", 'based_on = "cloche-light"\n[colours]\nprimary = "#aa0000"\n', KNOWN)
    light = KNOWN[LIGHT]
    assert (theme.name, theme.dark, theme.primary) == ("mine", False, "#aa0000")
    assert theme.background == light.background
    assert theme.variables["text-primary"] == "#aa0000", "text in that colour follows it"
    assert theme.variables["text-error"] == light.error


def test_without_a_word_it_is_based_on_our_dark_one() -> None:
    theme = read_theme("mine", "dark = false\n[variables]\nborder-blurred = '#123456'\n", KNOWN)
    assert theme.primary == KNOWN[DARK].primary
    assert not theme.dark
    assert theme.variables["border-blurred"] == "#123456"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[colours", "Expected ']' at the end of a table declaration (at end of document)"),
        ("colors = 1", "colors: there is no such key; do you mean colours?"),
        ('based_on = "cloche-drak"', "based_on: there is no theme 'cloche-drak'; do you mean cloche-dark?"),
        ('dark = "yes"', "dark: give true or false"),
        ("colours = 3", "colours: is to be a table: [colours]"),
        ("[colours]\nprimary = 3", 'colours.primary: give a text, such as "#7db3ea"'),
        ('[colours]\nprimry = "#fff"', "colours.primry: there is no such key; do you mean primary?"),
        (
            '[colours]\nprimary = "blurple"',
            "colours.primary: 'blurple' is no colour; give one such as \"#7db3ea\"",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(BadTheme) as refused:
        read_theme("mine", text, KNOWN)
    assert str(refused.value) == problem


def _write(path: Path, text: str, *, age: int) -> None:
    """A file that was written at another moment than before."""
    path.write_text(text)
    os.utime(path, ns=(age, age))


def test_a_folder_tells_only_what_has_changed(tmp_path: Path) -> None:
    folder = ThemeFolder(tmp_path, OWN)
    assert not folder.poll()
    _write(tmp_path / "mine.toml", '[colours]\nprimary = "#aa0000"\n', age=1)
    (theme,) = folder.poll().themes
    assert theme.name == "mine"
    assert not folder.poll()
    _write(tmp_path / "mine.toml", '[colours]\nprimary = "#00aa00"\n', age=2)
    (theme,) = folder.poll().themes
    assert theme.primary == "#00aa00"
    (tmp_path / "mine.toml").unlink()
    assert folder.poll() == ThemeNews(gone=("mine",))
    assert not folder.poll()


def test_a_file_that_is_wrong_is_said_once_and_leaves_what_was_read(tmp_path: Path) -> None:
    folder = ThemeFolder(tmp_path, OWN)
    _write(tmp_path / "mine.toml", "", age=1)
    assert folder.poll().themes
    _write(tmp_path / "mine.toml", "dark = 1", age=2)
    assert folder.poll() == ThemeNews(problems=("mine.toml: dark: give true or false",))
    assert not folder.poll()
    (tmp_path / "mine.toml").unlink()
    assert folder.poll() == ThemeNews(gone=("mine",)), "the one that was read before"


def test_our_own_names_are_not_to_be_had(tmp_path: Path) -> None:
    _write(tmp_path / "cloche-dark.toml", "", age=1)
    assert ThemeFolder(tmp_path, OWN).poll().problems == (
        "cloche-dark.toml: there is a theme 'cloche-dark' already; give the file another name",
    )


def test_files_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "odd.toml").write_bytes(b"\xff")
    (tmp_path / "nowhere.toml").symlink_to(tmp_path / "nothing")
    assert ThemeFolder(tmp_path, OWN).poll().problems == (
        "folder.toml: it cannot be read: Is a directory",
        "odd.toml: it is no UTF-8",
    )


def test_a_folder_that_is_not_there_has_nothing_to_tell(tmp_path: Path) -> None:
    assert not ThemeFolder(tmp_path / "nothing", OWN).poll()


def test_themes_are_looked_for_beside_the_other_settings() -> None:
    assert themes_path({"XDG_CONFIG_HOME": "/etc/xdg"}) == Path("/etc/xdg/cloche/themes")
    assert themes_path({"HOME": "/home/ann"}) == Path("/home/ann/.config/cloche/themes")


async def test_a_theme_in_use_shows_what_its_file_says_now(tmp_path: Path) -> None:
    folder, label = ThemeFolder(tmp_path, OWN), Static("text")
    host = HostApp(label, css="Static { background: $background; }")
    _write(tmp_path / "mine.toml", '[colours]\nbackground = "#800000"\n', age=1)
    async with host.run_test() as pilot:
        for theme in OWN:
            host.register_theme(theme)
        adopt(host, folder.poll())
        host.theme = "mine"
        await pilot.pause()
        assert label.styles.background.r > 120
        _write(tmp_path / "mine.toml", '[colours]\nbackground = "#008000"\n', age=2)
        adopt(host, folder.poll())
        await pilot.pause()
        assert label.styles.background.g > 120
        (tmp_path / "mine.toml").unlink()
        adopt(host, folder.poll())
        await pilot.pause()
        assert host.theme == DARK
        assert "mine" not in host.available_themes


def test_an_app_begins_with_the_theme_that_is_wanted_and_knows_all(tmp_path: Path) -> None:
    _write(tmp_path / "mine.toml", "", age=1)
    _write(tmp_path / "wrong.toml", "dark = 1", age=1)
    host = HostApp()
    environ = {"TERM": "xterm-256color"}
    problems = dress(host, ThemeFolder(tmp_path, OWN), environ, wanted="mine", remembered=LIGHT)
    assert host.theme == "mine"
    assert problems == ("wrong.toml: dark: give true or false",)
    assert {*KNOWN, "mine"} <= set(host.available_themes)


def test_no_color_counts_though_the_app_has_taken_it_out_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    host = HostApp()
    dress(host, ThemeFolder(tmp_path, OWN), os.environ, wanted="", remembered=LIGHT)
    assert host.theme == MONO


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("based_on = []", "based_on: there is no theme []"),
        ("[variables]\nscrollbar = '$scrollbar'", "variables.scrollbar: '$scrollbar' is no colour"),
        (
            "[variables]\nborder = 'red; } * { display: none'",
            "variables.border: 'red; } * { display: none' is no colour",
        ),
        ("[variables]\nborder = '#111111 x%'", "variables.border: '#111111 x%' is no colour"),
        (
            "[variables]\ninput-cursor-text-style = 'fat'",
            "variables.input-cursor-text-style: 'fat' is no style",
        ),
        ("[variables]\nlink-style = ''", "variables.link-style: '' is no style"),
        ("a = " + "[" * 3000, "it is nested too deep"),
    ],
)
def test_a_file_that_would_end_the_program_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadTheme, match=re.escape(said)):
        read_theme("mine", text, KNOWN)


def test_variables_are_colours_their_shares_and_styles() -> None:
    text = (
        "[variables]\ninput-selection-background = '#81a1c1 35%'\nlink-style-hover = 'bold not underline'\n"
    )
    assert read_theme("mine", text, KNOWN).variables["link-style-hover"] == "bold not underline"
