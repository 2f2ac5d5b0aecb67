"""The names things have in the cache, derived from what they are made of.

Pure, except that hashing a file reads it. Rule: a key holds everything that changes what is built and
nothing that does not; the mirror's state is left out, since the same recipe may be built at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from cloche_hub.images.recipe import Recipe

_DIGITS = 32  # 128 bits: nobody has to fear a collision, and a name stays readable
_NAME = re.compile(rf"[0-9a-f]{{{_DIGITS}}}")
_BLOCK = 1 << 20


def is_digest(text: str) -> bool:
    """Whether this has the form of a name in the cache."""
    return _NAME.fullmatch(text) is not None


def recipe_key(recipe: Recipe, *, arch: str, files: str, builder: str) -> str:
    """What a root file system is found by.

    Args:
        recipe: its description and its place do not count.
        arch: as `uname -m` says it.
        files: the hash of its files folder.
        builder: the key of the builder that would build it.
    """
    parts = {
        "arch": arch,
        "builder": builder,
        "env": dict(recipe.env),
        "files": files,
        "name": recipe.name,
        "packages": list(recipe.packages),
        "run": list(recipe.run),
        "suite": recipe.suite,
        "user": recipe.user,
    }
    return _name("recipe", json.dumps(parts, sort_keys=True))


def initrd_key(*, init_template: str, agent_hash: str) -> str:
    """What tells an initrd made by this version, with this agent, from others over the same root file system."""
    return _name("initrd", init_template, agent_hash)


def rootfs_id(*, recipe: str, content: Sequence[str]) -> str:
    """The name of a root file system: its recipe's key and the hashes of its files."""
    return _name("rootfs", recipe, *content)


def image_digest(*, rootfs: str, initrd: str) -> str:
    """The name of an image: its root file system's and its initrd's hash."""
    return _name("image", rootfs, initrd)


def _name(kind: str, *parts: str) -> str:
    # A JSON list, so that no two different lists of parts can read the same.
    return hashlib.sha256(json.dumps([kind, *parts]).encode()).hexdigest()[:_DIGITS]


def hash_file(path: Path) -> str:
    """sha256 of a file's data and where it lies, in hex; holes are skipped, so a sparse file is read in no time."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        at = 0
        while at < size:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break  # ENXIO: only a hole is left
            # Whole blocks of zeros may or may not be holes, depending on who wrote them: neither counts.
            at -= at % _BLOCK
            block = os.pread(file.fileno(), _BLOCK, at)
            if block.strip(b"\0"):
                digest.update(at.to_bytes(8, "little") + hashlib.sha256(block).digest())
            at += _BLOCK
    digest.update(size.to_bytes(8, "little"))
    return digest.hexdigest()
