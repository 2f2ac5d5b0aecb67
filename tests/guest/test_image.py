"""Tests of what an image says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_guest.image import ImageFacts, read_image_facts


def test_a_recipe_s_variables_and_user_are_read(tmp_path: Path) -> None:
    file = tmp_path / "image.json"
    file.write_text('{"recipe": "python", "env": {"PATH": "/opt/bin"}, "user": "worker"}')
    assert read_image_facts(str(file)) == ImageFacts({"PATH": "/opt/bin"}, "worker")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"env": 3, "user": null}', '{"env": {"A": 1}, "user": ""}'])
def test_what_makes_no_sense_leaves_the_ordinary_user(tmp_path: Path, text: str) -> None:
    file = tmp_path / "image.json"
    file.write_text(text)
    assert read_image_facts(str(file)) == ImageFacts({}, "1000")


def test_an_image_without_facts_runs_commands_all_the_same(tmp_path: Path) -> None:
    assert read_image_facts(str(tmp_path / "none.json")) == ImageFacts()
