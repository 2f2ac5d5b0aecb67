"""Which image is the current one of its recipe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.hub.images.conftest import RECIPE, Make, ignore


async def test_an_image_that_becomes_current_again_is_told_and_kept_by_pruning(
    make: Make, tmp_path: Path
) -> None:
    recipe = tmp_path / "recipes/one/recipe.toml"
    async with make() as images:
        first = await images.build("one", progress=ignore)
        recipe.write_text(RECIPE + 'run = ["true"]\n')
        second = await images.build("one", progress=ignore)
        recipe.write_text(RECIPE)
        assert await images.list() == [replace(second, current=False), first]

        assert {use.name for use in await images.uses() if use.prunable} >= {second.digest}
        await images.prune()

        assert await images.list() == [first]


async def test_a_recipe_that_is_gone_has_no_current_image(make: Make, tmp_path: Path) -> None:
    async with make() as images:
        image = await images.build("one", progress=ignore)
        (tmp_path / "recipes/one/recipe.toml").unlink()

        assert await images.list() == [replace(image, current=False)]
