"""The images of this host: `ports.Images` over the builder and the cache.

The order of a build: one caller in this process (`shared_work`), one process on this cache (a lock), room on
the disk, the root file system unless the cache has it, then the initrd. Each step decides anew from what the
cache holds by then, so whoever had to wait finds the other's work done.
Rule: an image is current if its recipe, its architecture, the initrd's script and the agent are today's.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import hashlib
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from cloche_hub.domain.image_files import ImageFiles
from cloche_hub.errors import BadRequest, BuildFailed, HubError, NoSpace, NotFound, RecipeNotBuilt
from cloche_hub.images.agent_bundle import AgentBundle, bundle_agent
from cloche_hub.images.arches import Arch, host_arch
from cloche_hub.images.builder import Rootfs, RootfsBuilder, builder_key, remove_build_tree
from cloche_hub.images.cache import Cache, StoredImage, StoredRootfs, disk_bytes
from cloche_hub.images.housekeeping import CacheLimits, Housekeeping
from cloche_hub.images.initrd import INIT_TEMPLATE, check_busybox, make_initrd
from cloche_hub.images.keys import hash_file, image_digest, initrd_key, recipe_key, rootfs_id
from cloche_hub.images.manifest import ImageManifest, RootfsManifest
from cloche_hub.images.recipe import Recipe, load_recipe, recipe_folders
from cloche_hub.images.recipe_files import FilesDigest
from cloche_hub.images.relay import ProgressFile
from cloche_hub.locks import Lock
from cloche_hub.ports import CacheUse, Image, Progress
from cloche_hub.shared_work import SharedWork

if TYPE_CHECKING:
    from cloche_hub.ports import OnProgress


_DISK_FULL = "No space left on device"


class BuildsRootfs(Protocol):
    """What fills a work folder from a recipe: `RootfsBuilder`, or a fake."""

    async def build(self, recipe: Recipe, work: Path, *, progress: OnProgress) -> Rootfs: ...


@dataclass(frozen=True, slots=True)
class ImageHold:
    """An image that can not be removed while this is open."""

    files: ImageFiles
    descriptor: int
    """Holds the lock. A process that inherits it keeps the image too, for as long as it lives."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the current image of a recipe is made of."""

    recipe: Recipe
    key: str
    initrd_key: str
    agent: AgentBundle


class ImageCache:
    """The images in one cache folder; an async context manager, since builds outlive a single caller.

    Args:
        root: the cache's folder, shared with other processes.
        recipes: where recipes are looked for, the winning folder first; default: as this installation has them.
        arch: what is built for; default: this host's.
        limits: bounds of the cache.
        builder: fills a folder from a recipe; default: mmdebstrap.
        agent: makes the agent bundle.
        busybox: the statically linked program for the initrd.
    """

    def __init__(
        self,
        root: Path,
        *,
        recipes: Sequence[Path] | None = None,
        arch: Arch | None = None,
        limits: CacheLimits | None = None,
        builder: BuildsRootfs | None = None,
        agent: Callable[[], AgentBundle] = bundle_agent,
        busybox: Path = Path("/bin/busybox"),
    ) -> None:
        self._cache = Cache(root, remove_tree=remove_build_tree)
        self._folders = recipe_folders() if recipes is None else tuple(recipes)
        self._arch = arch or host_arch()
        self._room = Housekeeping(self._cache, limits or CacheLimits())
        self._builder = builder or RootfsBuilder(self._arch)
        # Once: the agent is part of the running version, and `find` is on the way of every new sandbox.
        self._agent = functools.cache(agent)
        self._builder_key = functools.cache(builder_key)
        self._files_digest = FilesDigest()
        self._busybox = busybox
        self._group = asyncio.TaskGroup()
        self._work: SharedWork[StoredImage] | None = None

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._warm)
        await self._group.__aenter__()
        self._work = SharedWork(self._group)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._work is not None:
            self._work.cancel_all()
        # Not told of an error: the group would wrap it, and whoever waits for it outside would not know it again.
        await self._group.__aexit__(None, None, None)

    # ports.Images

    async def find(self, recipe: str) -> Image:
        """See `ports.Images.find`."""
        return await asyncio.to_thread(self._find, recipe)

    async def build(self, recipe: str, *, progress: OnProgress, rebuild: bool = False) -> Image:
        """See `ports.Images.build`."""
        wanted = await asyncio.to_thread(self._wanted, recipe)
        stored = None if rebuild else await asyncio.to_thread(self._current, wanted)
        if stored is None:
            assert self._work is not None, "use it as an async context manager"
            stored = await self._work.join(
                f"{wanted.key}-{wanted.initrd_key}-{rebuild}",
                lambda report: self._build(wanted, report, rebuild=rebuild),
                progress=progress,
            )
        return _as_image(stored)

    async def list(self) -> Sequence[Image]:
        """See `ports.Images.list`."""
        return await asyncio.to_thread(self._list)

    async def remove(self, digest: str) -> None:
        """See `ports.Images.remove`."""
        await asyncio.to_thread(self._cache.remove_image, digest)

    # For `vm`, through app

    def paths(self, digest: str) -> ImageFiles:
        """Where an image's files are; good only while it is held.

        Raises:
            NotFound: no such image.
        """
        return _as_files(self._cache.image(digest))

    @contextmanager
    def hold(self, digest: str) -> Iterator[ImageHold]:
        """Keeps an image while the context is open, whatever other processes want to remove.

        Raises:
            NotFound: no such image.
        """
        with self._cache.hold(digest) as lock:
            yield ImageHold(self.paths(digest), lock.fileno())

    # For `cloche df` and `cloche prune`

    async def uses(self) -> Sequence[CacheUse]:
        """What images and root file systems use on disk, newest first."""
        return await asyncio.to_thread(lambda: self._room.uses(current=self._current_digests()))

    async def prune(self) -> int:
        """Removes every image nobody holds but the current one (or else the newest) of its recipe; returns bytes."""
        return await asyncio.to_thread(lambda: self._room.prune(current=self._current_digests()))

    # Deciding

    def _find(self, recipe: str) -> Image:
        stored = self._current(self._wanted(recipe))
        if stored is None:
            raise RecipeNotBuilt(
                f"the recipe {recipe!r} is not built, or has changed since; build it with: cloche image build {recipe}",
                recipe=recipe,
            )
        return _as_image(stored)

    def _warm(self) -> None:
        """Reads what `find` needs, so that the first sandbox waits no longer than the others."""
        self._cache.prepare()
        self._builder_key()
        # Without an agent beside it a hub may still show what it has; whoever asks for an image is told.
        with suppress(HubError):
            self._agent()
        self._cache.newest_image(recipe_key="", initrd_key="")

    def _wanted(self, name: str) -> _Wanted:
        recipe = load_recipe(name, self._folders)
        agent = self._agent()
        key = recipe_key(
            recipe, arch=self._arch.name, files=self._files_digest(recipe.files), builder=self._builder_key()
        )
        return _Wanted(recipe, key, initrd_key(init_template=INIT_TEMPLATE, agent_hash=agent.sha256), agent)

    def _current(self, wanted: _Wanted) -> StoredImage | None:
        return self._cache.newest_image(recipe_key=wanted.key, initrd_key=wanted.initrd_key)

    def _current_digests(self) -> set[str]:
        """What `find` would return for each recipe that has an image."""
        current = set()
        for recipe in {stored.manifest.recipe for stored in self._cache.images()}:
            # A recipe that is gone, or has an error in it, has no current image.
            with suppress(NotFound, BadRequest):
                if (stored := self._current(self._wanted(recipe))) is not None:
                    current.add(stored.manifest.digest)
        return current

    def _list(self) -> Sequence[Image]:
        current = self._current_digests()
        return [
            _as_image(stored, current=stored.manifest.digest in current) for stored in self._cache.images()
        ]

    def _current_rootfs(self, wanted: _Wanted) -> StoredRootfs | None:
        for stored in self._cache.rootfs():
            if stored.manifest.recipe_key == wanted.key:
                return stored
        return None

    # Building

    async def _build(self, wanted: _Wanted, progress: OnProgress, *, rebuild: bool) -> StoredImage:
        relay = ProgressFile(self._cache.lock_path(f"build-{wanted.key}").with_suffix(".progress"))
        lock = await Lock.take(
            self._cache.lock_path(f"build-{wanted.key}"), while_waiting=lambda: relay.pass_on(progress)
        )

        def report(step: Progress) -> None:
            relay.write(step)
            progress(step)

        with lock, relay:
            await asyncio.to_thread(self._cache.sweep)
            if not rebuild and (stored := await asyncio.to_thread(self._current, wanted)):
                return stored
            # Read now: what is missing should be told before minutes of building.
            busybox = await asyncio.to_thread(self._read_busybox)
            base = None if rebuild else await asyncio.to_thread(self._current_rootfs, wanted)
            stored = await self._image_over(base, wanted, busybox, report)
        await asyncio.to_thread(self._room.keep_bound, keep=stored.manifest.digest)
        return stored

    async def _image_over(
        self, base: StoredRootfs | None, wanted: _Wanted, busybox: bytes, progress: OnProgress
    ) -> StoredImage:
        if base is not None:
            with self._cache.hold_rootfs(base.manifest.id):
                # Only now can it not go away any more.
                if base.rootfs.is_file():
                    progress(Progress("initrd", "packing the agent", 0.9))
                    return await self._add_initrd(base, wanted, busybox)
        await asyncio.to_thread(self._room.require_build_space, wanted.recipe.name)
        async with self._work_folder() as work:
            built = await self._run_builder(wanted.recipe, work, progress)
            content = await asyncio.to_thread(_hash_files, built)
            name = rootfs_id(recipe=wanted.key, content=content)
            with self._cache.hold_rootfs(name):
                base = await asyncio.to_thread(self._store_rootfs, wanted, name, built, work)
                return await self._add_initrd(base, wanted, busybox)

    async def _run_builder(self, recipe: Recipe, work: Path, progress: OnProgress) -> Rootfs:
        try:
            return await self._builder.build(recipe, work, progress=progress)
        except BuildFailed as error:
            log = self._cache.log_path(recipe.name)
            if (work / "build.log").is_file():
                shutil.copyfile(work / "build.log", log)
            failed = NoSpace if _DISK_FULL in error.message else BuildFailed
            raise failed(f"building {recipe.name} failed: {error.message}\nThe whole log: {log}") from None
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise NoSpace(
                f"building {recipe.name} failed: {_DISK_FULL}; make room with: cloche prune"
            ) from None

    @asynccontextmanager
    async def _work_folder(self) -> AsyncIterator[Path]:
        folder = self._cache.work_folder()
        path = await asyncio.to_thread(folder.__enter__)
        try:
            yield path
        finally:
            # In a thread, since it may be thousands of files; shielded, since whoever cancels twice wants it gone too.
            await asyncio.shield(asyncio.to_thread(folder.__exit__, None, None, None))

    def _store_rootfs(self, wanted: _Wanted, name: str, built: Rootfs, work: Path) -> StoredRootfs:
        with self._cache.work_folder() as clean:
            built.rootfs.rename(clean / "rootfs.ext4")
            built.kernel.rename(clean / "vmlinuz")
            (clean / "modules").mkdir()
            for module in built.modules:
                module.rename(clean / "modules" / module.name)
            if (work / "build.log").is_file():
                (work / "build.log").rename(clean / "build.log")
            return self._cache.publish_rootfs(
                clean,
                RootfsManifest(
                    id=name,
                    recipe=wanted.recipe.name,
                    recipe_key=wanted.key,
                    arch=self._arch.name,
                    kernel_version=built.kernel_version,
                    modules=tuple(module.name for module in built.modules),
                    built_at=datetime.now(UTC),
                ),
            )

    async def _add_initrd(self, base: StoredRootfs, wanted: _Wanted, busybox: bytes) -> StoredImage:
        await asyncio.to_thread(self._room.require_initrd_space, wanted.recipe.name)
        return await asyncio.to_thread(self._store_image, base, wanted, busybox)

    def _store_image(self, base: StoredRootfs, wanted: _Wanted, busybox: bytes) -> StoredImage:
        modules = [(path.name, path.read_bytes()) for path in base.modules]
        initrd = make_initrd(
            busybox=busybox, modules=modules, agent=wanted.agent.data, agent_hash=wanted.agent.sha256
        )
        digest = image_digest(rootfs=base.manifest.id, initrd=hashlib.sha256(initrd).hexdigest())
        manifest = ImageManifest(
            digest=digest,
            recipe=wanted.recipe.name,
            recipe_key=wanted.key,
            rootfs=base.manifest.id,
            arch=self._arch.name,
            agent_hash=wanted.agent.sha256,
            initrd_key=wanted.initrd_key,
            built_at=datetime.now(UTC),
        )
        with self._cache.work_folder() as work:
            (work / "initrd.img").write_bytes(initrd)
            return self._cache.publish_image(work, manifest, base)

    def _read_busybox(self) -> bytes:
        try:
            data = self._busybox.read_bytes()
        except OSError:
            raise BuildFailed(
                f"there is no {self._busybox}; install it with: apt-get install busybox-static"
            ) from None
        check_busybox(data, elf_machine=self._arch.elf_machine, where=str(self._busybox))
        return data


def _hash_files(built: Rootfs) -> Sequence[str]:
    return [hash_file(path) for path in (built.rootfs, built.kernel, *built.modules)]


def _as_image(stored: StoredImage, *, current: bool = True) -> Image:
    manifest = stored.manifest
    return Image(
        digest=manifest.digest,
        recipe=manifest.recipe,
        arch=manifest.arch,
        agent_hash=manifest.agent_hash,
        size_bytes=disk_bytes(stored.folder) + disk_bytes(stored.base.folder),
        built_at=manifest.built_at,
        current=current,
    )


def _as_files(stored: StoredImage) -> ImageFiles:
    return ImageFiles(
        digest=stored.manifest.digest,
        kernel=stored.base.kernel,
        initrd=stored.initrd,
        rootfs=stored.base.rootfs,
        arch=stored.manifest.arch,
        agent_hash=stored.manifest.agent_hash,
    )
