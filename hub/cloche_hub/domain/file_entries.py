"""What a guest says of files: entries, batches of them and counts, parsed and checked. Pure.

The guest is hostile: what it says is a claim, and only a claim of the right form is passed on.

Rules:
- Every field is checked and copied by name. What is not known here is not passed on.
- SAFETY: clients make files of these names on their own disks: see `paths`. That one is text does not make it fit for a
  terminal: a file's name may hold any character but a slash and a NUL.
- A name that is no UTF-8 comes as bytes. It is told with backslash escapes and marked `unusable`: nothing can be asked
  of such a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cloche_hub.domain.file_requests import MAX_MODE
from cloche_hub.domain.paths import MAX_PATH, is_absolute_path, is_file_name
from cloche_hub.errors import SenselessAnswer

KINDS = frozenset({"file", "dir", "link", "other"})
MAX_BATCH = 4096
"""Entries of one message."""
MAX_FILE = (1 << 63) - 1
"""Bytes of a file: what Linux can tell of one."""

_RANGES = {
    "size_bytes": (0, MAX_FILE),
    "mode": (0, MAX_MODE),
    "uid": (0, (1 << 32) - 1),
    "gid": (0, (1 << 32) - 1),
    # What msgpack can carry; times after 2262 are beyond 63 bits.
    "mtime_ns": (-(1 << 63), (1 << 64) - 1),
}


def parse_entry(said: object) -> dict[str, Any]:
    """One file as clients are told of it.

    Raises:
        SenselessAnswer: it is no entry; says which field is wrong.
    """
    if not isinstance(said, Mapping):
        raise _senseless("it is no map")
    name, path, kind = said.get("name"), said.get("path"), said.get("kind")
    entry: dict[str, Any] = {**_parse_place(name, path), "kind": kind}
    if not isinstance(kind, str) or kind not in KINDS:
        raise _senseless("kind")
    for field, (least, most) in _RANGES.items():
        entry[field] = _parse_whole(said, field, least, most)
    target = said.get("target")
    if target is not None:
        if kind != "link" or not 0 < len(_as_bytes(target, "target")) <= MAX_PATH or "\0" in _as_text(target):
            raise _senseless("target")
        entry["target"] = _as_text(target)
    if any(isinstance(value, bytes) for value in (name, path)):
        entry["unusable"] = True
    return entry


def parse_file_entry(said: object) -> dict[str, Any]:
    """An entry that must be a regular file's; raises as `parse_entry`."""
    entry = parse_entry(said)
    if entry["kind"] != "file":
        raise _senseless("kind")
    return entry


def parse_batch(message: object) -> list[dict[str, Any]]:
    """The entries of one message of a listing; raises as `parse_entry`."""
    entries = message.get("entries") if isinstance(message, Mapping) else None
    if not isinstance(entries, list) or not 0 < len(entries) <= MAX_BATCH:
        raise _senseless("entries")
    parsed = [parse_entry(entry) for entry in entries]
    # SAFETY: only the folder itself can be called "/", and that is in no folder.
    if any(entry["name"] == "/" for entry in parsed):
        raise _senseless("name")
    return parsed


def parse_count(result: Mapping[str, Any], field: str) -> int:
    """A count in a guest's result: of bytes, entries or files.

    Raises:
        SenselessAnswer: it is none.
    """
    return _parse_whole(result, field, 0, MAX_FILE)


def _parse_place(name: object, path: object) -> dict[str, Any]:
    name_bytes, path_bytes = _as_bytes(name, "name"), _as_bytes(path, "path")
    if path_bytes == b"/" == name_bytes:
        return {"name": "/", "path": "/"}
    if not is_file_name(name_bytes):
        raise _senseless("name")
    if not is_absolute_path(path_bytes) or path_bytes.rpartition(b"/")[2] != name_bytes:
        raise _senseless("path")
    return {"name": _as_text(name), "path": _as_text(path)}


def _parse_whole(said: Mapping[str, Any], field: str, least: int, most: int) -> int:
    value = said.get(field)
    # Not isinstance: True is an int too.
    if type(value) is not int or not least <= value <= most:
        raise _senseless(field)
    return value


def _as_bytes(value: object, field: str) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise _senseless(field)
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise _senseless(field) from None


def _as_text(value: object) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def _senseless(what: str) -> SenselessAnswer:
    return SenselessAnswer(f"the guest's account of a file makes no sense: {what}")
