"""Which images leave the cache when it is too full.

Pure: what is there in, what goes out. Rule: the one unused longest goes first; one in use never goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CachedImage:
    """What the decision needs to know of an image."""

    digest: str
    recipe: str
    rootfs: str
    size_bytes: int
    """Without its root file system, which others may share."""
    used_at: datetime
    in_use: bool


def choose_kept(images: Sequence[CachedImage], current: AbstractSet[str]) -> set[str]:
    """The digests that pruning leaves even if nobody uses them: of each recipe the current one, or else the newest.

    Args:
        images: all there are, newest first.
        current: those that new sandboxes start from.
    """
    kept: dict[str, str] = {}
    for image in sorted(images, key=lambda image: image.digest not in current):
        kept.setdefault(image.recipe, image.digest)
    return set(kept.values())


def choose_evicted(
    images: Sequence[CachedImage], rootfs_bytes: Mapping[str, int], *, to_free: int, keep: str = ""
) -> list[str]:
    """The digests to remove, in order, to free `to_free` bytes, or as much as can be freed.

    Args:
        images: all there are.
        rootfs_bytes: size of each root file system by its id; one is freed with the last image over it.
        to_free: bytes; nothing goes if it is not positive.
        keep: a digest that stays whatever happens.
    """
    left = {image.digest: image for image in images}
    evicted: list[str] = []
    for image in sorted(images, key=lambda image: image.used_at):
        if to_free <= 0:
            break
        if image.in_use or image.digest == keep:
            continue
        del left[image.digest]
        evicted.append(image.digest)
        to_free -= image.size_bytes
        if not any(other.rootfs == image.rootfs for other in left.values()):
            to_free -= rootfs_bytes.get(image.rootfs, 0)
    return evicted
