"""Where the files of one image lie on this host: what a hypervisor boots.

A value only: who makes the files and who keeps them alive is `images`; who boots them is `vm`.
Rule: the paths are good only while the image is held; without a hold it may be evicted at any time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class ImageFiles:
    """The files of one image."""

    digest: str
    """Hex; names the image everywhere."""
    kernel: Path
    """The kernel a hypervisor loads directly."""
    initrd: Path
    """Holds the modules to reach the disk, and the agent."""
    rootfs: Path
    """A raw ext4 file, never written to: machines use an overlay over it."""
    arch: str
    """As `uname -m` says it: x86_64 or aarch64."""
    agent_hash: str
    """sha256 hex of the agent bundle inside; the agent's hello carries the same."""
