"""Room in the cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche_hub.errors import NoSpace
from cloche_hub.images.cache import Cache
from cloche_hub.images.housekeeping import CacheLimits, Housekeeping
from tests.hub.images.fakes import add_image, digest

_NEVER = 1 << 62


class _SmallDisk(Cache):
    """A cache on a disk whose free space grows with what is removed."""

    free = 0

    def free_bytes(self) -> int:
        return self.free

    def remove_image(self, digest: str) -> int:
        freed = super().remove_image(digest)
        self.free += freed
        return freed


@pytest.fixture
def cache(tmp_path: Path) -> _SmallDisk:
    cache = _SmallDisk(tmp_path / "cache")
    cache.prepare()
    for used, name in enumerate("abc", start=1):
        stored = add_image(cache, name, rootfs=str(used), recipe=name, hours=used)
        os.utime(stored.folder / "manifest.json", (used, used))
    return cache


def _there(cache: Cache) -> str:
    return "".join(sorted(stored.manifest.digest[0] for stored in cache.images()))


def test_over_its_bound_the_cache_loses_what_was_unused_longest(cache: _SmallDisk) -> None:
    one = sum(use.size_bytes for use in Housekeeping(cache, CacheLimits()).uses()) // 3

    Housekeeping(cache, CacheLimits(max_bytes=2 * one)).keep_bound(keep=digest("c"))

    assert _there(cache) == "bc"


def test_what_was_just_built_and_what_is_in_use_stay_over_any_bound(cache: _SmallDisk) -> None:
    with cache.hold(digest("a")):
        Housekeeping(cache, CacheLimits(max_bytes=0)).keep_bound(keep=digest("b"))

    assert _there(cache) == "ab"


def test_within_its_bound_nothing_goes(cache: _SmallDisk) -> None:
    Housekeeping(cache, CacheLimits()).keep_bound(keep="")

    assert _there(cache) == "abc"


def test_a_build_that_does_not_fit_makes_room_first(cache: _SmallDisk) -> None:
    Housekeeping(cache, CacheLimits(build_bytes=1)).require_build_space("x")

    assert _there(cache) == "bc"


def test_a_build_that_can_not_fit_is_refused_with_both_figures(cache: _SmallDisk) -> None:
    cache.free = 1 << 29

    with (
        pytest.raises(NoSpace) as caught,
        cache.hold(digest("a")),
        cache.hold(digest("b")),
        cache.hold(digest("c")),
    ):
        Housekeeping(cache, CacheLimits(build_bytes=3 << 29)).require_build_space("python")

    assert caught.value.message == (
        f"building python needs 1.5 GiB free in {cache.root}, but there is 0.5 GiB; make room with: cloche prune"
    )
    assert caught.value.details == {"needed_bytes": 3 << 29, "free_bytes": 1 << 29}


def test_an_initrd_has_a_bound_of_its_own(cache: _SmallDisk) -> None:
    cache.free = 100
    room = Housekeeping(cache, CacheLimits(build_bytes=_NEVER, initrd_bytes=100))

    room.require_initrd_space("x")

    assert _there(cache) == "abc"


def test_uses_tell_what_is_in_use_the_latest_first(cache: _SmallDisk) -> None:
    with cache.hold(digest("b")):
        uses = Housekeeping(cache, CacheLimits()).uses()

    assert [(use.kind, use.name[0], use.in_use) for use in uses] == [
        ("image", "b", True),
        ("rootfs", "2", True),
        ("image", "c", False),
        ("rootfs", "3", False),
        ("image", "a", False),
        ("rootfs", "1", False),
    ]


def test_pruning_leaves_the_newest_image_of_each_recipe_and_what_is_in_use(cache: _SmallDisk) -> None:
    add_image(cache, "d", rootfs="1", recipe="a", hours=9)
    add_image(cache, "e", rootfs="5", recipe="b", hours=9)
    (cache.root / "tmp/left").mkdir()

    with cache.hold(digest("b")):
        freed = Housekeeping(cache, CacheLimits()).prune()

    assert _there(cache) == "bcde"
    assert freed > 0
    assert list((cache.root / "tmp").iterdir()) == []


def test_what_pruning_would_delete_is_told_before(cache: _SmallDisk) -> None:
    add_image(cache, "d", rootfs="1", recipe="a", hours=9)
    add_image(cache, "e", rootfs="5", recipe="b", hours=9)
    add_image(cache, "f", rootfs="6", recipe="b", hours=10)
    room = Housekeeping(cache, CacheLimits())

    with cache.hold(digest("f")):
        uses = room.uses(current={digest("b")})
        freed = room.prune(current={digest("b")})

    assert {(use.kind, use.name[0]) for use in uses if use.prunable} == {
        ("image", "a"),  # its recipe has the newer d
        ("image", "e"),  # b is the current one, although it is older
        ("rootfs", "5"),
    }
    assert {use.recipe for use in uses if use.name[0] in "be25"} == {"b"}
    assert freed == sum(use.size_bytes for use in uses if use.prunable)
    assert _there(cache) == "bcdf"
