"""The names things have in the cache."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cloche_hub.images.keys import hash_file, image_digest, initrd_key, is_digest, recipe_key, rootfs_id
from cloche_hub.images.recipe import Recipe

_RECIPE = Recipe("x", "what it is", "bookworm", ("python3",), ("echo",), {"A": "1"}, "user")


def _key(recipe: Recipe = _RECIPE, *, arch: str = "x86_64", files: str = "f", builder: str = "b") -> str:
    return recipe_key(recipe, arch=arch, files=files, builder=builder)


@pytest.mark.parametrize(
    "recipe",
    [
        replace(_RECIPE, name="y"),
        replace(_RECIPE, suite="trixie"),
        replace(_RECIPE, packages=("python3", "git")),
        replace(_RECIPE, run=()),
        replace(_RECIPE, run=("echo", "echo")),
        replace(_RECIPE, env={"A": "2"}),
        replace(_RECIPE, user="root"),
    ],
)
def test_whatever_changes_the_root_file_system_changes_its_key(recipe: Recipe) -> None:
    assert _key(recipe) != _key()


def test_architecture_files_and_builder_are_part_of_the_key() -> None:
    assert len({_key(), _key(arch="aarch64"), _key(files="g"), _key(builder="c")}) == 4


def test_description_and_place_are_not_part_of_the_key() -> None:
    assert _key(replace(_RECIPE, description="other", folder=Path("/elsewhere"))) == _key()


def test_an_initrd_is_known_by_its_script_and_its_agent() -> None:
    keys = {initrd_key(init_template=script, agent_hash=agent) for script in "ab" for agent in "cd"}

    assert len(keys) == 4


def test_parts_that_join_to_the_same_text_are_different_names() -> None:
    assert image_digest(rootfs="ab", initrd="c") != image_digest(rootfs="a", initrd="bc")
    assert rootfs_id(recipe="k", content=["ab", "c"]) != rootfs_id(recipe="k", content=["a", "bc"])


def test_every_name_has_the_form_the_cache_accepts() -> None:
    names = [_key(), image_digest(rootfs="a", initrd="b"), rootfs_id(recipe="a", content=["b"])]

    assert all(is_digest(name) for name in names)


@pytest.mark.parametrize(
    "text", ["", "../" + "a" * 29, "A" * 32, "a" * 31, "a" * 33, "a" * 32 + "\n", "g" * 32]
)
def test_what_could_be_a_path_is_no_name(text: str) -> None:
    assert not is_digest(text)


def _write(path: Path, *parts: tuple[int, bytes], size: int = 8 << 20) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
        for at, data in parts:
            file.seek(at)
            file.write(data)
    return path


def test_files_of_equal_content_have_equal_hashes_whether_their_zeros_are_holes_or_not(
    tmp_path: Path,
) -> None:
    holes = _write(tmp_path / "holes", (3 << 20, b"data"))
    zeros = _write(tmp_path / "zeros", (0, bytes(8 << 20)), (3 << 20, b"data"))

    assert holes.stat().st_blocks < zeros.stat().st_blocks
    assert hash_file(holes) == hash_file(zeros)


@pytest.mark.parametrize(
    ("parts", "size"),
    [
        ([(3 << 20, b"datA")], 8 << 20),
        ([((3 << 20) + 1, b"data")], 8 << 20),
        ([(4 << 20, b"data")], 8 << 20),
        ([(3 << 20, b"data")], 9 << 20),
        ([], 8 << 20),
    ],
)
def test_other_data_another_place_or_another_size_is_another_hash(
    tmp_path: Path, parts: list[tuple[int, bytes]], size: int
) -> None:
    one = _write(tmp_path / "one", (3 << 20, b"data"))
    two = _write(tmp_path / "two", *parts, size=size)

    assert hash_file(one) != hash_file(two)


def test_an_empty_file_has_a_hash(tmp_path: Path) -> None:
    assert len(hash_file(_write(tmp_path / "empty", size=0))) == 64
