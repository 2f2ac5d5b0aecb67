"""Templates on disk."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cloche_hub.domain.flavors import Flavor
from cloche_hub.locks import Lock
from cloche_hub.vm import template
from cloche_hub.vm.argv import KVM, TCG, Version
from cloche_hub.vm.facts import QemuBuild
from cloche_hub.vm.template import Shape, StoredTemplate, TemplateCache

BUILD = QemuBuild("/usr/bin/qemu", Version(7, 2), "QEMU 7.2", "b" * 16)
SHAPE = Shape(BUILD, "x86_64", TCG, "1" * 32, Flavor("small", 1, 512, 4), "host")


@pytest.fixture
def cache(tmp_path: Path) -> TemplateCache:
    one = TemplateCache(tmp_path / "templates")
    one.prepare()
    return one


def publish(
    cache: TemplateCache, shape: Shape = SHAPE, *, size: int = 4096, used_at: float = 0
) -> StoredTemplate:
    with cache.draft() as draft:
        (draft / "ram").write_bytes(b"x" * size)
        (draft / "boot.log").write_bytes(b"booted")
        cache.publish(draft, shape)
    stored = cache.find(shape.key())
    assert stored is not None
    os.utime(stored.path / "template.json", (used_at, used_at))
    return stored


@pytest.mark.parametrize(
    "other",
    [
        replace(SHAPE, image="2" * 32),
        replace(SHAPE, flavor=Flavor("small", 2, 512, 4)),
        replace(SHAPE, flavor=Flavor("small", 1, 1024, 4)),
        replace(SHAPE, flavor=Flavor("small", 1, 512, 8)),
        replace(SHAPE, build=replace(BUILD, identity="c" * 16)),
        replace(SHAPE, accelerator=KVM),
        replace(SHAPE, arch="aarch64"),
    ],
)
def test_whatever_a_saved_state_depends_on_is_in_the_key(other: Shape) -> None:
    assert other.key() != SHAPE.key()


def test_the_host_s_processor_counts_on_kvm_only() -> None:
    on_kvm = replace(SHAPE, accelerator=KVM)
    assert replace(on_kvm, host="other").key() != on_kvm.key()
    assert replace(SHAPE, host="other").key() == SHAPE.key()


def test_a_new_word_in_the_arguments_is_a_new_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = SHAPE.key()
    monkeypatch.setattr("cloche_hub.vm.argv.HOTPLUG_PORTS", 5)
    assert SHAPE.key() != before


def test_a_template_appears_when_it_is_complete(cache: TemplateCache) -> None:
    with cache.draft() as draft:
        (draft / "ram").write_bytes(b"half")
        assert cache.find(SHAPE.key()) is None
    stored = publish(cache)
    assert (stored.image, stored.flavor, stored.boot_log()) == ("1" * 32, "small", b"booted")
    assert sorted(path.name for path in stored.path.iterdir()) == ["boot.log", "ram", "template.json"]


def test_a_draft_that_fails_leaves_nothing(cache: TemplateCache, tmp_path: Path) -> None:
    with contextlib.suppress(InterruptedError), cache.draft() as draft:
        (draft / "ram").write_bytes(b"half")
        raise InterruptedError
    assert [path.name for path in (tmp_path / "templates").iterdir()] == ["locks"]


def test_what_a_killed_maker_left_is_pruned_and_what_is_being_made_is_not(
    cache: TemplateCache, tmp_path: Path
) -> None:
    left = tmp_path / "templates" / "tmp-left"
    left.mkdir()
    (left / "ram").write_bytes(b"x" * 8192)
    with cache.draft() as draft:
        assert cache.prune() == 8192
        assert draft.exists()
    assert not left.exists()


def test_a_draft_that_is_swept_before_it_could_be_locked_is_made_anew(
    cache: TemplateCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Lock.try_take_folder
    swept: list[Path] = []

    def take(path: Path) -> Lock | None:
        if not swept:
            swept.append(path)
            cache.prune()
        return real(path)

    monkeypatch.setattr(Lock, "try_take_folder", take)
    with cache.draft() as draft:
        assert draft.exists()
        assert swept[0] != draft


def test_others_may_sweep_at_any_moment_while_a_template_is_published(
    cache: TemplateCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, swept = template._sync, 0

    def sync(path: Path) -> None:
        nonlocal swept
        real(path)
        assert cache.prune() == 0
        swept += 1

    with cache.draft() as draft, monkeypatch.context() as patch:
        (draft / "ram").write_bytes(b"x")
        (draft / "boot.log").write_bytes(b"booted")
        # Before its new name, which is when it is not yet on the disk, and not yet found.
        patch.setattr(
            template, "_sync", lambda path: sync(path) if path.parent == draft.parent else real(path)
        )
        with Lock.share(cache.use_lock(SHAPE.key())):
            cache.publish(draft, SHAPE)
        assert swept
    assert cache.find(SHAPE.key()) is not None


@pytest.mark.parametrize("rival", ["published", "deleted"])
def test_what_is_gone_when_it_is_to_be_swept_is_no_matter(
    cache: TemplateCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rival: str
) -> None:
    draft, target = tmp_path / "templates/tmp-slow", tmp_path / "templates/other"
    draft.mkdir()
    real = Lock.try_take_folder

    def take(path: Path) -> Lock | None:
        # It was free when the sweep had opened it, and has another name when it would be deleted.
        lock = real(path)
        if path == draft:
            draft.rename(target) if rival == "published" else draft.rmdir()
        return lock

    monkeypatch.setattr(Lock, "try_take_folder", take)
    assert cache.prune() == 0
    assert target.exists() is (rival == "published")


def test_a_template_that_others_delete_while_it_is_looked_at_is_left_out(
    cache: TemplateCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, gone = publish(cache), publish(cache, replace(SHAPE, image="3" * 32))
    real = TemplateCache.find

    def find(self: TemplateCache, key: str) -> StoredTemplate | None:
        found = real(self, key)
        if key == gone.key and found is not None:
            shutil.rmtree(found.path)
        return found

    monkeypatch.setattr(TemplateCache, "find", find)
    assert len(cache.uses()) == 1
    monkeypatch.undo()
    gone = publish(cache, replace(SHAPE, image="3" * 32))
    monkeypatch.setattr(TemplateCache, "find", find)
    cache.make_room(1 << 30)
    assert real(cache, kept.key) is not None


def test_a_template_in_use_is_not_pruned(cache: TemplateCache) -> None:
    stored = publish(cache)
    with Lock.share(cache.use_lock(stored.key)):
        assert cache.prune() == 0
        assert [use.in_use for use in cache.uses()] == [True]
    assert cache.prune() > 4096
    assert cache.find(stored.key) is None
    assert cache.uses() == []


def test_room_is_made_by_deleting_what_was_not_used_for_longest(cache: TemplateCache) -> None:
    shapes = [replace(SHAPE, image=str(number) * 32) for number in range(4)]
    stored = [publish(cache, shape, size=1 << 20, used_at=number) for number, shape in enumerate(shapes)]
    with Lock.share(cache.use_lock(stored[0].key)):
        cache.make_room(int(2.5 * (1 << 20)))
    left = [cache.find(one.key) is not None for one in stored]
    # The first is in use, the last two are the newest.
    assert left == [True, False, True, True]


def test_using_it_makes_it_the_newest(cache: TemplateCache) -> None:
    stored = publish(cache)
    before = cache.uses()[0].used_at
    stored.mark_used()
    assert cache.uses()[0].used_at > before


@pytest.mark.parametrize("content", ["", "{", "[]", "{}"])
def test_a_broken_template_is_none_and_is_replaced(cache: TemplateCache, content: str) -> None:
    stored = publish(cache)
    (stored.path / "template.json").write_text(content)
    assert cache.find(stored.key) is None
    publish(cache)


def test_only_the_hub_may_read_what_was_in_a_guest_s_memory(cache: TemplateCache, tmp_path: Path) -> None:
    stored = publish(cache)
    for path in (tmp_path / "templates", stored.path):
        assert path.stat().st_mode & 0o777 == 0o700


def test_a_cache_that_is_not_there_is_empty(tmp_path: Path) -> None:
    cache = TemplateCache(tmp_path / "none")
    assert cache.uses() == []
    assert cache.prune() == 0
