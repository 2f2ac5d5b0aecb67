"""What the cache writes down about each thing in it: one manifest.json beside its files.

Pure: text in, value out. A manifest is written last, so a folder without a readable one is no entry.
Rule: a manifest of another format, or with a missing field, is treated as no entry, never as an error: a cache
is shared by versions.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, ClassVar, TypeVar

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class RootfsManifest:
    """A root file system with its kernel and modules."""

    KIND: ClassVar[str] = "rootfs"

    id: str
    recipe: str
    recipe_key: str
    arch: str
    kernel_version: str
    modules: tuple[str, ...]
    """File names in `modules/`, in the order the initrd loads them."""
    built_at: datetime


@dataclass(frozen=True, slots=True)
class ImageManifest:
    """An image: an initrd over a root file system."""

    KIND: ClassVar[str] = "image"

    digest: str
    recipe: str
    recipe_key: str
    rootfs: str
    """The id of its root file system."""
    arch: str
    agent_hash: str
    initrd_key: str
    built_at: datetime


_Manifest = TypeVar("_Manifest", RootfsManifest, ImageManifest)


def write_manifest(manifest: RootfsManifest | ImageManifest) -> str:
    """The text of a manifest.json."""
    values = asdict(manifest) | {"built_at": manifest.built_at.isoformat()}
    return json.dumps({"format": _FORMAT, "kind": manifest.KIND, **values}, indent=1, sort_keys=True) + "\n"


def read_manifest(kind: type[_Manifest], text: str) -> _Manifest | None:
    """The manifest in a text, or None if it is none of this kind and format."""
    try:
        values = json.loads(text)
    except ValueError:
        return None
    if not isinstance(values, dict) or values.get("format") != _FORMAT or values.get("kind") != kind.KIND:
        return None
    try:
        return kind(**{field.name: _value(field.name, values[field.name]) for field in fields(kind)})
    except (KeyError, TypeError, ValueError):
        return None


def _value(name: str, value: Any) -> Any:
    if name == "modules":
        if not isinstance(value, list) or not all(
            isinstance(item, str) and "/" not in item for item in value
        ):
            raise ValueError(name)
        return tuple(value)
    if not isinstance(value, str):
        raise TypeError(name)
    return datetime.fromisoformat(value) if name == "built_at" else value
