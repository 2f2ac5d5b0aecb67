"""Builds a recipe's root file system: mmdebstrap into a folder, mke2fs into an ext4 file, the kernel beside it.

The command lines are pure and tested; `RootfsBuilder.build` is the only thing that runs them.
Rule: everything runs in namespaces of its own (mounts, processes, and users where the caller is not root), so
a killed build leaves no process and no mount, only files in its work folder.
Rule: whoever runs it, with the same mirror, gets the same files: owners, times and order are fixed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from cloche_hub.errors import BuildFailed, Unsupported
from cloche_hub.images.apt import HostApt, choose_sources, read_host_apt, render_sources, sources_for_guest
from cloche_hub.images.build_progress import BuildProgress
from cloche_hub.images.command import run_command
from cloche_hub.images.kernel_modules import (
    INITRD_MODULES,
    ROOTFS_MODULES,
    ModuleInfo,
    decompress_module,
    load_order,
    module_depends,
    module_name,
    modules_dep,
)
from cloche_hub.images.recipe_files import pack_files

if TYPE_CHECKING:
    from cloche_hub.images.arches import Arch
    from cloche_hub.images.recipe import Recipe
    from cloche_hub.ports import OnProgress

_VERSION = 1
"""Counts up when a change in this module gives another root file system; the scripts speak for themselves."""

DISK_SIZE = "4G"
"""The size the guest sees; blocks nobody wrote cost nothing."""

_FILE_SYSTEM_UUID = "c10c4e00-0000-4000-8000-000000000001"
_HOOKS = Path("/usr/share/mmdebstrap/hooks")
_SCRIPTS = Path(__file__).with_name("scripts")
_LEFT_OUT = ("doc", "man", "locale", "info", "lintian", "bug", "i18n")
# Releases in which /bin and friends become links into /usr only by a helping hand; later ones ship the links.
_NEEDS_MERGED_USR = frozenset({"bullseye", "bookworm"})
_PASSED_ON = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


def builder_key() -> str:
    """Changes whenever the same recipe would give another root file system; part of the cache's key."""
    scripts = [path.read_text() for path in sorted(_SCRIPTS.glob("*.sh"))]
    parts = [_VERSION, DISK_SIZE, _LEFT_OUT, INITRD_MODULES, ROOTFS_MODULES, scripts]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Rootfs:
    """What a build leaves in its work folder."""

    rootfs: Path
    kernel: Path
    modules: tuple[Path, ...]
    """The initrd's modules, as ELF images, in the order they are loaded."""
    kernel_version: str


def namespace_argv(*, root: bool) -> list[str]:
    """The wrapper that gives a command its own processes and mounts, and ends with this process.

    Args:
        root: whether the caller is root; another user becomes root of a user namespace.
    """
    # SAFETY: --pdeathsig ends the wrapper when the hub dies, --kill-child ends everything inside when the
    # wrapper dies, and the private mounts go with the last process: not even kill -9 leaves /dev mounted in a
    # folder that is about to be deleted.
    users = [] if root else ["--map-root-user", "--map-auto"]
    return [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "unshare",
        *users,
        "--fork",
        "--pid",
        "--kill-child",
        "--mount-proc",
    ]


def mmdebstrap_argv(
    recipe: Recipe, *, work: Path, hooks: Path = _HOOKS, local_mirror: bool = False
) -> list[str]:
    """The command that fills `work`/root with the recipe's packages; apt's sources are read from its input."""
    setup, customize = (shlex.quote(str(_SCRIPTS / name)) for name in ("setup.sh", "customize.sh"))
    argv = [
        "mmdebstrap",
        "--mode=root",
        "--format=directory",
        "--variant=essential",
        "--verbose",
        '--aptopt=Acquire::Languages "none"',
    ]
    if recipe.suite in _NEEDS_MERGED_USR:
        argv.append(f"--hook-dir={hooks / 'merged-usr'}")
    if local_mirror:
        argv.append(f"--hook-dir={hooks / 'file-mirror-automount'}")
    return [
        *argv,
        f'--setup-hook=sh {setup} "$1"',
        f'--customize-hook=sh {customize} "$1"',
        f"--include={','.join(recipe.packages)}",
        recipe.suite,
        str(work / "root"),
        "-",
    ]


def filesystem_argv(*, epoch: int) -> list[str]:
    """The command that turns the folder into an ext4 file in which nothing is newer than `epoch`."""
    return ["sh", str(_SCRIPTS / "filesystem.sh"), DISK_SIZE, str(epoch), _FILE_SYSTEM_UUID]


def image_json(recipe: Recipe) -> str:
    """What the guest knows about its image: /etc/cloche/image.json."""
    return (
        json.dumps({"recipe": recipe.name, "env": dict(recipe.env), "user": recipe.user}, sort_keys=True)
        + "\n"
    )


def missing_packages(which: Callable[..., str | None] = shutil.which) -> list[str]:
    """The Debian packages a build needs and this host lacks; for `cloche doctor` too.

    Args:
        which: as `shutil.which`.
    """
    search = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    programs = {
        "mmdebstrap": "mmdebstrap",
        "busybox": "busybox-static",
        "mke2fs": "e2fsprogs",
        "debugfs": "e2fsprogs",
        "mount": "mount",
        "setpriv": "util-linux",
        "unshare": "util-linux",
        "dpkg-deb": "dpkg",
        "apt-get": "apt",
    }
    return sorted({package for program, package in programs.items() if which(program, path=search) is None})


class RootfsBuilder:
    """Builds root file systems on this host."""

    def __init__(self, arch: Arch, *, host_apt: HostApt | None = None) -> None:
        self._arch = arch
        self._host_apt = host_apt

    async def build(self, recipe: Recipe, work: Path, *, progress: OnProgress) -> Rootfs:
        """Builds a recipe in an empty folder, whose file build.log gets all output.

        Cancelling kills everything that was started; the folder's files are the caller's to remove.

        Raises:
            BuildFailed: with the last lines of the output.
            Unsupported: this user may not build here; the message says what to install or set up.
        """
        root = os.geteuid() == 0
        if packages := missing_packages():
            raise Unsupported(
                f"building an image needs: apt-get install {' '.join(packages)}", packages=packages
            )
        host_apt = self._host_apt if self._host_apt is not None else await asyncio.to_thread(read_host_apt)
        sources = choose_sources(host_apt.sources, recipe.suite)
        follow = BuildProgress()

        def on_line(line: str) -> None:
            if step := follow.line(line):
                progress(step)

        with (work / "build.log").open("ab") as log:
            env = _environment(work, self._arch)
            if not root:
                await _require_user_namespace(log, env)
            _write_inputs(recipe, work, host_apt, render_sources(sources_for_guest(sources)))
            local = any(uri.startswith(("file:", "copy:")) for source in sources for uri in source.uris)
            argv = [*namespace_argv(root=root), *mmdebstrap_argv(recipe, work=work, local_mirror=local)]
            await run_command(argv, log=log, env=env, stdin=render_sources(sources).encode(), on_line=on_line)
            rootfs = await asyncio.to_thread(_take_kernel, work)
            on_line("cloche: making the file system")
            argv = [*namespace_argv(root=root), *filesystem_argv(epoch=_epoch(work))]
            await run_command(argv, log=log, env=env)
            on_line("cloche: done")
        return rootfs


def remove_build_tree(folder: Path) -> None:
    """Deletes a work folder, whoever its files belong to."""
    try:
        shutil.rmtree(folder)
    except PermissionError:
        # Not root: files made inside the user namespace belong to its users, and only inside can they be removed.
        # SAFETY: an absolute path of the cache's own making, passed as a word; rm does not follow links.
        argv = [*namespace_argv(root=False), "rm", "-rf", "--", str(folder)]
        subprocess.run(argv, check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)


def _environment(work: Path, arch: Arch) -> dict[str, str]:
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return passed_on | {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(work),
        "LC_ALL": "C.UTF-8",
        "TMPDIR": str(work),
        "CLOCHE_WORK": str(work),
        "CLOCHE_KERNEL_PACKAGE": arch.kernel_package,
        "PYTHONHASHSEED": "0",
    }


async def _require_user_namespace(log: BinaryIO, env: Mapping[str, str]) -> None:
    try:
        await run_command([*namespace_argv(root=False), "true"], log=log, env=env)
    except BuildFailed as error:
        raise Unsupported(
            "building an image without being root needs user namespaces: apt-get install uidmap, and a line such "
            f"as 'USER:100000:65536' for this user in /etc/subuid and in /etc/subgid; or build as root ({error})"
        ) from None


def _write_inputs(recipe: Recipe, work: Path, host_apt: HostApt, guest_sources: str) -> None:
    inside = work / "inside"
    inside.mkdir()
    # SAFETY: mirror passwords: readable by nobody but the build, deleted with it.
    auth = work / "auth.conf"
    auth.touch(mode=0o600)
    auth.write_text(host_apt.passwords)
    (work / "apt.conf").write_text(host_apt.settings)
    left_out = "".join(f"path-exclude=/usr/share/{folder}/*\n" for folder in _LEFT_OUT)
    (work / "dpkg.cfg").write_text(left_out + "force-unsafe-io\n")
    (inside / "inside.sh").write_bytes((_SCRIPTS / "inside.sh").read_bytes())
    (inside / "run.sh").write_text("".join(step + "\n" for step in recipe.run))
    (inside / "image.json").write_text(image_json(recipe))
    (inside / "sources").write_text(guest_sources)
    (inside / "files.tar").write_bytes(pack_files(recipe.files))


def _take_kernel(work: Path) -> Rootfs:
    """Picks kernel and modules out of the unpacked package: the initrd's as images, the guest's as a tree."""
    unpacked = work / "kernel"
    kernels = sorted(unpacked.glob("boot/vmlinu*"))
    trees = sorted([*unpacked.glob("lib/modules/*"), *unpacked.glob("usr/lib/modules/*")])
    if not kernels or not trees:
        raise BuildFailed("the kernel package has no /boot/vmlinuz or no /lib/modules")
    kernel = work / "vmlinuz"
    kernels[0].rename(kernel)
    tree = trees[0]
    modules = _read_modules(tree)
    ordered = load_order(modules, INITRD_MODULES)
    images = work / "initrd-modules"
    images.mkdir()
    taken = []
    for info in ordered:
        image = images / f"{info.name}.ko"
        image.write_bytes(decompress_module(info.path, (tree / info.path).read_bytes()))
        taken.append(image)
    _copy_guest_modules(
        tree, work / "modules/usr/lib/modules" / tree.name, load_order(modules, ROOTFS_MODULES)
    )
    shutil.rmtree(unpacked)
    return Rootfs(work / "rootfs.ext4", kernel, tuple(taken), tree.name)


def _read_modules(tree: Path) -> dict[str, ModuleInfo]:
    modules = {}
    for file in sorted(tree.rglob("*.ko*")):
        path = file.relative_to(tree).as_posix()
        name = module_name(path)
        if name is not None:
            depends = module_depends(decompress_module(path, file.read_bytes()))
            modules[name] = ModuleInfo(name, path, depends)
    return modules


def _copy_guest_modules(tree: Path, target: Path, chosen: Sequence[ModuleInfo]) -> None:
    for info in chosen:
        copy = target / info.path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tree / info.path, copy)
    for name in ("modules.builtin", "modules.order"):
        if (tree / name).is_file():
            shutil.copyfile(tree / name, target / name)
    (target / "modules.dep").write_text(modules_dep(chosen))


def _epoch(work: Path) -> int:
    epoch = int((work / "epoch").read_text())
    if epoch <= 0:
        # A mirror without a dated Release file: the build works, it is only not reproducible.
        return int((work / "epoch").stat().st_mtime)
    return epoch
