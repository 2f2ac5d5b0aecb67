"""Which images leave the cache."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cloche_hub.images.eviction import CachedImage, choose_evicted, choose_kept

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _image(
    digest: str, *, rootfs: str = "", days_unused: int = 0, in_use: bool = False, recipe: str = "x"
) -> CachedImage:
    return CachedImage(digest, recipe, rootfs or f"r{digest}", 10, _NOW - timedelta(days=days_unused), in_use)


_OLD, _MIDDLE, _NEW = _image("old", days_unused=9), _image("middle", days_unused=5), _image("new")
_SIZES = {"rold": 100, "rmiddle": 100, "rnew": 100}


@pytest.mark.parametrize(
    ("to_free", "evicted"),
    [
        (-5, []),
        (0, []),
        (1, ["old"]),
        (110, ["old"]),
        (111, ["old", "middle"]),
        (10_000, ["old", "middle", "new"]),
    ],
)
def test_the_one_unused_longest_goes_first_and_no_more_than_needed(to_free: int, evicted: list[str]) -> None:
    assert choose_evicted([_NEW, _OLD, _MIDDLE], _SIZES, to_free=to_free) == evicted


def test_one_in_use_never_goes() -> None:
    busy = _image("busy", days_unused=99, in_use=True)

    assert choose_evicted([busy, _NEW], {"rbusy": 100, "rnew": 100}, to_free=1000) == ["new"]


def test_the_one_just_built_stays() -> None:
    assert choose_evicted([_OLD, _NEW], _SIZES, to_free=1000, keep="old") == ["new"]


def test_a_shared_root_file_system_is_freed_with_the_last_image_over_it() -> None:
    images = [_image(name, rootfs="shared", days_unused=days) for name, days in (("a", 3), ("b", 2))] + [_NEW]

    assert choose_evicted(images, {"shared": 100, "rnew": 100}, to_free=15) == ["a", "b"]


def test_a_root_file_system_kept_by_an_image_in_use_does_not_count_as_freed() -> None:
    images = [
        _image("a", rootfs="shared", days_unused=3),
        _image("busy", rootfs="shared", in_use=True, days_unused=2),
        _NEW,
    ]

    assert choose_evicted(images, {"shared": 100, "rnew": 100}, to_free=50) == ["a", "new"]


@pytest.mark.parametrize(
    ("current", "kept"), [(set(), {"a2", "b1"}), ({"a1"}, {"a1", "b1"}), ({"a2", "b1"}, {"a2", "b1"})]
)
def test_pruning_keeps_the_current_image_of_each_recipe_or_else_the_newest(
    current: set[str], kept: set[str]
) -> None:
    images = [_image("a2", recipe="a"), _image("b1", recipe="b"), _image("a1", recipe="a")]

    assert choose_kept(images, current) == kept
