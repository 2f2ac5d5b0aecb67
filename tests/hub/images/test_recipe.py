"""Recipes: what they may say, and how clearly a wrong one is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cloche_hub.errors import BadRequest, NotFound
from cloche_hub.images.recipe import (
    Recipe,
    is_recipe_name,
    list_recipes,
    load_recipe,
    parse_recipe,
    recipe_folders,
)

_HEAD = 'description = "d"\nsuite = "bookworm"\n'
_GOOD = _HEAD + 'packages = ["python3"]\n'


def _parse(text: str) -> Recipe:
    return parse_recipe("x", text, where="rootfs-recipes/x/recipe.toml")


def _write(folder: Path, name: str, text: str = _GOOD) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "recipe.toml").write_text(text)


def test_a_full_recipe_is_read_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    text = _HEAD + (
        'packages = ["python3", "git", "python3"]\nrun = ["echo one", "echo two"]\nuser = "root"\n[env]\nA = "1"\n'
    )

    recipe = parse_recipe("x", text, where="w", folder=tmp_path)

    assert recipe == Recipe(
        name="x",
        description="d",
        suite="bookworm",
        packages=("python3", "git"),
        run=("echo one", "echo two"),
        env={"A": "1"},
        user="root",
        folder=tmp_path,
    )
    assert recipe.files == tmp_path / "files"


def test_a_short_recipe_has_no_steps_no_environment_and_the_ordinary_user() -> None:
    recipe = _parse(_GOOD)

    assert (recipe.run, recipe.env, recipe.user, recipe.files) == ((), {}, "user", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_HEAD + 'packages = "python3"', "packages: expected a list of strings"),
        (_HEAD + "packages = [1]", "packages: expected a list of strings"),
        (_HEAD, "packages: is missing"),
        (_HEAD + 'packages = ["-o=x"]', "packages: '-o=x' is not the name of a Debian package"),
        (_HEAD + 'packages = ["a b"]', "packages: 'a b' is not the name of a Debian package"),
        (_HEAD + 'packages = ["/tmp/x.deb"]', "packages: '/tmp/x.deb' is not the name of a Debian package"),
        (_HEAD + 'packages = ["?essential"]', "packages: '?essential' is not the name of a Debian package"),
        ('description = "d"\npackages = []', "suite: is missing"),
        ('description = "d"\nsuite = "../x"\npackages = []', "suite: expected the name of a Debian release"),
        ('description = 3\nsuite = "bookworm"\npackages = []', "description: expected one line of text"),
        ('description = " "\nsuite = "bookworm"\npackages = []', "description: expected one line of text"),
        ('description = "a\\nb"\nsuite = "s"\npackages = []', "description: expected one line of text"),
        (_GOOD + 'user = "-x"', "user: expected a user name"),
        (_GOOD + 'run = "echo"', "run: expected a list of strings"),
        (_GOOD + 'run = ["a\\u0000b"]', "run: 'a\\x00b' has a NUL character"),
        (_GOOD + "env = 3", "env: expected a table of strings"),
        (_GOOD + "[env]\nA = 1", "env.A: expected a string"),
        (_GOOD + '[env]\n"A-B" = "1"', "env.A-B: is not the name of an environment variable"),
        (_GOOD + "zzz = 1", "zzz: unknown key; known are description, env, packages, run, suite, user"),
        (_GOOD + "enviroment = {}", "enviroment: unknown key"),
        (_GOOD + "users = 'x'", "users: unknown key; did you mean 'user'?"),
        (_HEAD + 'package = ["a"]', "package: unknown key; did you mean 'packages'?"),
        ("= 3", "Invalid statement"),
    ],
)
def test_an_error_names_the_file_and_the_key(text: str, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        _parse(text)

    assert caught.value.message.startswith("rootfs-recipes/x/recipe.toml: ")
    assert message in caught.value.message


@pytest.mark.parametrize("name", ["minimal", "a", "python-3", "a" * 40])
def test_a_plain_word_is_a_recipe_name(name: str) -> None:
    assert is_recipe_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "A", "-a", "3a", "a" * 41, "a\n", "a.b", "ä"])
def test_what_could_leave_the_folder_is_no_recipe_name(name: str) -> None:
    assert not is_recipe_name(name)


def test_the_first_folder_that_has_a_recipe_wins(tmp_path: Path) -> None:
    _write(tmp_path / "one", "x", _GOOD.replace('"d"', '"first"'))
    _write(tmp_path / "two", "x", _GOOD.replace('"d"', '"second"'))

    assert load_recipe("x", [tmp_path / "one", tmp_path / "two"]).description == "first"


def test_an_unknown_recipe_is_answered_with_those_there_are(tmp_path: Path) -> None:
    _write(tmp_path, "python")
    _write(tmp_path, "minimal")

    with pytest.raises(NotFound, match="no recipe 'pyton'; there are: minimal, python"):
        load_recipe("pyton", [tmp_path])


def test_a_name_that_leads_out_of_the_folder_is_not_found_even_if_there_is_a_file(tmp_path: Path) -> None:
    _write(tmp_path, "secret")
    (tmp_path / "recipes").mkdir()

    with pytest.raises(NotFound):
        load_recipe("../secret", [tmp_path / "recipes"])


def test_an_error_names_the_file_by_its_folder(tmp_path: Path) -> None:
    _write(tmp_path / "rootfs-recipes", "x", "oops = 1")

    with pytest.raises(BadRequest, match=r"^rootfs-recipes/x/recipe.toml: "):
        load_recipe("x", [tmp_path / "rootfs-recipes"])


def test_a_recipe_that_is_no_text_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, "x")
    (tmp_path / "x/recipe.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(BadRequest, match="can not be read"):
        load_recipe("x", [tmp_path])


def test_folders_named_in_the_environment_come_first_then_the_checkout(tmp_path: Path) -> None:
    folders = recipe_folders({"CLOCHE_RECIPES": f"{tmp_path}:/does/not/exist"})

    assert folders[0] == tmp_path
    assert folders[1].name == "rootfs-recipes"
    assert (folders[1] / "minimal/recipe.toml").is_file()


def test_the_installed_recipes_come_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "share/cloche/rootfs-recipes"
    installed.mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))

    assert recipe_folders({})[-1] == installed


def test_every_recipe_of_the_project_has_what_the_agent_needs() -> None:
    folders = recipe_folders({})

    for name in list_recipes(folders):
        assert {"python3", "python3-msgpack"} <= set(load_recipe(name, folders).packages), name
