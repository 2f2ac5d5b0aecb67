"""Images as clients ask for them, and what the audit is told of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cloche_hub.errors import NotFound, RecipeNotBuilt
from cloche_hub.ports import Image, Progress
from cloche_hub.services.images import ImageService
from cloche_hub.services.records import Records
from cloche_hub.store.store import Store, open_store
from tests.support.fake_images import FakeImages
from tests.support.hub import until


@asynccontextmanager
async def image_service(
    folder: Path, *, built: tuple[str, ...] = ()
) -> AsyncIterator[tuple[ImageService, FakeImages, Store]]:
    async with open_store(folder / "home") as store:
        images = FakeImages(built=built)
        yield ImageService(images, Records(store)), images, store


def ignore(_progress: Progress) -> None:
    pass


async def build(service: ImageService, *, rebuild: bool = False) -> Image:
    return await service.build("python", rebuild=rebuild, actor="tok_a", progress=ignore)


async def told(store: Store) -> list[str]:
    return [event.event for event in await store.audit.tail(limit=50)]


async def test_an_image_that_is_there_is_found(tmp_path: Path) -> None:
    async with image_service(tmp_path, built=("python",)) as (service, images, _):
        found = await service.find("python", build=False)
        assert found is not None
        assert (found.digest, images.builds) == ("python-digest", 0)


async def test_an_image_that_is_not_there_is_none_or_an_error(tmp_path: Path) -> None:
    async with image_service(tmp_path) as (service, images, _):
        assert await service.find("python", build=True) is None
        with pytest.raises(RecipeNotBuilt):
            await service.find("python", build=False)
        with pytest.raises(NotFound):
            await service.find("plan9", build=True)
        assert images.builds == 0


async def test_a_build_is_recorded_with_what_it_made(tmp_path: Path) -> None:
    async with image_service(tmp_path) as (service, _, store):
        await build(service)
        (event,) = await store.audit.tail(limit=5)
        assert (event.event, event.actor, event.detail["image"]) == ("image.built", "tok_a", "python-digest")


async def test_one_build_for_many_callers_is_recorded_once(tmp_path: Path) -> None:
    async with image_service(tmp_path) as (service, images, store):
        images.build_gate.clear()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(3):
                tasks.create_task(build(service))
            await until(lambda: images.building == 3)
            images.build_gate.set()
        assert await told(store) == ["image.built"]


async def test_an_image_that_was_there_is_not_recorded_again_unless_it_is_rebuilt(tmp_path: Path) -> None:
    async with image_service(tmp_path, built=("python",)) as (service, _, store):
        await build(service)
        assert await told(store) == []
        await build(service, rebuild=True)
        assert await told(store) == ["image.built"]


async def test_an_image_built_again_after_its_removal_is_news(tmp_path: Path) -> None:
    async with image_service(tmp_path) as (service, _, store):
        await build(service)
        await service.remove("python-digest", actor="tok_b")
        await build(service)
        assert await told(store) == ["image.built", "image.removed", "image.built"]


async def test_the_removal_of_nothing_is_not_recorded(tmp_path: Path) -> None:
    async with image_service(tmp_path) as (service, _, store):
        with pytest.raises(NotFound):
            await service.remove("nothing", actor="tok_a")
        assert await told(store) == []


async def test_pruning_is_recorded_with_the_bytes_it_freed(tmp_path: Path) -> None:
    async with image_service(tmp_path) as (service, _, store):
        await service.note_pruned(12, actor="tok_a")
        (event,) = await store.audit.tail(limit=5)
        assert (event.event, event.detail) == ("cache.pruned", {"freed_bytes": 12})
