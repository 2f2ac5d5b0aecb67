"""Which image is the current one of its recipe."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import pytest

from cloche_hub.errors import HubError, RecipeNotBuilt
from cloche_hub.images.agent_bundle import AgentBundle
from tests.hub.images.conftest import RECIPE, Make, ignore
from tests.hub.images.fakes import fake_agent


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


async def test_the_agent_is_packed_before_the_first_image_is_asked_for(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = make()
    packed: list[bool] = []

    def pack() -> AgentBundle:
        packed.append(True)
        return fake_agent()

    monkeypatch.setattr(images, "_agent", functools.cache(pack))
    async with images:
        assert packed == [True]
        with pytest.raises(RecipeNotBuilt):
            await images.find("one")
    assert packed == [True]


async def test_a_hub_without_an_agent_beside_it_says_so_when_an_image_is_asked_for(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = make()

    def pack() -> AgentBundle:
        raise HubError("the package cloche_guest is not installed beside the hub")

    monkeypatch.setattr(images, "_agent", pack)
    async with images:
        with pytest.raises(HubError, match="cloche_guest"):
            await images.find("one")
