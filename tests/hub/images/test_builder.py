"""Building a root file system: the command lines, and one real build."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

import pytest

from cloche_hub.errors import BuildFailed, Unsupported
from cloche_hub.images import builder
from cloche_hub.images.apt import HostApt, Source
from cloche_hub.images.arches import host_arch
from cloche_hub.images.builder import (
    RootfsBuilder,
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
from tests.hub.images.test_kernel_modules import elf_module

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


def _unpack_kernel(work: Path) -> None:
    """What the customize script leaves of a kernel package."""
    tree = work / "kernel/lib/modules/6.1.0"
    for path, depends in {
        "kernel/drivers/virtio/virtio.ko": b"",
        "kernel/drivers/block/virtio_blk.ko": b"virtio",
        "kernel/fs/overlayfs/overlay.ko": b"",
        "kernel/sound/noise.ko": b"",
    }.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(elf_module(b"depends=" + depends + b"\0"))
    (tree / "modules.builtin").write_text("kernel/fs/ext4/ext4.ko\n")
    (work / "kernel/boot").mkdir()
    (work / "kernel/boot/vmlinuz-6.1.0").write_bytes(b"kernel")


def test_the_initrd_gets_its_modules_in_order_and_the_guest_those_it_may_load_later(tmp_path: Path) -> None:
    _unpack_kernel(tmp_path)

    built = builder._take_kernel(tmp_path)

    assert [path.name for path in built.modules] == ["virtio.ko", "virtio_blk.ko"]
    assert (built.kernel.read_bytes(), built.kernel_version) == (b"kernel", "6.1.0")
    tree = tmp_path / "modules/usr/lib/modules/6.1.0"
    assert sorted(path.name for path in tree.rglob("*") if path.is_file()) == [
        "modules.builtin",
        "modules.dep",
        "overlay.ko",
        "virtio.ko",
        "virtio_blk.ko",
    ]
    assert not (tmp_path / "kernel").exists()


class _Commands:
    """Takes the place of real commands: remembers them and leaves what they would leave."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.calls: list[list[str]] = []
        self.stdin = b""
        self.failing = ""

    async def __call__(
        self,
        argv: list[str],
        *,
        log: BinaryIO,
        env: Mapping[str, str],
        stdin: bytes = b"",
        on_line: Callable[[str], None] = lambda _line: None,
    ) -> None:
        assert (env["CLOCHE_WORK"], env["TMPDIR"]) == (str(self.work), str(self.work))
        self.calls.append(argv)
        if self.failing and self.failing in argv:
            raise BuildFailed("unshare ended with status 1")
        if "mmdebstrap" in argv:
            self.stdin = stdin
            on_line("I: extracting archives...")
            _unpack_kernel(self.work)
            (self.work / "epoch").write_text("1700000001\n")
        elif "sh" in argv:
            (self.work / "rootfs.ext4").write_bytes(b"ext4")


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Commands:
    commands = _Commands(tmp_path)
    monkeypatch.setattr(builder, "run_command", commands)
    monkeypatch.setattr(builder, "missing_packages", list)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return commands


_APT = HostApt(
    sources=(Source(("https://me:secret@m/debian",), ("bookworm",), ("main",)),),
    settings='Acquire::http::Proxy "http://p";\n',
    passwords="machine m password secret\n",
)


async def test_a_build_runs_mmdebstrap_then_makes_the_file_system(
    tmp_path: Path, commands: _Commands
) -> None:
    steps: list[str] = []

    built = await RootfsBuilder(host_arch("x86_64"), host_apt=_APT).build(
        _RECIPE, tmp_path, progress=lambda step: steps.append(step.step)
    )

    assert built.rootfs.read_bytes() == b"ext4"
    assert [next(word for word in call if word in ("mmdebstrap", "sh")) for call in commands.calls] == [
        "mmdebstrap",
        "sh",
    ]
    assert "1700000001" in commands.calls[1]
    assert b"secret@m" in commands.stdin
    assert steps == ["unpack", "filesystem", "done"]


async def test_passwords_are_readable_by_the_build_alone_and_not_among_what_the_guest_gets(
    tmp_path: Path, commands: _Commands
) -> None:
    await RootfsBuilder(host_arch("x86_64"), host_apt=_APT).build(
        _RECIPE, tmp_path, progress=lambda _step: None
    )

    assert (tmp_path / "auth.conf").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "auth.conf").read_text() == _APT.passwords
    assert (tmp_path / "apt.conf").read_text() == _APT.settings
    inside = [path.read_bytes() for path in (tmp_path / "inside").iterdir()]
    assert len(inside) == 5
    assert not [data for data in inside if b"secret" in data]


async def test_a_user_without_user_namespaces_is_told_what_to_set_up(
    tmp_path: Path, commands: _Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    commands.failing = "true"

    with pytest.raises(Unsupported, match=r"apt-get install uidmap, and a line such as .* in /etc/subuid"):
        await RootfsBuilder(host_arch("x86_64"), host_apt=_APT).build(
            _RECIPE, tmp_path, progress=lambda _step: None
        )


async def test_a_host_without_the_tools_is_told_what_to_install(
    tmp_path: Path, commands: _Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "missing_packages", lambda: ["e2fsprogs", "mmdebstrap"])

    with pytest.raises(Unsupported, match="apt-get install e2fsprogs mmdebstrap"):
        await RootfsBuilder(host_arch("x86_64"), host_apt=_APT).build(
            _RECIPE, tmp_path, progress=lambda _step: None
        )


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


_MODES = {
    "/": (0o755, 0, 0),
    "/etc/apt/sources.list.d/debian.sources": (0o644, 0, 0),
    "/etc/cloche/image.json": (0o644, 0, 0),
    "/etc/dpkg/dpkg.cfg.d/cloche": (0o644, 0, 0),
    "/etc/group": (0o644, 0, 0),
    "/etc/hostname": (0o644, 0, 0),
    "/etc/hosts": (0o644, 0, 0),
    "/etc/machine-id": (0o644, 0, 0),
    "/etc/passwd": (0o644, 0, 0),
    "/etc/resolv.conf": (0o644, 0, 0),
    "/etc/shadow": (0o640, 0, 42),
    "/home/user": (0o755, 1000, 1000),
    "/home/user/.bashrc": (0o644, 1000, 1000),
    "/root": (0o700, 0, 0),
    "/tmp": (0o1777, 0, 0),
    "/usr/bin/su": (0o4755, 0, 0),
    "/usr/lib/modules": (0o755, 0, 0),
    "/usr/sbin/unix_chkpwd": (0o2755, 0, 42),
    "/var/cache/apt/archives/partial": (0o700, 42, 0),
    "/var/local": (0o2775, 0, 50),
}


@pytest.mark.machine
async def test_the_real_image_has_the_modes_and_owners_debian_gives(minimal_image: Image) -> None:
    async with ImageCache(locations().cache) as images:
        with images.hold(minimal_image.digest) as held:
            told = {path: _debugfs(held.files.rootfs, f"stat {path}") for path in _MODES}
    found = {}
    for path, text in told.items():
        status = re.search(r"Mode: +(\d+).*User: +(\d+) +Group: +(\d+)", text, re.DOTALL)
        assert status is not None, path
        found[path] = (int(status[1], 8), int(status[2]), int(status[3]))
    assert found == _MODES
