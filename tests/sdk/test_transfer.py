"""What is copied, decided before a byte is."""

from __future__ import annotations

import pytest

from cloche.errors import SenselessAnswer, TooLarge
from cloche.transfer import (
    MAX_NAME,
    UNSIZED_MOST,
    Item,
    Plan,
    Skipped,
    Tally,
    check_name,
    most_bytes,
    permissions,
    stays_inside,
)

ROOT = Item(None, "", "dir")
SUB = Item(ROOT, "sub", "dir")


def test_an_item_knows_where_it_is() -> None:
    deep = Item(SUB, "a", "file")
    assert (deep.parts, deep.path, deep.depth) == (("sub", "a"), "sub/a", 2)
    assert (ROOT.parts, ROOT.path, ROOT.depth) == ((), ".", 0)


def test_a_plan_keeps_kinds_apart_and_folders_behind_what_they_are_in() -> None:
    plan = Plan()
    items = [
        ROOT,
        Item(ROOT, "a", "file", 3),
        SUB,
        Item(SUB, "b", "file", 4),
        Item(SUB, "l", "link", target="b"),
    ]
    for item in items:
        plan.add(item)
    plan.skip("dev", "no")
    assert (plan.folders, plan.files, plan.links) == ([ROOT, SUB], [items[1], items[3]], [items[4]])
    assert (plan.size_bytes, plan.skipped) == (7, [Skipped("dev", "no")])
    assert list(plan.levels()) == [[ROOT], [SUB]]


def test_a_plan_takes_so_many_entries_and_those_left_out_count() -> None:
    plan = Plan(max_entries=2)
    plan.add(ROOT)
    plan.skip("a", "no")
    with pytest.raises(TooLarge, match="more than 2 files"):
        plan.add(SUB)
    with pytest.raises(TooLarge):
        plan.skip("b", "no")


def test_a_plan_is_so_deep() -> None:
    plan = Plan(max_depth=2)
    plan.add(Item(SUB, "a", "dir"))
    with pytest.raises(TooLarge, match="more than 2 deep"):
        plan.add(Item(Item(SUB, "a", "dir"), "b", "file"))


@pytest.mark.parametrize("name", ["a", "...", ".a", "a b", "-", "ä" * (MAX_NAME // 2)])
def test_names_of_one_component_are_good(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/", "../a", "a\0", "ä" * (MAX_NAME // 2 + 1)])
def test_names_that_lead_elsewhere_are_senseless(name: str) -> None:
    with pytest.raises(SenselessAnswer):
        check_name(name)


@pytest.mark.parametrize(
    ("target", "depth"),
    [("a", 1), ("./a/b", 1), ("../a", 2), (".", 1), ("..", 2), ("../../a", 3), ("a/./b//", 1)],
)
def test_links_into_the_tree_stay_inside(target: str, depth: int) -> None:
    assert stays_inside(target, depth)


@pytest.mark.parametrize(
    ("target", "depth"),
    [("", 1), ("/a", 1), ("..", 1), ("../a", 1), ("../../a", 2), ("a/..", 1), ("a/../b", 3), ("a\0", 1), ("./..", 1),
     ("a" * 5000, 1)],
)  # fmt: skip
def test_links_that_could_lead_out_do_not(target: str, depth: int) -> None:
    # `a/..` is the root only if `a` is no link itself.
    assert not stays_inside(target, depth)


def test_only_permissions_are_copied() -> None:
    assert permissions(0o7755) == 0o755
    assert permissions(-1) == 0o777


def test_a_file_that_says_no_size_may_have_a_little() -> None:
    assert (most_bytes(5), most_bytes(0), most_bytes(-1)) == (5, UNSIZED_MOST, UNSIZED_MOST)


def test_progress_never_is_over_the_whole() -> None:
    told: list[tuple[int, int, str]] = []
    tally = Tally(5, lambda *said: told.append(said))
    tally.moved(3, "a")
    tally.moved(4, "b")
    tally.copied("b")
    assert told == [(3, 5, "a"), (7, 7, "b"), (7, 7, "b")]
    assert (tally.files, tally.bytes) == (1, 7)
