"""Templates on disk: what one is of, where it lies, who uses it, how it comes and goes.

    templates/<key>/          ram state disk.qcow2 boot.log template.json
    templates/tmp-<random>/   one being made; who makes it holds the folder's own lock
    templates/locks/          <key>.build, <key>.use

Rules:
- A template is never changed: it appears by the rename of a finished folder that is on the disk.
- Its key holds all that a saved state depends on, so a state is never loaded by a QEMU it was not made by.
- A machine holds its template's `use` lock for as long as it lives; who deletes a template has that lock alone.
- Other hubs come and go at any moment: what was seen here may be gone when it is looked at or deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from cloche_hub.domain.flavors import Flavor
from cloche_hub.locks import Lock, is_held
from cloche_hub.ports import CacheUse
from cloche_hub.vm.argv import TCG, Disk, Invocation, arguments
from cloche_hub.vm.facts import QemuBuild

_MANIFEST = "template.json"
_DRAFT = "tmp-"
# Changed when what is saved, or how, changes in a way the arguments do not show.
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Shape:
    """What a template and its clones have in common."""

    build: QemuBuild
    arch: str
    accelerator: str
    image: str
    flavor: Flavor
    host: str = ""
    """What the state depends on of this very host; empty in software emulation."""

    @property
    def disk_bytes(self) -> int:
        """The size of the disk the guest sees."""
        return self.flavor.disk_gib << 30

    @property
    def largest_file(self) -> int:
        """What an overlay may grow to, its own tables included."""
        return self.disk_bytes + (self.disk_bytes >> 8) + (64 << 20)

    def invocation(
        self,
        name: str,
        *,
        ram: int,
        kernel: int,
        initrd: int | None,
        disks: Sequence[Disk],
        state: int | None = None,
        is_clone: bool = False,
    ) -> Invocation:
        """QEMU's arguments for a machine of this shape, but for the sockets."""
        return Invocation(
            name=name,
            arch=self.arch,
            accelerator=self.accelerator,
            version=self.build.version,
            vcpus=self.flavor.vcpus,
            memory_mib=self.flavor.memory_mib,
            ram=ram,
            kernel=kernel,
            initrd=initrd,
            disks=disks,
            qmp=-1,
            agent=-1,
            state=state,
            is_clone=is_clone,
        )

    def words(self) -> list[str]:
        """QEMU's arguments for a template of this shape, with zero for the descriptors, which differ each time."""
        disks = (Disk(0, "qcow2"), Disk(0, "raw"))
        return arguments(self.invocation("", ram=0, kernel=0, initrd=0, disks=disks, state=0))

    def key(self) -> str:
        """Names the template of this shape: 32 hex digits."""
        host = "" if self.accelerator == TCG else self.host
        parts = (_FORMAT, self.build.identity, self.image, asdict(self.flavor), host, self.words())
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A complete template on disk."""

    key: str
    path: Path
    image: str
    flavor: str

    @property
    def ram(self) -> Path:
        return self.path / "ram"

    @property
    def state(self) -> Path:
        """The devices' state."""
        return self.path / "state"

    @property
    def disk(self) -> Path:
        """What the template has written over its image's disk."""
        return self.path / "disk.qcow2"

    def boot_log(self) -> bytes:
        """What its console printed until it was saved."""
        return (self.path / "boot.log").read_bytes()

    def mark_used(self) -> None:
        """Notes that it is in use now."""
        with contextlib.suppress(FileNotFoundError):
            os.utime(self.path / _MANIFEST)

    def used_at(self) -> datetime | None:
        """When it was used last; None if it is gone."""
        try:
            return datetime.fromtimestamp((self.path / _MANIFEST).stat().st_mtime, UTC)
        except FileNotFoundError:
            return None


class TemplateCache:
    """The folder of templates, shared with other hubs.

    Args:
        root: the folder; made on first use.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def prepare(self) -> None:
        """Makes the folders. Idempotent."""
        # SAFETY: a template's memory holds what its guest's memory held; only the hub reads it.
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._root / "locks").mkdir(mode=0o700, exist_ok=True)

    def find(self, key: str) -> StoredTemplate | None:
        """A complete template."""
        path = self._root / key
        try:
            manifest = json.loads((path / _MANIFEST).read_text())
            return StoredTemplate(key, path, str(manifest["image"]), str(manifest["flavor"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def build_lock(self, key: str) -> Path:
        """Held by who makes the template, maybe for minutes."""
        return self._root / "locks" / f"{key}.build"

    def use_lock(self, key: str) -> Path:
        """Shared by its machines; see `Lock.share`."""
        return self._root / "locks" / f"{key}.use"

    def free_bytes(self) -> int:
        """What may still be written here."""
        usage = os.statvfs(self._root)
        return usage.f_bavail * usage.f_frsize

    @contextlib.contextmanager
    def draft(self) -> Iterator[Path]:
        """An empty folder to make a template in; gone at the end, unless it was published."""
        path, lock = self._new_draft()
        with lock:
            try:
                yield path
            finally:
                shutil.rmtree(path, ignore_errors=True)

    def _new_draft(self) -> tuple[Path, Lock]:
        while True:
            path = self._root / f"{_DRAFT}{secrets.token_hex(8)}"
            path.mkdir(mode=0o700)
            # Another hub that sweeps right now may take it for one whose maker is dead; then we make another.
            lock = Lock.try_take_folder(path)
            if lock is not None and path.exists():
                return path, lock
            if lock is not None:
                lock.close()

    def publish(self, draft: Path, shape: Shape) -> None:
        """Makes a finished draft, whose files are on the disk, the template of its shape."""
        manifest = {"image": shape.image, "flavor": shape.flavor.name, "accelerator": shape.accelerator}
        manifest["built_at"] = datetime.now(UTC).isoformat()
        (draft / _MANIFEST).write_text(json.dumps(manifest))
        _sync(draft / _MANIFEST)
        _sync(draft)
        target = self._root / shape.key()
        if target.exists():
            # Not complete, or we would not have made another one.
            shutil.rmtree(target)
        draft.rename(target)
        _sync(self._root)

    def uses(self) -> list[CacheUse]:
        """Every template, newest use first."""
        found = (self._use_of(stored) for stored in self._all())
        return sorted(filter(None, found), key=lambda use: use.used_at, reverse=True)

    def prune(self) -> int:
        """Deletes every template no machine runs from, and what dead makers have left; returns the bytes freed."""
        freed = self._sweep()
        for stored in self._all():
            lock = Lock.try_take(self.use_lock(stored.key))
            if lock is not None:
                with lock:
                    freed += _remove(stored.path)
        return freed

    def make_room(self, max_bytes: int) -> None:
        """Deletes the templates that were not used for longest, until the rest is within a bound."""
        self._sweep()
        used = [(used_at, one) for one in self._all() if (used_at := one.used_at()) is not None]
        total = 0
        for _, one in sorted(used, key=lambda use: use[0], reverse=True):
            total += _disk_bytes(one.path)
            lock = Lock.try_take(self.use_lock(one.key)) if total > max_bytes else None
            if lock is not None:
                with lock:
                    total -= _remove(one.path)

    def _all(self) -> list[StoredTemplate]:
        try:
            # A draft has its manifest before it has its name.
            names = sorted(
                entry.name for entry in os.scandir(self._root) if not entry.name.startswith(_DRAFT)
            )
        except FileNotFoundError:
            return []
        return [stored for name in names if (stored := self.find(name)) is not None]

    def _use_of(self, stored: StoredTemplate) -> CacheUse | None:
        used_at = stored.used_at()
        if used_at is None:
            return None
        name = f"{stored.image[:12]} {stored.flavor}"
        in_use = is_held(self.use_lock(stored.key))
        return CacheUse("template", name, _disk_bytes(stored.path), used_at, in_use, prunable=not in_use)

    def _sweep(self) -> int:
        freed = 0
        for path in self._root.glob(f"{_DRAFT}*"):
            lock = Lock.try_take_folder(path)
            if lock is not None:
                with lock:
                    freed += _remove(path)
        return freed


def write_out(folder: Path) -> None:
    """Blocks until the files of a folder are on the disk."""
    for path in folder.iterdir():
        _sync(path)


def _remove(path: Path) -> int:
    size = _disk_bytes(path)
    # Renamed first: a template that is half deleted must not be found by anybody.
    doomed = path.with_name(f"{_DRAFT}{secrets.token_hex(8)}")
    try:
        path.rename(doomed)
    except FileNotFoundError:
        # Its maker has just published it, or somebody else has deleted it.
        return 0
    shutil.rmtree(doomed, ignore_errors=True)
    return size


def _disk_bytes(folder: Path) -> int:
    total = 0
    with contextlib.suppress(FileNotFoundError):
        for path in folder.iterdir():
            total += path.lstat().st_blocks * 512
    return total


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
