"""The images that tests on real machines run from: built once a host, in the cache that everybody shares.

Rule: they are built before the first test and outside every test's bound, since a build takes minutes on a fresh host.
`python -m tests.support.images` builds them all and shows how far it is; `make test` does that before it starts several
test processes, which have no terminal.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from cloche_hub.images.images import ImageCache
from cloche_hub.ports import Image, Progress
from cloche_wire.errors import CodedError
from cloche_wire.rendezvous import locations

FIXTURES = {"minimal_image": "minimal", "python_image": "python", "tools_image": "tools"}
"""Each fixture that hands out an image, and the recipe of it."""


def build_image(recipe: str, *, tell: Callable[[str], None]) -> Image:
    """The current image of a recipe, built if there is none.

    Args:
        recipe: its name.
        tell: called with one line when a part of the build begins.

    Raises:
        CodedError: as `ports.Images.build`.
    """
    told: set[str] = set()

    def report(step: Progress) -> None:
        if step.step not in told:
            told.add(step.step)
            tell(f"image {recipe}: {step.message}")

    async def build() -> Image:
        async with ImageCache(locations().cache) as images:
            return await images.build(recipe, progress=report)

    return asyncio.run(build())


def find_image(recipe: str) -> Image:
    """The current image of a recipe.

    Raises:
        RecipeNotBuilt: there is none.
    """

    async def find() -> Image:
        async with ImageCache(locations().cache) as images:
            return await images.find(recipe)

    return asyncio.run(find())


def _build_all() -> None:
    for recipe in FIXTURES.values():
        build_image(recipe, tell=lambda line: print(line, flush=True))


if __name__ == "__main__":
    try:
        _build_all()
    except CodedError as error:
        sys.exit(f"{error.message}\nTests without machines: .venv/bin/pytest -m 'not machine'")
