"""`cloche image build | ls | rm`."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from cloche.cli.image import find_image
from cloche.errors import BadRequest, NotFound
from cloche.messages import ImageInfo
from tests.sdk.cli.conftest import Cloche
from tests.support.local_hub import LocalHub


async def test_build_says_what_it_built_and_its_steps_on_the_way(cloche: Cloche, hub: LocalHub) -> None:
    ran = await cloche("image", "build", "python")
    assert ran == (0, "python  abababababab  300.0 MiB\n", "cloche: fetching packages\n")


async def test_build_in_json_is_the_image(cloche: Cloche, hub: LocalHub) -> None:
    image = json.loads((await cloche("image", "build", "minimal", "--rebuild", "--json")).out)
    assert (image["recipe"], image["digest"], image["size_bytes"]) == ("minimal", "ab" * 32, 300 << 20)
    assert hub.asked[-1] == ("image.build", {"recipe": "minimal", "rebuild": True})


async def test_a_recipe_there_is_not_is_told(cloche: Cloche, hub: LocalHub) -> None:
    ran = await cloche("image", "build", "nosuch")
    assert (ran.status, ran.err) == (125, "cloche: no such recipe; there are: minimal, python\n")


async def test_ls_shows_a_line_an_image(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("image", "build", "python")
    heading, line = (await cloche("image", "ls")).out.splitlines()
    assert heading.split() == ["RECIPE", "DIGEST", "ARCH", "SIZE", "BUILT", "STATE"]
    assert line.split()[:5] == ["python", "abababababab", "x86_64", "300.0", "MiB"]
    assert line.endswith("  current")
    hub.images[0]["current"] = False
    assert (await cloche("image", "ls")).out.endswith("  old\n")
    assert [image["recipe"] for image in json.loads((await cloche("image", "ls", "--json")).out)] == [
        "python"
    ]


@pytest.mark.parametrize("reference", ["python", "abab", "ab" * 32])
async def test_rm_takes_a_recipe_or_the_beginning_of_a_digest(
    cloche: Cloche, hub: LocalHub, reference: str
) -> None:
    await cloche("image", "build", "python")
    assert await cloche("image", "rm", reference) == (0, "abababababab\n", "")
    assert hub.images == []


async def test_rm_in_json_is_the_image_that_was(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("image", "build", "python")
    assert json.loads((await cloche("image", "rm", "python", "--json")).out)["digest"] == "ab" * 32


def _image(digest: str, recipe: str) -> ImageInfo:
    return ImageInfo(digest, recipe, "x86_64", "cd", 1, datetime(2026, 1, 1, tzinfo=UTC), current=True)


_IMAGES = [_image("abc1", "python"), _image("abd2", "python"), _image("c0de", "minimal")]


def test_an_image_is_found_by_digest_first() -> None:
    assert find_image("abc", _IMAGES).digest == "abc1"
    assert find_image("minimal", _IMAGES).digest == "c0de"
    assert find_image("c", _IMAGES).digest == "c0de"


@pytest.mark.parametrize("reference", ["ab", "python"])
def test_several_images_are_listed(reference: str) -> None:
    with pytest.raises(BadRequest, match="could be any of: abc1, abd2; give one of these"):
        find_image(reference, _IMAGES)


@pytest.mark.parametrize("reference", ["", "nosuch"])
def test_no_image_is_told(reference: str) -> None:
    with pytest.raises(NotFound, match="cloche image ls"):
        find_image(reference, _IMAGES)
