"""Becoming somebody: what makes a clone differ from every other clone of its template.

Until then all clones are the same machine: their random generators would give the same bytes.

Rules:
- The generator comes first; whatever else is made here must not be made of the template's randomness.
- The files that say who a machine is lie in memory (`move_files` does that before the template is saved): in software
  emulation, a clone's first write to its disk takes longer than everything else here.
Source: random(4) for the generator, machine-id(5), hosts(5).
"""

from __future__ import annotations

import fcntl
import os
import struct
import time

from cloche_guest.messages import Identity

FILES = ("etc/hostname", "etc/machine-id", "etc/hosts")
"""Those that say who a machine is, below the root."""

# linux/random.h. struct rand_pool_info: entropy_count (bits), buf_size (bytes), buf.
_RNDADDENTROPY = 0x40085203
_RNDRESEEDCRNG = 0x5207


def take_on(identity: Identity) -> None:
    """Becomes it. The agent itself keeps no random state that would need to follow.

    Raises:
        OSError: a part of it could not be taken on; it may be tried again.
    """
    feed_generator(identity.entropy)
    time.clock_settime_ns(time.CLOCK_REALTIME, identity.clock_ns)
    _write("/proc/sys/kernel/hostname", identity.hostname)
    write_files(identity, "/")


def feed_generator(entropy: bytes) -> None:
    """Mixes bytes into the kernel's generator and has it use them at once."""
    generator = os.open("/dev/urandom", os.O_WRONLY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(generator, _RNDADDENTROPY, entropy_argument(entropy))
        fcntl.ioctl(generator, _RNDRESEEDCRNG)
    finally:
        os.close(generator)


def entropy_argument(entropy: bytes) -> bytes:
    """The argument of RNDADDENTROPY: every bit counts as random."""
    return struct.pack("=ii", 8 * len(entropy), len(entropy)) + entropy


def write_files(identity: Identity, root: str) -> None:
    """Writes the files that say who a machine is, under this root."""
    for path, text in files_of(identity).items():
        # SAFETY: a link in a recipe's root file system would lead elsewhere in this same machine, no further.
        _write(os.path.join(root, path), text)


def move_files(root: str, memory: str) -> None:
    """Moves the files that say who a machine is to a folder in memory, and leaves links in their places.

    Links, not mounts: a program that replaces such a file by a new one can still do so.
    """
    os.makedirs(memory, exist_ok=True)
    for path in FILES:
        place, target = os.path.join(root, path), os.path.join(memory, os.path.basename(path))
        if os.path.islink(place):
            continue
        try:
            with open(place, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            content = b""
        _write(target, content.decode(errors="surrogateescape"))
        os.symlink(target, f"{place}.cloche")
        os.rename(f"{place}.cloche", place)


def files_of(identity: Identity) -> dict[str, str]:
    """The files that say who a machine is: path below the root → content."""
    short = identity.hostname.split(".")[0]
    names = identity.hostname if short == identity.hostname else f"{identity.hostname} {short}"
    hosts = (
        "127.0.0.1\tlocalhost\n"
        f"127.0.1.1\t{names}\n"
        "::1\tlocalhost ip6-localhost ip6-loopback\n"
        "ff02::1\tip6-allnodes\n"
        "ff02::2\tip6-allrouters\n"
    )
    return dict(zip(FILES, (f"{identity.hostname}\n", f"{identity.machine_id}\n", hosts), strict=True))


def _write(path: str, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        os.write(file, text.encode(errors="surrogateescape"))
    finally:
        os.close(file)
