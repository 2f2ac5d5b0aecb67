"""Images over a builder that builds nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cloche_hub.images.agent_bundle import AgentBundle
from cloche_hub.images.arches import ARCHES
from cloche_hub.images.housekeeping import CacheLimits
from cloche_hub.images.images import ImageCache
from cloche_hub.ports import Progress
from tests.hub.images.fakes import STATIC_BUSYBOX, FakeBuilder, fake_agent

RECIPE = 'description = "d"\nsuite = "bookworm"\npackages = ["python3"]\n'
_AGENT = fake_agent()
Make = Callable[..., ImageCache]


def ignore(_step: Progress) -> None:
    """Takes a step and does nothing."""


@pytest.fixture
def builder() -> FakeBuilder:
    """One that is let go."""
    builder = FakeBuilder()
    builder.go.set()
    return builder


@pytest.fixture
def make(tmp_path: Path, builder: FakeBuilder) -> Make:
    """Makes the images of two recipes, `one` and `two`, in one cache."""
    for recipe in ("one", "two"):
        (tmp_path / "recipes" / recipe).mkdir(parents=True)
        (tmp_path / "recipes" / recipe / "recipe.toml").write_text(RECIPE)
    (tmp_path / "busybox").write_bytes(STATIC_BUSYBOX)

    def make(
        *,
        builder: FakeBuilder = builder,
        agent: AgentBundle = _AGENT,
        limits: CacheLimits | None = None,
        busybox: str = "busybox",
    ) -> ImageCache:
        return ImageCache(
            tmp_path / "cache",
            recipes=[tmp_path / "recipes"],
            arch=ARCHES["x86_64"],
            limits=limits,
            builder=builder,
            agent=lambda: agent,
            busybox=tmp_path / busybox,
        )

    return make
