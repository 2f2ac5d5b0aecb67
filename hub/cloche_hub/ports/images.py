"""The images of this host, and how long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

OnProgress = Callable[["Progress"], None]
"""Called with each step of a long work; must not block and must not raise."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a long work."""

    step: str
    """A short stable word for programs, such as `packages` or `template`."""
    message: str
    """One line for a person."""
    fraction: float | None = None
    """How much of the whole work is done, 0 to 1, where that is known."""


@dataclass(frozen=True, slots=True)
class Image:
    """A content-addressed image: kernel, initrd and root file system built from a recipe."""

    digest: str
    """Hex; names the image everywhere."""
    recipe: str
    arch: str
    """As `uname -m` says it: x86_64 or aarch64."""
    agent_hash: str
    """sha256 hex of the agent bundle inside; the agent's hello must carry the same."""
    size_bytes: int
    """Disk blocks in use, not the apparent size."""
    built_at: datetime
    current: bool = True
    """Whether it is what its recipe, built now, would give: what new sandboxes start from."""


@dataclass(frozen=True, slots=True)
class CacheUse:
    """What the caches hold, for `cloche df`."""

    kind: str
    """image, rootfs, template or machine."""
    name: str
    size_bytes: int
    used_at: datetime
    in_use: bool
    prunable: bool = False
    """Whether `prune` would delete it now."""
    recipe: str | None = None
    """Whose image or root file system it is; None where it is found by its name."""


class Images(Protocol):
    """The images of this host."""

    async def find(self, recipe: str) -> Image:
        """The current image of a recipe.

        Raises:
            NotFound: there is no such recipe; the message lists those there are.
            RecipeNotBuilt: it has not been built yet, or its recipe or the agent has changed since.
        """
        ...

    async def build(self, recipe: str, *, progress: OnProgress, rebuild: bool = False) -> Image:
        """Builds the image, or returns the current one unless `rebuild`; callers of the same recipe share one build.

        Cancelling one caller ends the build only when nobody else waits for it; nothing half-made stays.

        Raises:
            NotFound, BadRequest: no such recipe, or an error in it (the message names the key).
            NoSpace: less free space than the build needs.
            BuildFailed: with the last lines of the builder's output.
        """
        ...

    async def list(self) -> Sequence[Image]:
        """Every complete image, newest first."""
        ...

    async def remove(self, digest: str) -> None:
        """Deletes an image; its templates go with it.

        Raises:
            NotFound: no such image.
            WrongState: a machine still runs from it.
        """
        ...

    async def uses(self) -> Sequence[CacheUse]:
        """What images hold on disk, for `cloche df`."""
        ...

    async def prune(self) -> int:
        """Deletes what no recipe needs any more; returns the bytes freed."""
        ...
