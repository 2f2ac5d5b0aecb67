"""Room in the cache: what it uses, what may go, and refusing a build that would not fit.

Blocking (it walks folders and removes them): callers run it in a thread.
Rule: an image that somebody holds never goes, whatever the bounds say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from cloche_hub.errors import NoSpace
from cloche_hub.images.cache import Cache, disk_bytes, used_at
from cloche_hub.images.eviction import choose_evicted, choose_kept
from cloche_hub.ports import CacheUse

_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """Bounds of the cache; every one a constructor argument so that tests reach it."""

    max_bytes: int = 16 * _GIB
    """What images and root file systems may use together."""
    build_bytes: int = _GIB
    """Free space a build of a root file system needs at its fullest moment."""
    initrd_bytes: int = 32 << 20
    """Free space an initrd needs."""


class Housekeeping:
    """Keeps a cache within its bounds."""

    def __init__(self, cache: Cache, limits: CacheLimits) -> None:
        self._cache = cache
        self._limits = limits

    def require_build_space(self, recipe: str) -> None:
        """Makes room for a root file system, if need be by removing images unused for long.

        Raises:
            NoSpace: there still is not enough.
        """
        self._require(recipe, self._limits.build_bytes)

    def require_initrd_space(self, recipe: str) -> None:
        """As `require_build_space`, for an initrd."""
        self._require(recipe, self._limits.initrd_bytes)

    def _require(self, recipe: str, needed: int) -> None:
        missing = needed - self._cache.free_bytes()
        if missing > 0:
            self._evict(missing)
        free = self._cache.free_bytes()
        if free < needed:
            raise NoSpace(
                f"building {recipe} needs {_gib(needed)} free in {self._cache.root}, but there is {_gib(free)}; "
                "make room with: cloche prune",
                needed_bytes=needed,
                free_bytes=free,
            )

    def keep_bound(self, *, keep: str) -> None:
        """Removes the images unused for longest until the cache is within its bound; `keep` stays."""
        images = sum(disk_bytes(stored.folder) for stored in self._cache.images())
        self._evict(images + sum(self._rootfs_bytes().values()) - self._limits.max_bytes, keep=keep)

    def _evict(self, to_free: int, *, keep: str = "") -> None:
        images = self._cache.cached_images()
        for digest in choose_evicted(images, self._rootfs_bytes(), to_free=to_free, keep=keep):
            self._cache.remove_if_unused(digest)

    def _rootfs_bytes(self) -> Mapping[str, int]:
        return {stored.manifest.id: disk_bytes(stored.folder) for stored in self._cache.rootfs()}

    def uses(self, *, current: AbstractSet[str] = frozenset()) -> Sequence[CacheUse]:
        """What every image and root file system uses on disk, the latest used first.

        Args:
            current: digests of the images that new sandboxes start from.
        """
        images = self._cache.cached_images()
        kept = choose_kept(images, current)
        staying = {one.digest for one in images if one.in_use or one.digest in kept}
        uses = [
            CacheUse(
                "image",
                one.digest,
                one.size_bytes,
                one.used_at,
                one.in_use,
                prunable=one.digest not in staying,
                recipe=one.recipe,
            )
            for one in images
        ]
        for stored in self._cache.rootfs():
            over = [one for one in images if one.rootfs == stored.manifest.id]
            own = used_at(stored.folder)
            if own is None:
                continue
            uses.append(
                CacheUse(
                    "rootfs",
                    stored.manifest.id,
                    disk_bytes(stored.folder),
                    max((one.used_at for one in over), default=own),
                    in_use=any(one.in_use for one in over),
                    prunable=not any(one.digest in staying for one in over),
                    recipe=stored.manifest.recipe,
                )
            )
        return sorted(uses, key=lambda use: use.used_at, reverse=True)

    def prune(self, *, current: AbstractSet[str] = frozenset()) -> int:
        """Removes what died halfway, and the images nobody holds except one of each recipe: see `choose_kept`.

        Args:
            current: digests of the images that new sandboxes start from.

        Returns:
            The bytes freed.
        """
        self._cache.sweep()
        images = self._cache.cached_images()
        kept = choose_kept(images, current)
        freed = sum(self._cache.remove_if_unused(one.digest) for one in images if one.digest not in kept)
        return freed + self._cache.remove_unneeded_rootfs()


def _gib(size: int) -> str:
    return f"{size / _GIB:.1f} GiB"
