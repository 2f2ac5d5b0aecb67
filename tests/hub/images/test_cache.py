"""The cache's folder: complete or not there, whoever is killed when."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cloche_hub.errors import NotFound, WrongState
from cloche_hub.images import cache as cache_module
from cloche_hub.images.cache import Cache, disk_bytes
from cloche_hub.locks import Lock
from tests.hub.images.fakes import add_image, digest


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    cache = Cache(tmp_path / "cache")
    cache.prepare()
    return cache


def _left_over(cache: Cache) -> list[Path]:
    return list((cache.root / "tmp").iterdir())


def test_an_image_that_was_published_is_found_with_its_files(cache: Cache) -> None:
    published = add_image(cache, "a", rootfs="1")

    stored = cache.image(digest("a"))

    assert stored == published
    assert stored.initrd.read_bytes() == b"i" * 4096
    assert stored.base.rootfs.read_bytes() == b"r" * 8192
    assert stored.base.kernel.read_bytes() == b"k"
    assert [path.read_bytes() for path in stored.base.modules] == [b"m"]


def test_images_are_listed_newest_first(cache: Cache) -> None:
    for name, hours in (("a", 1), ("b", 3), ("c", 2)):
        add_image(cache, name, rootfs="1", hours=hours)

    assert [stored.manifest.digest[0] for stored in cache.images()] == ["b", "c", "a"]


def test_published_files_can_be_read_by_the_machines_users_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        cache = Cache(tmp_path / "cache")
        cache.prepare()
        stored = add_image(cache, "a", rootfs="1")
    finally:
        os.umask(before)

    for path in (stored.initrd, stored.base.rootfs, stored.base.kernel, *stored.base.modules):
        assert path.stat().st_mode & 0o777 == 0o644
        for parent in path.relative_to(cache.root).parents:
            assert (cache.root / parent).stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("name", ["", "..", "../" + "a" * 29, "A" * 32, digest("z"), "a" * 31])
def test_a_name_that_is_none_of_the_cache_s_is_not_found(cache: Cache, name: str) -> None:
    with pytest.raises(NotFound, match="there is no image"):
        cache.image(name)


def test_a_name_that_leads_out_of_the_cache_is_not_found_even_if_an_image_is_there(cache: Cache) -> None:
    stored = add_image(cache, "a", rootfs="1")
    outside = stored.folder.rename(cache.root / "outside")
    manifest = outside / "manifest.json"
    manifest.write_text(manifest.read_text().replace(digest("a"), "../outside"))

    with pytest.raises(NotFound):
        cache.image("../outside")


@pytest.mark.parametrize(
    "missing",
    [
        "images/aaaa/manifest.json",
        "images/aaaa/initrd.img",
        "rootfs/1111/manifest.json",
        "rootfs/1111/rootfs.ext4",
    ],
)
def test_an_image_that_lacks_a_file_is_none(cache: Cache, missing: str) -> None:
    add_image(cache, "a", rootfs="1")
    kind, name, file = missing.split("/")
    (cache.root / kind / digest(name[0]) / file).unlink()

    assert cache.images() == []


def test_a_folder_under_a_name_not_its_own_is_no_image(cache: Cache) -> None:
    stored = add_image(cache, "a", rootfs="1")
    stored.folder.rename(stored.folder.with_name(digest("b")))

    assert cache.images() == []


def test_a_symbolic_link_is_no_image(cache: Cache, tmp_path: Path) -> None:
    stored = add_image(cache, "a", rootfs="1")
    stored.folder.rename(tmp_path / "elsewhere")
    stored.folder.symlink_to(tmp_path / "elsewhere")

    assert cache.images() == []


def test_publishing_the_same_content_again_keeps_its_files_and_takes_the_new_date(cache: Cache) -> None:
    first = add_image(cache, "a", rootfs="1")
    inode = first.initrd.stat().st_ino

    again = add_image(cache, "a", rootfs="1", hours=5)

    assert cache.image(digest("a")) == again
    assert again.manifest.built_at > first.manifest.built_at
    assert again.initrd.stat().st_ino == inode
    assert _left_over(cache) == []


def test_a_half_made_folder_in_the_place_of_an_image_is_replaced(cache: Cache) -> None:
    (cache.root / "images" / digest("a")).mkdir()

    add_image(cache, "a", rootfs="1")

    assert cache.image(digest("a")).initrd.is_file()


def test_removing_an_image_frees_its_root_file_system_only_with_the_last_one_over_it(cache: Cache) -> None:
    add_image(cache, "a", rootfs="1")
    add_image(cache, "b", rootfs="1")

    small = cache.remove_image(digest("a"))
    assert [stored.manifest.digest for stored in cache.images()] == [digest("b")]
    large = cache.remove_image(digest("b"))

    assert (cache.images(), cache.rootfs(), _left_over(cache)) == ([], [], [])
    assert large > small > 0


def test_what_is_held_can_not_be_removed_until_the_last_holder_lets_go(cache: Cache) -> None:
    add_image(cache, "a", rootfs="1")
    with cache.hold(digest("a")), cache.hold(digest("a")):
        with pytest.raises(WrongState, match="in use by a machine"):
            cache.remove_image(digest("a"))
        assert cache.remove_if_unused(digest("a")) == 0
        assert cache.in_use(digest("a"))

    assert not cache.in_use(digest("a"))
    assert cache.remove_if_unused(digest("a")) > 0
    assert cache.remove_if_unused(digest("a")) == 0


def test_holding_marks_an_image_as_used(cache: Cache) -> None:
    stored = add_image(cache, "a", rootfs="1")
    os.utime(stored.folder / "manifest.json", (1, 1))

    cache.hold(digest("a")).close()

    assert cache.cached_images()[0].used_at.year > 2000


def test_what_is_gone_can_not_be_held(cache: Cache) -> None:
    add_image(cache, "a", rootfs="1")
    cache.remove_image(digest("a"))

    with pytest.raises(NotFound):
        cache.hold(digest("a"))


def test_asking_whether_it_is_used_does_not_disturb_others_who_ask(cache: Cache) -> None:
    add_image(cache, "a", rootfs="1")

    assert [cache.in_use(digest("a")) for _ in range(3)] == [False] * 3


def test_nobody_finds_an_image_used_because_another_one_asks_at_that_moment(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_image(cache, "a", rootfs="1")
    other = Cache(cache.root)
    heard: list[bool] = []

    class Noticed(Lock):
        """Given back while somebody waits for it."""

        def close(self) -> None:
            super().close()
            if not heard:
                heard.append(True)
                heard[0] = other.in_use(digest("a"))

    monkeypatch.setattr(cache, "_briefly_alone", lambda: Noticed.take_briefly(cache.lock_path("cache")))

    assert not cache.in_use(digest("a"))
    assert heard == [False]


def test_a_root_file_system_waits_for_its_image_while_its_maker_holds_it(cache: Cache) -> None:
    stored = add_image(cache, "a", rootfs="1")
    shutil.rmtree(stored.folder)

    with cache.hold_rootfs(digest("1")):
        assert cache.remove_unneeded_rootfs() == 0
        assert len(cache.rootfs()) == 1

    assert cache.remove_unneeded_rootfs() > 0
    assert cache.rootfs() == []


def test_a_work_folder_is_gone_when_the_work_ends_however_it_ends(cache: Cache) -> None:
    with pytest.raises(ZeroDivisionError), cache.work_folder() as work:
        (work / str(1 / len(list(work.iterdir())))).mkdir()

    assert _left_over(cache) == []


def test_a_sweep_leaves_the_folders_of_the_living_alone(cache: Cache) -> None:
    with cache.work_folder() as work:
        cache.sweep()
        assert work.is_dir()


def test_a_sweep_removes_what_a_killed_process_left(cache: Cache) -> None:
    code = f"""
        import os
        from pathlib import Path
        from cloche_hub.images.cache import Cache
        context = Cache(Path({str(cache.root)!r})).work_folder()
        work = context.__enter__()
        (work / "half").write_text("made")
        os.kill(os.getpid(), 9)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert done.returncode == -9
    assert len(_left_over(cache)) == 1

    cache.sweep()

    assert _left_over(cache) == []


def test_a_sweep_passes_over_what_can_not_be_removed(tmp_path: Path) -> None:
    def refuse(_folder: Path) -> None:
        raise PermissionError

    cache = Cache(tmp_path, remove_tree=refuse)
    cache.prepare()
    (tmp_path / "tmp/stuck").mkdir()

    cache.sweep()

    assert (tmp_path / "tmp/stuck").is_dir()


@pytest.mark.parametrize("step", ["mkdir", "write_text", "chmod", "rename"])
def test_whoever_is_killed_while_publishing_leaves_no_image(cache: Cache, step: str) -> None:
    add_image(cache, "a", rootfs="1")
    code = f"""
        import os
        from pathlib import Path
        from cloche_hub.images.cache import Cache
        from tests.hub.images.fakes import add_image
        def die(*args, **kwargs):
            os.kill(os.getpid(), 9)
        cache = Cache(Path({str(cache.root)!r}))
        setattr(Path, {step!r}, die)
        add_image(cache, "b", rootfs="1")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert done.returncode == -9

    assert [stored.manifest.digest for stored in cache.images()] == [digest("a")]
    cache.sweep()
    assert _left_over(cache) == []


def test_disk_use_counts_blocks_and_not_holes(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 30)

    assert disk_bytes(tmp_path) < 1 << 20


def test_only_manifests_that_have_changed_are_read_to_find_an_image(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        add_image(cache, name, rootfs="1", hours=ord(name))
    read: list[str] = []

    def reading(file: Path) -> str:
        read.append(file.parent.name)
        return file.read_text()

    monkeypatch.setattr(cache_module, "_read", reading)

    def newest() -> str:
        read.clear()
        found = cache.newest_image(recipe_key="k", initrd_key="n")
        assert found is not None
        return found.manifest.digest

    assert newest() == digest("c")
    assert {digest("a"), digest("b"), digest("c")} <= set(read)
    assert newest() == digest("c")
    # The one that is found is looked at as a whole: it may have gone meanwhile.
    assert read == [digest("c"), digest("1")]
    cache.remove_image(digest("c"))
    assert newest() == digest("b")
    add_image(cache, "a", rootfs="1", hours=999)
    assert newest() == digest("a")
    assert digest("b") not in read
    assert cache.newest_image(recipe_key="k", initrd_key="other") is None
