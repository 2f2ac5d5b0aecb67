"""What holds the project together: the lock of its packages and the Makefile."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent

# --- the lock ----------------------------------------------------------------------------------------------------


def _locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    found = [re.match(r"([A-Za-z0-9._-]+)==([^\s;]+)", line) for line in lines]
    return {canonicalize_name(match[1]): match[2] for match in found if match}


def test_the_lock_has_a_fitting_release_of_every_requirement() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = pyproject["project"]["optional-dependencies"]
    wanted = [
        *pyproject["project"]["dependencies"],
        *extras["hub"],
        *extras["tui"],
        *extras["dev"],
        *pyproject["build-system"]["requires"],
    ]
    locked = _locked()
    unmet = [
        text
        for text in wanted
        if (requirement := Requirement(text))
        and not requirement.specifier.contains(locked.get(canonicalize_name(requirement.name), "0"))
    ]
    assert unmet == [], "run: make lock"


def test_every_locked_release_has_its_hashes() -> None:
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text())
    assert [entry for entry in entries if "==" in entry and "--hash=sha256:" not in entry] == []


def test_the_lock_names_no_index_and_no_place() -> None:
    assert (
        re.findall(
            r"https?:|file:|--(?:extra-)?index|--find-links|(?m:^/)", (ROOT / "requirements.lock").read_text()
        )
        == []
    )


# --- the Makefile ------------------------------------------------------------------------------------------------


def _make(folder: Path, *targets: str) -> str:
    # MAKEFLAGS: the tests may themselves run under make, whose options are not meant for this one.
    env = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    return subprocess.run(
        ["make", *targets], cwd=folder, env=env, capture_output=True, text=True, timeout=30, check=True
    ).stdout


def test_make_alone_lists_every_target() -> None:
    targets = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0].split()
    listed = [line.split()[1] for line in _make(ROOT).splitlines()]
    assert sorted(listed) == sorted(targets)


def test_clean_removes_what_was_made_and_nothing_else(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    kept = ["hub/a.py", "notes/build/plan.txt", ".env", "benchmarks/run.py"]
    made = [
        ".venv/bin/x",
        "build/setup.log",
        "hub/__pycache__/a.pyc",
        ".mypy_cache/x",
        "benchmarks/results/latest.json",
    ]
    for name in (*kept, *made):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    _make(tmp_path, "clean")
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {*kept, "Makefile"}
