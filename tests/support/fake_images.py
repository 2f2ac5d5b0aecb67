"""Images in memory: two recipes, built by saying so. Implements ports.Images."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from cloche_hub.errors import CodedError, NotFound, RecipeNotBuilt, WrongState
from cloche_hub.ports import CacheUse, Image, OnProgress, Progress

AGENT_HASH = "a" * 64
LONG_AGO = datetime(2026, 1, 2, tzinfo=UTC)
RECIPES = ("minimal", "python")


class FakeImages:
    """The images of a host that has none.

    Args:
        built: the recipes whose images are there.
    """

    def __init__(self, *, built: Sequence[str] = ("python",)) -> None:
        self._images = {recipe: _image(recipe) for recipe in built}
        self.builds = 0
        """Builds begun."""
        self.building = 0
        """Builds that wait at the gate."""
        self.build_gate = asyncio.Event()
        """Builds go on while it is set."""
        self.build_gate.set()
        self.refuse_build: CodedError | None = None
        self.used: set[str] = set()
        """Digests that machines run from."""

    async def find(self, recipe: str) -> Image:
        self._check(recipe)
        if recipe not in self._images:
            raise RecipeNotBuilt(
                f"no image of recipe {recipe!r} yet; build it with: cloche image build {recipe}"
            )
        return self._images[recipe]

    async def build(self, recipe: str, *, progress: OnProgress, rebuild: bool = False) -> Image:
        self._check(recipe)
        if recipe in self._images and not rebuild:
            return self._images[recipe]
        self.builds += 1
        progress(Progress("packages", "fetching 3 packages", 0.3))
        self.building += 1
        try:
            await self.build_gate.wait()
        finally:
            self.building -= 1
        if self.refuse_build is not None:
            raise self.refuse_build
        progress(Progress("done", "image ready", 1.0))
        self._images[recipe] = _image(recipe)
        return self._images[recipe]

    async def list(self) -> Sequence[Image]:
        return list(self._images.values())

    async def remove(self, digest: str) -> None:
        if digest in self.used:
            raise WrongState(f"a machine runs from image {digest}")
        for recipe, image in list(self._images.items()):
            if image.digest == digest:
                del self._images[recipe]
                return
        raise NotFound(f"no image {digest}")

    async def uses(self) -> Sequence[CacheUse]:
        return [
            CacheUse(
                "image",
                image.digest,
                image.size_bytes,
                LONG_AGO,
                image.digest in self.used,
                recipe=image.recipe,
            )
            for image in self._images.values()
        ]

    async def prune(self) -> int:
        return 5

    def _check(self, recipe: str) -> None:
        if recipe not in RECIPES:
            raise NotFound(f"no recipe {recipe!r}; there are: {', '.join(RECIPES)}")


def _image(recipe: str) -> Image:
    return Image(f"{recipe}-digest", recipe, "x86_64", AGENT_HASH, 1 << 20, LONG_AGO)
