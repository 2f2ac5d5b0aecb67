"""Tests of the value that names an image's files."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from cloche_hub.domain.image_files import ImageFiles

FILES = ImageFiles(
    digest="d" * 32,
    kernel=Path("/cache/vmlinuz"),
    initrd=Path("/cache/initrd.img"),
    rootfs=Path("/cache/rootfs.ext4"),
    arch="x86_64",
    agent_hash="a" * 64,
)


def test_what_a_machine_starts_from_cannot_be_swapped_under_its_holder() -> None:
    with pytest.raises(FrozenInstanceError):
        FILES.rootfs = Path("/elsewhere")  # type: ignore[misc]


def test_images_with_another_agent_are_not_the_same() -> None:
    assert replace(FILES, agent_hash="b" * 64) != FILES
    assert replace(FILES) == FILES
