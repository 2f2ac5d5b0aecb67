"""Recipes: what an image is made of, written as `rootfs-recipes/<name>/recipe.toml`.

Only parsing and finding: building is `builder`. Parsing is pure (text in, value out).
Rule: every error names the file and the key, and an unknown key is an error, so a typing mistake never
becomes an image that silently lacks something.
Rule: of two folders with the same recipe the first wins: CLOCHE_RECIPES, the checkout, the installed copy.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cloche_hub.errors import BadRequest, NotFound

_RECIPE_FILE = "recipe.toml"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_SUITE = re.compile(r"[a-z][a-z0-9-]{0,39}")
# Debian policy 5.6.1; anything else would be read by apt as a path, a pattern or an option.
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One parsed recipe."""

    name: str
    description: str
    suite: str
    """The Debian release it is built from."""
    packages: tuple[str, ...]
    """In the order written, without repetitions."""
    run: tuple[str, ...] = ()
    """Shell steps, run as root inside the new root file system with the network up."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Defaults for every command in the sandbox."""
    user: str = "user"
    """Who runs commands unless asked otherwise."""
    folder: Path | None = None
    """Where it was found; its `files` folder is copied over the root file system."""

    @property
    def files(self) -> Path | None:
        """The folder copied over the root file system, if there is one."""
        if self.folder is None:
            return None
        files = self.folder / "files"
        return files if files.is_dir() else None


def is_recipe_name(name: str) -> bool:
    """Whether this can be the name of a recipe: lower-case letters, digits and dashes, at most 40."""
    return _NAME.fullmatch(name) is not None


def parse_recipe(name: str, text: str, *, where: str, folder: Path | None = None) -> Recipe:
    """The recipe written in `text`.

    Args:
        name: the folder's name.
        text: what recipe.toml holds.
        where: the file, as error messages name it.
        folder: where its `files` folder is looked for.

    Raises:
        BadRequest: an error in it; the message names the file and the key.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadRequest(f"{where}: {error}") from None
    reader = _Reader(where, table)
    recipe = Recipe(
        name=name,
        description=reader.line("description"),
        suite=reader.word("suite", _SUITE, "the name of a Debian release, such as bookworm"),
        packages=reader.packages("packages"),
        run=reader.strings("run", ()),
        env=reader.env("env"),
        user=reader.word("user", _USER, "a user name", "user"),
        folder=folder,
    )
    reader.refuse_unknown()
    return recipe


class _Reader:
    """Takes typed values out of a table and remembers which keys exist."""

    def __init__(self, where: str, table: dict[str, Any]) -> None:
        self._where = where
        self._table = table
        self._known: list[str] = []

    def _fail(self, key: str, problem: str) -> BadRequest:
        return BadRequest(f"{self._where}: {key}: {problem}")

    def _take(self, key: str, default: Any) -> Any:
        self._known.append(key)
        if key in self._table:
            return self._table[key]
        if default is None:
            # A missing key is often a misspelt one: say that first.
            self._refuse_near(key)
            raise self._fail(key, "is missing")
        return default

    def line(self, key: str) -> str:
        value = self._take(key, None)
        if not isinstance(value, str) or not value.strip() or "\n" in value:
            raise self._fail(key, "expected one line of text")
        return value

    def word(self, key: str, pattern: re.Pattern[str], expected: str, default: str | None = None) -> str:
        value = self._take(key, default)
        if not isinstance(value, str) or pattern.fullmatch(value) is None:
            raise self._fail(key, f"expected {expected}")
        return value

    def strings(self, key: str, default: tuple[str, ...] | None) -> tuple[str, ...]:
        value = self._take(key, default)
        if default is not None and value is default:
            return default
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._fail(key, "expected a list of strings")
        for item in value:
            if "\0" in item:
                raise self._fail(key, f"{item!r} has a NUL character")
        return tuple(value)

    def packages(self, key: str) -> tuple[str, ...]:
        names = self.strings(key, None)
        for name in names:
            # SAFETY: package names become words of an apt command line run as root.
            if _PACKAGE.fullmatch(name) is None:
                raise self._fail(key, f"{name!r} is not the name of a Debian package")
        return tuple(dict.fromkeys(names))

    def env(self, key: str) -> dict[str, str]:
        value = self._take(key, {})
        if not isinstance(value, dict):
            raise self._fail(key, "expected a table of strings")
        for name, text in value.items():
            if _ENV_NAME.fullmatch(name) is None:
                raise self._fail(f"{key}.{name}", "is not the name of an environment variable")
            if not isinstance(text, str) or "\0" in text:
                raise self._fail(f"{key}.{name}", "expected a string")
        return dict(value)

    def refuse_unknown(self) -> None:
        for key in self._table:
            if key not in self._known:
                raise self._fail(key, f"unknown key{_suggestion(key, self._known)}")

    def _refuse_near(self, missing: str) -> None:
        for key in difflib.get_close_matches(missing, self._table, n=1):
            if key not in self._known:
                raise self._fail(key, f"unknown key; did you mean {missing!r}?")


def _suggestion(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(known))}"


def recipe_folders(environ: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """The folders recipes are looked for in, the winning one first."""
    env = os.environ if environ is None else environ
    extra = [Path(part) for part in env.get("CLOCHE_RECIPES", "").split(os.pathsep) if part]
    checkout = Path(__file__).resolve().parents[3] / "rootfs-recipes"
    installed = Path(sys.prefix) / "share/cloche/rootfs-recipes"
    return tuple(folder for folder in (*extra, checkout, installed) if folder.is_dir())


def list_recipes(folders: Sequence[Path]) -> list[str]:
    """The names of all recipes in these folders, sorted."""
    names = {path.parent.name for folder in folders for path in folder.glob(f"*/{_RECIPE_FILE}")}
    return sorted(name for name in names if is_recipe_name(name))


def load_recipe(name: str, folders: Sequence[Path]) -> Recipe:
    """Reads a recipe from the first folder that has it.

    Raises:
        NotFound: none has it; the message lists what there is.
        BadRequest: an error in it; the message names the file and the key.
    """
    # SAFETY: the name may come from any client and becomes part of a path. Only names without
    # a slash or a dot pass, so it can not leave the folders.
    if is_recipe_name(name):
        for folder in folders:
            file = folder / name / _RECIPE_FILE
            if file.is_file():
                return parse_recipe(
                    name, _read_text(file), where=f"{folder.name}/{name}/{_RECIPE_FILE}", folder=file.parent
                )
    there = ", ".join(list_recipes(folders)) or "none"
    raise NotFound(f"there is no recipe {name!r}; there are: {there}")


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"{file}: can not be read: {error}") from None
