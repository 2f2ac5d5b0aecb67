"""A builder that builds nothing in no time, and a cache on a small disk."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cloche_hub.images.agent_bundle import AgentBundle
from cloche_hub.images.builder import Rootfs
from cloche_hub.images.cache import Cache, StoredImage
from cloche_hub.images.manifest import ImageManifest, RootfsManifest
from cloche_hub.ports import OnProgress, Progress

if TYPE_CHECKING:
    from cloche_hub.images.recipe import Recipe

STATIC_BUSYBOX = b"\x7fELF\x02\x01".ljust(18, b"\0") + (62).to_bytes(2, "little") + bytes(44)
"""The smallest program `check_busybox` takes for x86_64."""

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def digest(letter: str) -> str:
    """A name of the form the cache gives."""
    return letter * 32


def add_image(cache: Cache, name: str, *, rootfs: str, recipe: str = "x", hours: int = 0) -> StoredImage:
    """Puts an image, and its root file system if it is not there yet, into a cache."""
    built_at = EPOCH + timedelta(hours=hours)
    base = next((one for one in cache.rootfs() if one.manifest.id == digest(rootfs)), None)
    if base is None:
        manifest = RootfsManifest(digest(rootfs), recipe, "k", "x86_64", "6.1", ("a.ko",), built_at)
        with cache.work_folder() as work:
            (work / "rootfs.ext4").write_bytes(b"r" * 8192)
            (work / "vmlinuz").write_bytes(b"k")
            (work / "modules").mkdir()
            (work / "modules/a.ko").write_bytes(b"m")
            base = cache.publish_rootfs(work, manifest)
    image = ImageManifest(digest(name), recipe, "k", digest(rootfs), "x86_64", "h", "n", built_at)
    with cache.work_folder() as work:
        (work / "initrd.img").write_bytes(b"i" * 4096)
        return cache.publish_image(work, image, base)


def fake_agent(text: bytes = b"agent") -> AgentBundle:
    """An agent bundle that is none."""
    return AgentBundle(text, text.hex().ljust(64, "0"))


@dataclass
class FakeBuilder:
    """Writes the files of a root file system; waits until it is let go, or fails."""

    content: bytes = b"content"
    failure: Exception | None = None
    started: int = 0
    folders: list[Path] = field(default_factory=list)
    running: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def build(self, recipe: Recipe, work: Path, *, progress: OnProgress) -> Rootfs:
        self.started += 1
        self.folders.append(work)
        (work / "build.log").write_text(f"building {recipe.name}\n")
        (work / "half").mkdir()
        progress(Progress("fake", "building", 0.5))
        self.running.set()
        await self.go.wait()
        if self.failure is not None:
            raise self.failure
        for name, data in (("rootfs.ext4", self.content), ("vmlinuz", b"kernel"), ("virtio.ko", b"module")):
            (work / name).write_bytes(data)
        return Rootfs(work / "rootfs.ext4", work / "vmlinuz", (work / "virtio.ko",), "6.1")
