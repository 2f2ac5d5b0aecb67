"""Colours: our own themes, those of a person's files, and what tells one hub from another."""

from cloche_tui.themes.files import ThemeFolder, ThemeNews, adopt, dress, themes_path
from cloche_tui.themes.hubs import NO_MARK, HubMark, hub_mark, load_hub_marks
from cloche_tui.themes.own import DARK, LIGHT, MONO, OWN, app_options, first_theme

__all__ = [
    "DARK",
    "LIGHT",
    "MONO",
    "NO_MARK",
    "OWN",
    "HubMark",
    "ThemeFolder",
    "ThemeNews",
    "adopt",
    "app_options",
    "dress",
    "first_theme",
    "hub_mark",
    "load_hub_marks",
    "themes_path",
]
