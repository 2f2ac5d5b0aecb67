"""Requests about images."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.errors import BadRequest, NotFound, WrongState
from tests.support.fake_images import FakeImages
from tests.support.hub import running_hub, within


async def test_a_build_tells_its_steps_and_answers_with_the_image(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", images=FakeImages(built=())) as hub, hub.client() as client:
        hub.images.build_gate.clear()
        channel = client.open("image.build", recipe="python")
        steps = channel.messages()
        assert (await within(anext(steps)))["message"] == "fetching 3 packages"
        hub.images.build_gate.set()
        built = await within(channel.result())
        assert (built["digest"], built["recipe"], built["arch"]) == ("python-digest", "python", "x86_64")
        assert (await client.call("image.list"))["images"] == [built]


async def test_an_image_is_built_again_only_on_request(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.call("image.build", recipe="python")
        assert hub.images.builds == 0
        await client.call("image.build", recipe="python", rebuild=True)
        assert hub.images.builds == 1


async def test_an_image_is_removed_unless_a_machine_runs_from_it(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        hub.images.used = {"python-digest"}
        with pytest.raises(WrongState):
            await client.call("image.remove", digest="python-digest")
        hub.images.used = set()
        assert await client.call("image.remove", digest="python-digest") == {}
        with pytest.raises(NotFound):
            await client.call("image.remove", digest="python-digest")
        assert (await client.call("image.list"))["images"] == []


async def test_a_recipe_that_could_be_a_path_is_refused(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        for recipe in ("../python", "/etc", ".hidden"):
            with pytest.raises(BadRequest):
                await client.call("image.build", recipe=recipe)
