"""Building a root file system: the command lines, and one real build."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from cloche_hub.errors import BuildFailed
from cloche_hub.images import builder
from cloche_hub.images.builder import (
    builder_key,
    filesystem_argv,
    image_json,
    missing_packages,
    mmdebstrap_argv,
    namespace_argv,
    remove_build_tree,
)
from cloche_hub.images.images import ImageCache
from cloche_hub.images.recipe import Recipe
from cloche_hub.ports import Image
from cloche_wire.rendezvous import locations

_RECIPE = Recipe("x", "d", "bookworm", ("python3", "git"), env={"B": "2", "A": "1"}, user="root")


def test_root_builds_without_a_user_namespace_and_others_in_one() -> None:
    root, user = namespace_argv(root=True), namespace_argv(root=False)

    assert [word for word in user if word not in root] == ["--map-root-user", "--map-auto"]


@pytest.mark.parametrize("root", [True, False])
def test_everything_that_is_started_ends_with_the_hub(root: bool) -> None:
    argv = namespace_argv(root=root)

    assert argv[:4] == ["setpriv", "--pdeathsig", "KILL", "unshare"]
    assert {"--fork", "--pid", "--kill-child", "--mount-proc"} <= set(argv)


def test_packages_suite_and_folder_are_words_of_the_command() -> None:
    argv = mmdebstrap_argv(_RECIPE, work=Path("/w"))

    assert argv[0] == "mmdebstrap"
    assert argv[-4:] == ["--include=python3,git", "bookworm", "/w/root", "-"]
    assert "--variant=essential" in argv


def test_only_older_releases_need_help_with_the_merged_usr() -> None:
    trixie = Recipe("x", "d", "trixie", ("python3",))

    assert "--hook-dir=/h/merged-usr" in mmdebstrap_argv(_RECIPE, work=Path("/w"), hooks=Path("/h"))
    assert not [word for word in mmdebstrap_argv(trixie, work=Path("/w")) if word.startswith("--hook-dir")]


def test_a_mirror_on_this_host_is_shown_to_the_build() -> None:
    argv = mmdebstrap_argv(_RECIPE, work=Path("/w"), hooks=Path("/h"), local_mirror=True)

    assert "--hook-dir=/h/file-mirror-automount" in argv


def test_hooks_survive_a_folder_with_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "_SCRIPTS", Path("/a b/it's"))

    hooks = [word for word in mmdebstrap_argv(_RECIPE, work=Path("/w")) if "-hook=" in word]

    assert hooks[0] == """--setup-hook=sh '/a b/it'"'"'s/setup.sh' "$1\""""


def test_the_file_system_has_a_fixed_identity_and_a_newest_time() -> None:
    _, script, size, epoch, uuid = filesystem_argv(epoch=12345)

    assert (Path(script).name, size, epoch, len(uuid)) == ("filesystem.sh", "4G", "12345", 36)


def test_the_guest_is_told_its_recipe_its_environment_and_its_user() -> None:
    assert json.loads(image_json(_RECIPE)) == {"recipe": "x", "env": {"A": "1", "B": "2"}, "user": "root"}


def test_what_this_host_lacks_is_named_by_package_once() -> None:
    def which(program: str, **_: object) -> str | None:
        return None if program in {"mke2fs", "debugfs", "mmdebstrap"} else f"/usr/bin/{program}"

    assert missing_packages(which) == ["e2fsprogs", "mmdebstrap"]


@pytest.mark.parametrize("script", sorted(path.name for path in builder._SCRIPTS.glob("*.sh")))
def test_each_script_is_one_a_shell_can_read(script: str) -> None:
    done = subprocess.run(
        ["sh", "-n", builder._SCRIPTS / script], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_a_changed_script_changes_the_builder_s_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = builder_key()
    for path in builder._SCRIPTS.glob("*.sh"):
        (tmp_path / path.name).write_text(path.read_text() + "# changed\n")
    monkeypatch.setattr(builder, "_SCRIPTS", tmp_path)

    assert builder_key() != before


def test_a_work_folder_is_removed_with_all_in_it(tmp_path: Path) -> None:
    (tmp_path / "work/sub").mkdir(parents=True)
    (tmp_path / "work/sub/link").symlink_to("/etc")

    remove_build_tree(tmp_path / "work")

    assert list(tmp_path.iterdir()) == []


def test_a_package_without_kernel_or_modules_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kernel/boot").mkdir(parents=True)

    with pytest.raises(BuildFailed, match="no /boot/vmlinuz or no /lib/modules"):
        builder._take_kernel(tmp_path)


def test_a_mirror_without_a_date_gives_a_time_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "epoch").write_text("0\n")
    assert builder._epoch(tmp_path) > 1_700_000_000
    (tmp_path / "epoch").write_text("1700000001\n")
    assert builder._epoch(tmp_path) == 1_700_000_001


def _debugfs(rootfs: Path, request: str) -> str:
    return subprocess.run(
        ["/usr/sbin/debugfs", "-R", request, rootfs], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.machine
async def test_the_real_image_is_sound_and_has_what_a_guest_needs(minimal_image: Image) -> None:
    async with ImageCache(locations().cache) as images:
        with images.hold(minimal_image.digest) as held:
            rootfs = held.files.rootfs
            check = subprocess.run(
                ["/usr/sbin/e2fsck", "-fn", rootfs], capture_output=True, text=True, check=False
            )
            assert check.returncode == 0, check.stdout

            passwd = _debugfs(rootfs, "cat /etc/passwd").splitlines()
            assert "user:x:1000:1000:user:/home/user:/bin/bash" in passwd
            assert json.loads(_debugfs(rootfs, "cat /etc/cloche/image.json")) == {
                "env": {},
                "recipe": "minimal",
                "user": "user",
            }
            home = _debugfs(rootfs, "stat /home/user")
            assert "User:  1000   Group:  1000" in home
            assert "Type: regular" in _debugfs(rootfs, "stat /usr/bin/python3.11")
            for folder in ("doc", "man", "locale"):
                assert _debugfs(rootfs, f"ls /usr/share/{folder}") == ""
            for secret in ("/etc/apt/auth.conf.d/00cloche-host.conf", "/etc/apt/apt.conf.d/00cloche-host"):
                assert _debugfs(rootfs, f"stat {secret}") == ""
            assert held.files.kernel.stat().st_size > 1 << 20
            assert held.files.initrd.read_bytes()[:6] == b"070701"
            # Small enough to be built and copied without a thought.
            assert minimal_image.size_bytes < 200 << 20
