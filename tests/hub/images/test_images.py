"""The images of this host: built once, found while current, never half-made."""

from __future__ import annotations

import asyncio
import errno
import json
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from cloche_hub.domain.image_files import ImageFiles
from cloche_hub.errors import BuildFailed, NoSpace, NotFound, RecipeNotBuilt, WrongState
from cloche_hub.images.housekeeping import CacheLimits
from cloche_hub.ports import Progress
from tests.hub.images.conftest import RECIPE, Make, ignore
from tests.hub.images.fakes import FakeBuilder, fake_agent


def _left_over(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "cache/tmp").iterdir())


async def test_what_was_built_is_found_listed_and_has_its_files(make: Make, tmp_path: Path) -> None:
    async with make() as images:
        image = await images.build("one", progress=ignore)

        assert await images.find("one") == image
        assert await images.list() == [image]
        files = images.paths(image.digest)
    assert (image.recipe, image.arch, image.agent_hash) == ("one", "x86_64", fake_agent().sha256)
    assert files == ImageFiles(
        image.digest, files.kernel, files.initrd, files.rootfs, "x86_64", fake_agent().sha256
    )
    assert (files.kernel.read_bytes(), files.rootfs.read_bytes()) == (b"kernel", b"content")
    assert b"agent" in files.initrd.read_bytes()
    assert _left_over(tmp_path) == []


async def test_a_recipe_that_is_not_built_says_how_to_build_it(make: Make) -> None:
    async with make() as images:
        with pytest.raises(RecipeNotBuilt, match="build it with: cloche image build one"):
            await images.find("one")


async def test_an_unknown_recipe_is_answered_with_those_there_are(make: Make) -> None:
    async with make() as images:
        with pytest.raises(NotFound, match="there are: one, two"):
            await images.build("three", progress=ignore)


async def test_a_second_build_returns_the_first_one_s_image(make: Make, builder: FakeBuilder) -> None:
    async with make() as images:
        assert await images.build("one", progress=ignore) == await images.build("one", progress=ignore)

    assert builder.started == 1


async def test_another_agent_makes_another_image_over_the_same_root_file_system(
    make: Make, builder: FakeBuilder
) -> None:
    async with make() as images:
        old = await images.build("one", progress=ignore)
    async with make(agent=fake_agent(b"other")) as images:
        with pytest.raises(RecipeNotBuilt):
            await images.find("one")
        new = await images.build("one", progress=ignore)

        assert images.paths(new.digest).rootfs == images.paths(old.digest).rootfs
    assert (new.digest != old.digest, builder.started) == (True, 1)


async def test_a_changed_recipe_is_built_anew(make: Make, builder: FakeBuilder, tmp_path: Path) -> None:
    async with make() as images:
        await images.build("one", progress=ignore)
        (tmp_path / "recipes/one/recipe.toml").write_text(RECIPE + 'run = ["true"]\n')

        with pytest.raises(RecipeNotBuilt):
            await images.find("one")
        await images.build("one", progress=ignore)

    assert builder.started == 2


async def test_a_rebuild_with_other_content_is_the_current_image_from_then_on(
    make: Make, builder: FakeBuilder
) -> None:
    async with make() as images:
        old = await images.build("one", progress=ignore)
        builder.content = b"newer"
        new = await images.build("one", progress=ignore, rebuild=True)

        assert await images.find("one") == new
        assert await images.list() == [new, replace(old, current=False)]


async def test_a_rebuild_with_the_same_content_is_the_same_image(make: Make, builder: FakeBuilder) -> None:
    async with make() as images:
        old = await images.build("one", progress=ignore)
        with images.hold(old.digest):
            new = await images.build("one", progress=ignore, rebuild=True)

    assert (new.digest, builder.started) == (old.digest, 2)
    assert new.built_at > old.built_at


async def test_callers_of_the_same_recipe_share_one_build(make: Make) -> None:
    builder = FakeBuilder()
    told = asyncio.Event()
    heard: list[Progress] = []

    def hear(step: Progress) -> None:
        heard.append(step)
        told.set()

    async with asyncio.timeout(20), make(builder=builder) as images, asyncio.TaskGroup() as group:
        first = group.create_task(images.build("one", progress=ignore))
        await builder.running.wait()
        second = group.create_task(images.build("one", progress=hear))
        await told.wait()
        builder.go.set()

        assert await first == await second

    assert builder.started == 1
    assert heard[0] == Progress("fake", "building", 0.5)


async def test_two_processes_build_once_and_the_one_that_waits_shows_progress(make: Make) -> None:
    # Two caches over one folder hold different descriptors, as two processes do.
    builder, other = FakeBuilder(), FakeBuilder()
    told = asyncio.Event()
    heard: list[Progress] = []

    def hear(step: Progress) -> None:
        heard.append(step)
        told.set()

    async with (
        asyncio.timeout(20),
        make(builder=builder) as here,
        make(builder=other) as there,
        asyncio.TaskGroup() as group,
    ):
        first = group.create_task(here.build("one", progress=ignore))
        await builder.running.wait()
        second = group.create_task(there.build("one", progress=hear))
        await told.wait()
        builder.go.set()

        assert await first == await second

    assert (builder.started, other.started) == (1, 0)
    assert heard[0] == Progress("fake", "building", 0.5)


async def test_a_cancelled_build_leaves_nothing(make: Make, tmp_path: Path) -> None:
    builder = FakeBuilder()
    async with asyncio.timeout(20), make(builder=builder) as images, asyncio.TaskGroup() as group:
        caller = group.create_task(images.build("one", progress=ignore))
        await builder.running.wait()
        caller.cancel()
        await asyncio.wait([caller])

        assert caller.cancelled()
        assert await images.list() == []
    assert _left_over(tmp_path) == []


async def test_leaving_the_context_ends_the_builds_under_way(make: Make, tmp_path: Path) -> None:
    builder = FakeBuilder()
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        async with make(builder=builder) as images:
            caller = group.create_task(images.build("one", progress=ignore))
            await builder.running.wait()
        await asyncio.wait([caller])

        assert caller.cancelled()
    assert _left_over(tmp_path) == []


async def test_an_error_leaves_the_context_as_it_is(make: Make) -> None:
    with pytest.raises(NotFound):
        async with make() as images:
            await images.find("three")


async def test_a_failed_build_says_why_keeps_its_log_and_leaves_nothing_else(
    make: Make, builder: FakeBuilder, tmp_path: Path
) -> None:
    builder.failure = BuildFailed("mmdebstrap ended with status 1; its last lines:\nE: no mirror")
    log = tmp_path / "cache/logs/one.log"
    async with make() as images:
        with pytest.raises(BuildFailed) as caught:
            await images.build("one", progress=ignore)

        assert caught.value.message.endswith(f"E: no mirror\nThe whole log: {log}")
        assert log.read_text() == "building one\n"
        assert _left_over(tmp_path) == []

        builder.failure = None
        await images.build("one", progress=ignore)


@pytest.mark.parametrize(
    "failure",
    [
        BuildFailed("mmdebstrap ended with status 1; its last lines:\ntar: No space left on device"),
        OSError(errno.ENOSPC, "No space left on device"),
    ],
)
async def test_a_disk_that_fills_up_meanwhile_is_named(
    make: Make, builder: FakeBuilder, failure: Exception
) -> None:
    builder.failure = failure
    async with make() as images:
        with pytest.raises(NoSpace, match="No space left on device"):
            await images.build("one", progress=ignore)


async def test_another_error_of_the_system_is_passed_on(make: Make, builder: FakeBuilder) -> None:
    builder.failure = OSError(errno.EIO, "broken")
    async with make() as images:
        with pytest.raises(OSError, match="broken"):
            await images.build("one", progress=ignore)


async def test_a_build_that_would_not_fit_is_not_begun(make: Make, builder: FakeBuilder) -> None:
    async with make(limits=CacheLimits(build_bytes=1 << 62)) as images:
        with pytest.raises(NoSpace, match="building one needs"):
            await images.build("one", progress=ignore)

    assert builder.started == 0


async def test_a_host_without_busybox_is_told_what_to_install_before_anything_is_built(
    make: Make, builder: FakeBuilder
) -> None:
    async with make(busybox="none") as images:
        with pytest.raises(BuildFailed, match="apt-get install busybox-static"):
            await images.build("one", progress=ignore)

    assert builder.started == 0


async def test_the_root_file_system_of_an_image_that_failed_late_is_used_again(
    make: Make, builder: FakeBuilder
) -> None:
    async with make(limits=CacheLimits(initrd_bytes=1 << 62)) as images:
        with pytest.raises(NoSpace):
            await images.build("one", progress=ignore)
    async with make() as images:
        await images.build("one", progress=ignore)

    assert builder.started == 1


async def test_over_its_bound_the_cache_keeps_what_was_just_built(make: Make) -> None:
    async with make(limits=CacheLimits(max_bytes=1)) as images:
        await images.build("one", progress=ignore)
        two = await images.build("two", progress=ignore)

        assert await images.list() == [two]


async def test_a_held_image_can_not_be_removed_and_one_let_go_can(make: Make) -> None:
    async with make() as images:
        image = await images.build("one", progress=ignore)
        with images.hold(image.digest) as held:
            assert held.files == images.paths(image.digest)
            with pytest.raises(WrongState):
                await images.remove(image.digest)
        await images.remove(image.digest)

        assert await images.list() == []
        with pytest.raises(NotFound):
            images.paths(image.digest)
        with pytest.raises(NotFound), images.hold(image.digest):
            pass


async def test_uses_and_prune_speak_of_this_cache(make: Make, builder: FakeBuilder) -> None:
    async with make() as images:
        await images.build("one", progress=ignore)
        builder.content = b"newer"
        new = await images.build("one", progress=ignore, rebuild=True)

        assert await images.prune() > 0
        assert next((use.kind, use.name) for use in await images.uses()) == ("image", new.digest)
        assert await images.list() == [new]


async def test_a_build_killed_at_any_moment_leaves_nothing_anybody_would_use(
    make: Make, tmp_path: Path
) -> None:
    code = f"""
        import asyncio, os
        from pathlib import Path
        from cloche_hub.images.images import ImageCache
        from tests.hub.images.fakes import FakeBuilder, fake_agent
        class Dies(FakeBuilder):
            async def build(self, recipe, work, *, progress):
                self.go.set()
                await super().build(recipe, work, progress=progress)
                os.kill(os.getpid(), 9)
        async def main():
            root = Path({str(tmp_path)!r})
            async with ImageCache(root / "cache", recipes=[root / "recipes"], builder=Dies(), agent=fake_agent) as images:
                await images.build("one", progress=lambda step: None)
        asyncio.run(main())
    """
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", textwrap.dedent(code)], check=False, timeout=60
    )
    assert done.returncode == -9
    assert len(_left_over(tmp_path)) == 1

    async with make() as images:
        assert await images.list() == []
        await images.build("one", progress=ignore)

    assert _left_over(tmp_path) == []


async def test_what_another_version_wrote_is_passed_over(make: Make, tmp_path: Path) -> None:
    async with make() as images:
        image = await images.build("one", progress=ignore)
        manifest = tmp_path / "cache/images" / image.digest / "manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 99}))

        assert await images.list() == []
        assert (await images.build("one", progress=ignore)).digest == image.digest
