"""The cache's folder: what lies where, what is complete, who holds it, and how things come and go.

    rootfs/<id>/       rootfs.ext4 vmlinuz modules/*.ko build.log manifest.json
    images/<digest>/   initrd.img manifest.json
    tmp/<random>/      work under way; its folder is locked by who works in it
    locks/             one file a lock, never deleted
    logs/              the output of builds that failed

Rule: a thing appears by the rename of a finished folder that is on the disk, so whoever is killed at any
moment leaves only a folder in tmp/, which the next build removes.
Rule: an image in use has its lock shared by its users; who removes it must have the lock alone.
Not here: how anything is built, which image a recipe means.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cloche_hub.errors import NotFound, WrongState
from cloche_hub.images.eviction import CachedImage
from cloche_hub.images.keys import is_digest
from cloche_hub.images.manifest import ImageManifest, RootfsManifest, read_manifest, write_manifest
from cloche_hub.locks import Lock, is_held

_MANIFEST = "manifest.json"
RemoveTree = Callable[[Path], None]
_Stamp = tuple[int, int, int, int]
"""What changes with a file: its inode, size, and times of change."""


@dataclass(frozen=True, slots=True)
class StoredRootfs:
    """A complete root file system in the cache."""

    manifest: RootfsManifest
    folder: Path

    @property
    def rootfs(self) -> Path:
        return self.folder / "rootfs.ext4"

    @property
    def kernel(self) -> Path:
        return self.folder / "vmlinuz"

    @property
    def modules(self) -> list[Path]:
        return [self.folder / "modules" / name for name in self.manifest.modules]


@dataclass(frozen=True, slots=True)
class StoredImage:
    """A complete image in the cache."""

    manifest: ImageManifest
    folder: Path
    base: StoredRootfs

    @property
    def initrd(self) -> Path:
        return self.folder / "initrd.img"


class Cache:
    """One cache folder, shared with other processes.

    Args:
        root: the folder; made on first use.
        remove_tree: deletes a folder with all in it; replaced where its files belong to other users.
    """

    def __init__(self, root: Path, *, remove_tree: RemoveTree = shutil.rmtree) -> None:
        self._root = root
        self._remove_tree = remove_tree
        # What was read of each image's manifest, and the state of the file then.
        self._manifests: dict[str, tuple[_Stamp, ImageManifest | None]] = {}

    def prepare(self) -> None:
        """Makes the folders. Idempotent."""
        for name in (".", "rootfs", "images", "tmp", "locks", "logs"):
            folder = self._root / name
            if not folder.is_dir():
                folder.mkdir(parents=True, exist_ok=True)
                # Machines run as users of their own and read kernel and disk from here; nothing in it is secret.
                folder.chmod(0o755)

    @property
    def root(self) -> Path:
        """The cache's folder."""
        return self._root

    def lock_path(self, name: str) -> Path:
        """The lock file of a name made by this package."""
        return self._root / "locks" / f"{name}.lock"

    def log_path(self, recipe: str) -> Path:
        """Where the output of a failed build of a recipe goes."""
        return self._root / "logs" / f"{recipe}.log"

    def free_bytes(self) -> int:
        """What this user may still write here."""
        usage = os.statvfs(self._root)
        return usage.f_bavail * usage.f_frsize

    # What is there

    def rootfs(self) -> list[StoredRootfs]:
        """Every complete root file system, newest first."""
        found = (self._read_rootfs(folder.name) for folder in _folders(self._root / "rootfs"))
        return sorted(filter(None, found), key=lambda stored: stored.manifest.built_at, reverse=True)

    def images(self) -> list[StoredImage]:
        """Every complete image, newest first."""
        found = (self._read_image(folder.name) for folder in _folders(self._root / "images"))
        return sorted(filter(None, found), key=lambda stored: stored.manifest.built_at, reverse=True)

    def newest_image(self, *, recipe_key: str, initrd_key: str) -> StoredImage | None:
        """The newest complete image with these keys, or None. Reads only manifests that have changed since last time."""
        manifests = {}
        for folder in _folders(self._root / "images"):
            if (stamp := _stamp(f"{folder}/{_MANIFEST}")) is not None:
                known = self._manifests.get(folder.name)
                if known is None or known[0] != stamp:
                    known = stamp, read_manifest(ImageManifest, _read(folder / _MANIFEST))
                manifests[folder.name] = known
        # Several threads may do this at once: each leaves a whole dictionary.
        self._manifests = manifests
        found = [
            (manifest.built_at, name)
            for name, (_, manifest) in manifests.items()
            if manifest and (manifest.recipe_key, manifest.initrd_key) == (recipe_key, initrd_key)
        ]
        return next(filter(None, (self._read_image(name) for _, name in sorted(found, reverse=True))), None)

    def image(self, digest: str) -> StoredImage:
        """A complete image.

        Raises:
            NotFound: there is none of this digest.
        """
        # SAFETY: the digest comes from a client and becomes part of a path: only hex digits pass.
        stored = self._read_image(digest) if is_digest(digest) else None
        if stored is None:
            raise NotFound(f"there is no image {digest[:64]!r}; see: cloche image ls")
        return stored

    def _read_rootfs(self, name: str) -> StoredRootfs | None:
        folder = self._root / "rootfs" / name
        manifest = read_manifest(RootfsManifest, _read(folder / _MANIFEST))
        if manifest is None or manifest.id != name or not (folder / "rootfs.ext4").is_file():
            return None
        return StoredRootfs(manifest, folder)

    def _read_image(self, name: str) -> StoredImage | None:
        folder = self._root / "images" / name
        manifest = read_manifest(ImageManifest, _read(folder / _MANIFEST))
        if manifest is None or manifest.digest != name or not is_digest(manifest.rootfs):
            return None
        base = self._read_rootfs(manifest.rootfs)
        if base is None or not (folder / "initrd.img").is_file():
            return None
        return StoredImage(manifest, folder, base)

    def cached_images(self) -> list[CachedImage]:
        """Every complete image as the choice of what to evict needs it, newest first."""
        return [
            CachedImage(
                digest=stored.manifest.digest,
                recipe=stored.manifest.recipe,
                rootfs=stored.manifest.rootfs,
                size_bytes=disk_bytes(stored.folder),
                used_at=used,
                in_use=self.in_use(stored.manifest.digest),
            )
            for stored in self.images()
            if (used := used_at(stored.folder)) is not None
        ]

    # Holding

    def hold_rootfs(self, name: str) -> Lock:
        """Keeps a root file system, there or about to be, from being removed until the lock is closed."""
        return Lock.share(self.lock_path(f"rootfs-{name}"))

    def hold(self, digest: str) -> Lock:
        """Keeps an image from being removed until the lock is closed, and marks it as used now.

        Raises:
            NotFound: there is none of this digest.
        """
        self.image(digest)
        lock = Lock.share(self.lock_path(f"image-{digest}"))
        try:
            # Only now can it not go away any more.
            stored = self.image(digest)
            os.utime(stored.folder / _MANIFEST)
        except BaseException:
            lock.close()
            raise
        return lock

    def in_use(self, digest: str) -> bool:
        """Whether somebody holds it, in this process or another."""
        # Asking takes the lock for a moment; one at a time, or two who ask would take each other for users.
        with self._briefly_alone():
            return is_held(self.lock_path(f"image-{digest}"))

    def _briefly_alone(self) -> Lock:
        # Not reentrant: a second lock of the same process waits for the first.
        return Lock.take_briefly(self.lock_path("cache"))

    # Coming and going

    @contextmanager
    def work_folder(self) -> Iterator[Path]:
        """An empty folder that is removed at the end; if this process dies, by the next build."""
        folder = self._new_name()
        with self._briefly_alone():
            folder.mkdir(mode=0o755)
            lock = Lock.try_take_folder(folder)
        assert lock is not None
        with lock:
            try:
                yield folder
            finally:
                if folder.exists():
                    self._remove_tree(folder)

    def sweep(self) -> None:
        """Removes the work folders of processes that have died."""
        with self._briefly_alone():
            locked = [(folder, Lock.try_take_folder(folder)) for folder in _folders(self._root / "tmp")]
        for folder, lock in locked:
            if lock is not None:
                # What can not be removed now is tried again by the next build.
                with lock, suppress(OSError):
                    self._remove_tree(folder)

    def publish_rootfs(self, work: Path, manifest: RootfsManifest) -> StoredRootfs:
        """Makes a finished work folder a root file system of the cache; hold it until it has an image."""
        folder = self._publish(work, self._root / "rootfs" / manifest.id, write_manifest(manifest))
        return StoredRootfs(manifest, folder)

    def publish_image(self, work: Path, manifest: ImageManifest, base: StoredRootfs) -> StoredImage:
        """Makes a finished work folder an image of the cache."""
        folder = self._publish(work, self._root / "images" / manifest.digest, write_manifest(manifest))
        return StoredImage(manifest, folder, base)

    def _publish(self, work: Path, target: Path, manifest: str) -> Path:
        (work / _MANIFEST).write_text(manifest)
        _finish_tree(work)
        with self._briefly_alone():
            if (target / _MANIFEST).is_file():
                # The same content is there already: its files, which may be in use, stay; the date is new.
                (work / _MANIFEST).replace(target / _MANIFEST)
            else:
                if target.exists():
                    target.rename(self._new_name())
                work.rename(target)
            _sync(target)
            _sync(target.parent)
        return target

    def remove_image(self, digest: str) -> int:
        """Deletes an image, and its root file system if no other image needs it; returns the bytes freed.

        Raises:
            NotFound: there is none of this digest.
            WrongState: somebody holds it.
        """
        with self._briefly_alone():
            stored = self.image(digest)
            lock = Lock.try_take(self.lock_path(f"image-{digest}"))
            if lock is None:
                raise WrongState(f"the image {digest} is in use by a machine; remove its sandboxes first")
            with lock:
                doomed = self._doom(stored.folder)
        return self._delete(doomed) + self.remove_unneeded_rootfs()

    def remove_if_unused(self, digest: str) -> int:
        """Deletes an image unless somebody holds it or it is gone already; returns the bytes freed."""
        try:
            return self.remove_image(digest)
        except (NotFound, WrongState):
            return 0

    def remove_unneeded_rootfs(self) -> int:
        """Deletes root file systems without an image that nobody holds; returns the bytes freed."""
        doomed = []
        with self._briefly_alone():
            needed = {stored.manifest.rootfs for stored in self.images()}
            for folder in _folders(self._root / "rootfs"):
                if folder.name in needed:
                    continue
                lock = Lock.try_take(self.lock_path(f"rootfs-{folder.name}"))
                if lock is not None:
                    with lock:
                        doomed.append(self._doom(folder))
        return sum(self._delete(folder) for folder in doomed)

    def _doom(self, folder: Path) -> Path:
        # Renamed first: from this moment nobody finds it, and what a crash leaves of it is swept.
        doomed = self._new_name()
        folder.rename(doomed)
        return doomed

    def _delete(self, doomed: Path) -> int:
        size = disk_bytes(doomed)
        with suppress(FileNotFoundError):  # somebody else's sweep was faster
            self._remove_tree(doomed)
        return size

    def _new_name(self) -> Path:
        return self._root / "tmp" / secrets.token_hex(8)


def _stamp(file: str) -> _Stamp | None:
    try:
        status = os.stat(file)  # noqa: PTH116 - dozens of them are on the way of every new sandbox
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def used_at(folder: Path) -> datetime | None:
    """When an entry was last used: its manifest's time; None if another hub has removed it meanwhile."""
    try:
        return datetime.fromtimestamp((folder / _MANIFEST).stat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def disk_bytes(folder: Path) -> int:
    """The disk blocks the files in a folder use."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(parent, name).lstat().st_blocks * 512
    return total


def _finish_tree(folder: Path) -> None:
    """Lets every user read what is in a folder, whatever the umask, and waits until it is on the disk."""
    for parent, _, names in os.walk(folder):
        for name in names:
            Path(parent, name).chmod(0o644)
            _sync(Path(parent, name))
        Path(parent).chmod(0o755)
        _sync(Path(parent))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _folders(parent: Path) -> list[Path]:
    try:
        with os.scandir(parent) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
