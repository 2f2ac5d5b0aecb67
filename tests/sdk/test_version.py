"""The version is said in one place for users, and once for the packager."""

from __future__ import annotations

import tomllib
from pathlib import Path

import cloche
from cloche.version import VERSION


def test_the_package_and_its_metadata_say_the_same_version() -> None:
    pyproject = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())
    assert pyproject["project"]["version"] == VERSION == cloche.__version__
