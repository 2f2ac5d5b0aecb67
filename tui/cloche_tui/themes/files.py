"""A person's own themes: `themes/NAME.toml`, read again as soon as they change.

    based_on = "cloche-dark"        # what is not said here is as there
    dark = true

    [colours]
    primary = "#7db3ea"

    [variables]                     # of Textual's themes
    border-blurred = "#3a4555"

Rule: a file that is wrong changes nothing; what was read of it before stays, and one line says what is wrong.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from textual.app import App
from textual.color import Color, ColorParseError
from textual.theme import Theme

from cloche_tui.own_files import parse_toml, read_own_file
from cloche_tui.themes.own import DARK, OWN, first_theme

_COLOURS = (
    "primary", "secondary", "accent", "foreground", "background", "surface", "panel", "boost", "success", "warning",
    "error",
)  # fmt: skip
_KEYS = ("based_on", "dark", "colours", "variables")
_STYLES = frozenset(("bold", "dim", "italic", "none", "not", "overline", "reverse", "strike", "underline"))
_SHARE = re.compile(r"\d{1,3}%", re.ASCII)
_LONGEST_FILE = 64 << 10
_MOST_FILES = 100


class BadTheme(ValueError):
    """A file is no theme; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class ThemeNews:
    """What has become of a person's theme files."""

    themes: tuple[Theme, ...] = ()
    """Those that are there now, or are something else."""
    gone: tuple[str, ...] = ()
    """The names of those that are there no more."""
    problems: tuple[str, ...] = ()
    """One line for each file that is wrong."""

    def __bool__(self) -> bool:
        return bool(self.themes or self.gone or self.problems)


def themes_path(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of a person's themes."""
    env = os.environ if environ is None else environ
    config = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME") or "/") / ".config")
    return config / "cloche" / "themes"


class ThemeFolder:
    """The theme files of a folder, which need not be there.

    Args:
        path: the folder.
        known: the themes there are without it.
    """

    def __init__(self, path: Path, known: Iterable[Theme]) -> None:
        self._path = path
        self._known = {theme.name: theme for theme in known}
        self._seen: dict[Path, tuple[int, int]] = {}
        self._read: set[str] = set()

    def poll(self) -> ThemeNews:
        """What is another than at the last call. To be called each second: it reads only what has changed."""
        there = dict(self._look())
        themes, problems = [], []
        for path, stamp in there.items():
            if self._seen.get(path) == stamp:
                continue
            try:
                themes.append(self._load(path))
            except BadTheme as error:
                problems.append(f"{path.name}: {error}")
        names = {path.stem for path in there}
        gone = tuple(sorted(self._read - names))
        self._seen = there
        self._read = (self._read & names) | {theme.name for theme in themes}
        return ThemeNews(tuple(themes), gone, tuple(problems))

    def _look(self) -> Iterable[tuple[Path, tuple[int, int]]]:
        try:
            files = sorted(self._path.glob("*.toml"))[:_MOST_FILES]
        except OSError:
            return
        for path in files:
            try:
                status = path.stat()
            except OSError:
                continue  # gone meanwhile, or a link to nothing
            yield path, (status.st_mtime_ns, status.st_size)

    def _load(self, path: Path) -> Theme:
        if path.stem in self._known:
            raise BadTheme(f"there is a theme {path.stem!r} already; give the file another name")
        try:
            return read_theme(path.stem, read_own_file(path, _LONGEST_FILE).decode(), self._known)
        except OSError as error:
            raise BadTheme(f"it cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise BadTheme("it is no UTF-8") from None


def read_theme(name: str, text: str, known: Mapping[str, Theme]) -> Theme:
    """A theme from a file's text.

    Args:
        name: what it is called.
        text: as the module says.
        known: what it may be based on.

    Raises:
        BadTheme: the text is wrong.
    """
    try:
        said = parse_toml(text)
    except ValueError as error:
        raise BadTheme(str(error)) from None
    _check_keys(said, _KEYS, "")
    base_name = said.get("based_on", DARK)
    if not isinstance(base_name, str) or base_name not in known:
        raise BadTheme(f"based_on: there is no theme {base_name!r}{_meant(str(base_name), known)}")
    is_dark = said.get("dark", known[base_name].dark)
    if not isinstance(is_dark, bool):
        raise BadTheme("dark: give true or false")
    colours = _texts(said, "colours")
    _check_keys(colours, _COLOURS, "colours.")
    for key, value in colours.items():
        _check_colour(f"colours.{key}", value)
    variables = _texts(said, "variables")
    for key, value in variables.items():
        _check_variable(key, value)
    return _based_on(known[base_name], name, is_dark, colours, variables)


def adopt(app: App[Any], news: ThemeNews) -> None:
    """Tells the app of a person's themes; one that is in use shows what it is now."""
    for theme in news.themes:
        app.register_theme(theme)
    if app.theme in news.gone:
        app.theme = DARK
    for name in news.gone:
        app.unregister_theme(name)
    if app.theme in {theme.name for theme in news.themes}:
        app.mutate_reactive(App.theme)


def dress(
    app: App[Any], folder: ThemeFolder, environ: Mapping[str, str], *, wanted: str, remembered: str
) -> tuple[str, ...]:
    """Tells the app of all themes and puts one on; returns one line for each of a person's files that is wrong.

    Args:
        app: made with `app_options`.
        folder: a person's files; to be polled, and what it tells adopted, from now on.
        environ, wanted, remembered: as for `first_theme`.
    """
    for theme in OWN:
        app.register_theme(theme)
    news = folder.poll()
    adopt(app, news)
    # The app has taken NO_COLOR out of the environment.
    environ = {**environ, "NO_COLOR": "1"} if app.no_color else environ
    app.theme = first_theme(environ, app.available_themes, wanted=wanted, remembered=remembered)
    return news.problems


def _based_on(
    base: Theme,
    name: str,
    is_dark: bool,  # noqa: FBT001 - the caller's own, one line above
    colours: Mapping[str, Any],
    variables: Mapping[str, str],
) -> Theme:
    # Text in one of the named colours follows it, where the base says such text a colour of its own.
    following = {f"text-{key}": value for key, value in colours.items() if f"text-{key}" in base.variables}
    if "foreground" in colours:
        following["block-cursor-foreground"] = colours["foreground"]
    return replace(
        base, name=name, dark=is_dark, **colours, variables={**base.variables, **following, **variables}
    )


def _texts(said: Mapping[str, Any], table: str) -> dict[str, str]:
    values = said.get(table, {})
    if not isinstance(values, dict):
        raise BadTheme(f"{table}: is to be a table: [{table}]")
    for key, value in values.items():
        if not isinstance(value, str):
            raise BadTheme(f'{table}.{key}: give a text, such as "#7db3ea"')
    return values


def _check_keys(said: Mapping[str, Any], known: Collection[str], before: str) -> None:
    for key in said:
        if key not in known:
            raise BadTheme(f"{before}{key}: there is no such key{_meant(key, known)}")


def _check_colour(key: str, value: str) -> None:
    try:
        Color.parse(value)
    except ColorParseError:
        raise BadTheme(f'{key}: {value!r} is no colour; give one such as "#7db3ea"') from None


def _check_variable(key: str, value: str) -> None:
    """What Textual would end the program by, when it puts the value into its own style sheets."""
    if "style" in key:
        if not value or not _STYLES.issuperset(value.split()):
            raise BadTheme(f'variables.{key}: {value!r} is no style; give words such as "bold underline"')
        return
    colour, blank, share = value.partition(" ")
    if blank and not _SHARE.fullmatch(share):
        raise BadTheme(
            f'variables.{key}: {value!r} is no colour; give one such as "#7db3ea" or "#7db3ea 35%"'
        )
    _check_colour(f"variables.{key}", colour)


def _meant(word: str, known: Collection[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, known, 1)
    return f"; do you mean {close[0]}?" if close else ""
