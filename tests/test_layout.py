"""The shape of the project: every module has its tests, and what a user can meet is written down.

Each check makes one list of what is missing, so that a red one says everything there is to do. Where something has
no place by its nature, the table of exceptions says why.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main
from pydantic_settings import BaseSettings

from cloche_hub.domain.audit_events import AuditName
from cloche_wire.errors import ERROR_CLASSES

ROOT = Path(__file__).resolve().parent.parent

_SOURCES = {
    "wire": "wire/cloche_wire",
    "guest": "guest/cloche_guest",
    "guest/library": "guest/cloche_guest_library",
    "term": "term/cloche_term",
    "hub": "hub/cloche_hub",
    "sdk": "sdk/cloche",
    "tui": "tui/cloche_tui",
}
"""The folder of tests for each package."""

_LONGEST_MODULE = 400

_TESTED_ELSEWHERE = {
    f"hub/cloche_hub/ports/{name}.py": "protocols and values only; tests/contract has a suite for each port"
    for name in ("consoles", "guests", "images", "machines", "recordings", "store")
} | {
    "tui/cloche_tui/messages.py": "values only; tests/tui/test_app.py has what becomes of them",
    "tui/cloche_tui/model/chosen.py": "a value only; tests/tui/test_actions.py has what depends on it",
    "tui/cloche_tui/views/view.py": "protocols only; each view's tests have what they ask for",
}
"""Modules without a test file of their own, and why. `__init__` and `__main__` name things and hold no behaviour."""


def _modules() -> Iterator[tuple[str, Path, Path]]:
    """Each module that has behaviour: its tests' folder, its package's folder, its path."""
    for tests, package in _SOURCES.items():
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.stem not in ("__init__", "__main__"):
                yield tests, ROOT / package, path


def _from_root(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _user_docs() -> str:
    """What a user reads."""
    return "\n".join(
        path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    )


def _expect_nothing(missing: Iterable[str], what: str) -> None:
    """Fails with one line for each of `missing`."""
    lines = sorted(missing)
    if lines:
        pytest.fail("\n".join([f"{what}:", *(f"  {line}" for line in lines)]), pytrace=False)


def _import_if_there(name: str) -> ModuleType | None:
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def test_every_module_has_its_test_file_at_the_mirrored_place() -> None:
    missing = []
    for tests, package, path in _modules():
        inside = path.relative_to(package)
        place = ROOT / "tests" / tests / inside.with_name(f"test_{path.name}")
        if _from_root(path) not in _TESTED_ELSEWHERE and not place.exists():
            missing.append(f"{_from_root(path)} → {_from_root(place)}")
    _expect_nothing(missing, "modules without a test file")


def test_the_table_of_exceptions_names_only_modules_that_exist() -> None:
    _expect_nothing(
        (path for path in _TESTED_ELSEWHERE if not (ROOT / path).is_file()), "exceptions that are gone"
    )


def test_every_folder_of_tests_is_a_package() -> None:
    # Two test files of one name would otherwise be one module to pytest and mypy.
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    bare = (_from_root(folder) for folder in folders if not (folder / "__init__.py").is_file())
    _expect_nothing(bare, "folders of tests without an __init__.py")


def test_no_module_is_longer_than_it_may_be() -> None:
    lines = {
        _from_root(path): len(path.read_text().splitlines())
        for folder in (*_SOURCES.values(), "tests", "benchmarks", "tools")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    long = [f"{path}: {count} lines" for path, count in lines.items() if count > _LONGEST_MODULE]
    _expect_nothing(long, f"modules of more than {_LONGEST_MODULE} lines")


def test_every_module_says_what_it_is() -> None:
    silent = [
        _from_root(path)
        for folder in (*_SOURCES.values(), "tests", "benchmarks", "tools")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (text := path.read_text()).strip() and not re.match(r'(#!.*\n)?r?"""', text)
    ]
    _expect_nothing(silent, "modules without a docstring on top")


def test_every_wait_that_is_bounded_is_right_in_clean_up_too() -> None:
    # See cloche_wire.aio.bounds. Tests may use asyncio's own: what they bound is not cancelled from outside.
    asyncios = [
        _from_root(path)
        for folder in _SOURCES.values()
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "asyncio.timeout(" in path.read_text() and path.name != "bounds.py"
    ]
    _expect_nothing(asyncios, "modules that bound a wait without `within`")


def test_the_architecture_names_every_top_level_folder() -> None:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    folders = {path.split("/")[0] for path in listed if "/" in path and not path.startswith(".")}
    architecture = (ROOT / "ARCHITECTURE.md").read_text()
    unnamed = (folder for folder in folders if f"| `{folder}/` |" not in architecture)
    _expect_nothing(unnamed, "top-level folders that ARCHITECTURE.md does not name")


def test_the_architecture_names_no_folder_that_is_not_there() -> None:
    named = re.findall(r"^\| `([\w-]+)/` \|", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    assert named
    absent = (folder for folder in named if not (ROOT / folder).is_dir())
    _expect_nothing(absent, "folders in ARCHITECTURE.md that are not there")


def test_the_protocol_names_every_error_code() -> None:
    spec = (ROOT / "wire/PROTOCOL.md").read_text()
    unnamed = (code for code in ERROR_CLASSES if f"`{code}`" not in spec)
    _expect_nothing(unnamed, "error codes that wire/PROTOCOL.md does not name")


def _settings_variables() -> list[str]:
    """The environment variable of each of the hub's settings."""
    module = _import_if_there("cloche_hub.settings")
    if module is None:
        pytest.fail("cloche_hub.settings is not there")
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseSettings)
    ]
    return sorted(
        (cls.model_config.get("env_prefix", "") + name).upper()
        for cls in classes
        if cls is not BaseSettings
        for name in cls.model_fields
    )


def test_the_documents_name_every_setting() -> None:
    documents = _user_docs()
    variables = _settings_variables()
    assert variables
    unnamed = (name for name in variables if not re.search(rf"\b{name}\b", documents))
    _expect_nothing(unnamed, "settings that README.md and docs/ do not name")


def test_the_documents_name_every_audit_event() -> None:
    documents = _user_docs() + (ROOT / "ARCHITECTURE.md").read_text()
    unnamed = (name.value for name in AuditName if f"`{name.value}`" not in documents)
    _expect_nothing(unnamed, "audit events that README.md, docs/ and ARCHITECTURE.md do not name")


def _command_lines() -> list[str]:
    """Each command of the command line as a user types it: `cloche image build`."""
    module = _import_if_there("cloche.cli.main")
    if module is None:
        pytest.fail("cloche.cli.main is not there")
    apps = [value for value in vars(module).values() if isinstance(value, typer.Typer)]
    assert apps, "cloche.cli.main holds no typer application"

    # Typer brings a click of its own, so a group is what has commands.
    def walk(command: Any, words: str) -> Iterator[str]:
        children = getattr(command, "commands", {})
        if not children or command.invoke_without_command:
            yield words
        for name, child in sorted(children.items()):
            if not child.hidden:
                yield from walk(child, f"{words} {name}")

    return list(walk(typer.main.get_command(apps[0]), "cloche"))


def test_the_documents_name_every_command() -> None:
    documents = _user_docs()
    unnamed = (command for command in _command_lines() if not re.search(rf"{command}\b", documents))
    _expect_nothing(unnamed, "commands that README.md and docs/ do not name")
