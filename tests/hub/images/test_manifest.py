"""What the cache writes down about each thing in it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from cloche_hub.images.manifest import ImageManifest, RootfsManifest, read_manifest, write_manifest

_BUILT = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
_ROOTFS = RootfsManifest("i", "minimal", "k", "x86_64", "6.1", ("a.ko", "b.ko"), _BUILT)
_IMAGE = ImageManifest("d", "minimal", "k", "i", "x86_64", "h", "n", _BUILT)


def _changed(**values: object) -> str:
    return json.dumps(json.loads(write_manifest(_ROOTFS)) | values)


def test_what_is_written_reads_back_as_it_was() -> None:
    assert read_manifest(RootfsManifest, write_manifest(_ROOTFS)) == _ROOTFS
    assert read_manifest(ImageManifest, write_manifest(_IMAGE)) == _IMAGE


def test_one_kind_does_not_read_as_the_other() -> None:
    assert read_manifest(ImageManifest, write_manifest(_ROOTFS)) is None


def test_fields_of_a_later_version_are_passed_over() -> None:
    assert read_manifest(RootfsManifest, _changed(later=1)) == _ROOTFS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        write_manifest(_ROOTFS)[:-20],
        _changed(format=2),
        _changed(id=3),
        _changed(built_at="yesterday"),
        _changed(modules="a.ko"),
        _changed(modules=["../../etc/passwd"]),
        _changed(modules=[1]),
    ],
)
def test_a_damaged_or_foreign_manifest_is_no_entry_and_no_error(text: str) -> None:
    assert read_manifest(RootfsManifest, text) is None
