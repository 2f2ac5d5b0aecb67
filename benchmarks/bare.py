"""The bare limit: a clone of the same template, restored and used by a blocking script over the same port.

The arguments, the memory and the disks are those of a machine the hub has started, read from its process; so both
run the very same guest. No hub, no client, no database, no audit, no change of user.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.blocking_link import BlockingLink

from cloche_hub.domain.flavors import FLAVORS
from cloche_hub.vm.argv import parse_version, state_uri
from cloche_hub.vm.overlay import create_overlay

_NUMBER = re.compile(r"(/proc/self/fd/|/dev/fdset/|\bfd=|\bset=)(\d+)")
_SOCKETS = re.compile(r"socket,id=(\w+),fd=(\d+)")


@dataclass(frozen=True, slots=True)
class Pattern:
    """How to start a machine like one that runs: its arguments, and what its descriptors stand for."""

    pid: int
    argv: tuple[str, ...]
    sockets: dict[str, str]
    """Name of the socket → its number in the arguments."""
    disks: tuple[str, ...]
    """The numbers of the writable disk and of the layers below it."""
    template: Path
    """The folder with the template's disk and device state."""
    rootfs: Path
    version: str

    @classmethod
    def of(cls, pid: int) -> Pattern:
        """The pattern of a running clone."""
        argv = tuple(Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1])
        sockets = {name: number for word in argv for name, number in _SOCKETS.findall(word)}
        disks = tuple(_layers(json.loads(next(word for word in argv if word.startswith("{")))))
        links = {entry.readlink() for entry in Path(f"/proc/{pid}/fd").iterdir()}
        (template,) = {
            link.parent for link in links if link.name == "disk.qcow2" and "templates" in link.parts
        }
        (rootfs,) = {link for link in links if link.name == "rootfs.ext4"}
        version = subprocess.run([argv[0], "--version"], capture_output=True, text=True, check=True).stdout
        return cls(pid, argv, sockets, disks, template, rootfs, version)


def _layers(node: dict[str, Any] | None) -> Iterator[str]:
    while node is not None:
        yield node["file"]["filename"].rpartition("/")[2]
        node = node.get("backing")


class BareMachine:
    """A machine restored by hand; end it with `with`."""

    def __init__(self, pattern: Pattern) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="cloche-bare-"))
        self._listening: dict[str, socket.socket] = {}
        numbers = self._descriptors(pattern)
        state = os.open(pattern.template / "state", os.O_RDONLY)
        argv = [
            _NUMBER.sub(lambda found: found[1] + str(numbers.get(found[2], found[2])), word)
            for word in pattern.argv
        ]
        # SAFETY: the arguments are those of a machine the hub has started.
        self._process = subprocess.Popen(argv, pass_fds=(state, *numbers.values()), stdin=subprocess.DEVNULL)
        self._monitor = socket.socket(socket.AF_UNIX)
        self._monitor.connect(str(self._folder / "qmp"))
        self._answers = self._monitor.makefile("rb")
        self._answers.readline()
        self._execute("qmp_capabilities")
        self._execute(
            "migrate-set-capabilities", capabilities=[{"capability": "x-ignore-shared", "state": True}]
        )
        self._execute("migrate-incoming", uri=state_uri(parse_version(pattern.version), state))
        while json.loads(self._answers.readline()).get("event") != "RESUME":
            pass
        self.link = BlockingLink(window=256 << 10)
        self.link.connect(self._folder / "agent")
        self.link.become()
        for number in (state, *numbers.values()):
            os.close(number)

    @property
    def pid(self) -> int:
        """QEMU's process."""
        return self._process.pid

    def _descriptors(self, pattern: Pattern) -> dict[str, int]:
        """Our descriptor for each of the pattern's: fresh sockets and disk, the very same for the rest."""
        numbers: dict[str, int] = {}
        for name, number in pattern.sockets.items():
            listening = self._listening[name] = socket.socket(socket.AF_UNIX)
            listening.bind(str(self._folder / name))
            listening.listen(1)
            numbers[number] = listening.detach()
        layers = (
            create_overlay(self._folder / "disk", FLAVORS["small"].disk_gib << 30),
            os.open(pattern.template / "disk.qcow2", os.O_RDONLY),
            os.open(pattern.rootfs, os.O_RDONLY),
        )
        numbers |= dict(zip(pattern.disks, layers, strict=True))
        for word in pattern.argv:
            for _, number in _NUMBER.findall(word):
                if number not in numbers:
                    # The sealed memory, and what stands for the kernel.
                    numbers[number] = os.open(f"/proc/{pattern.pid}/fd/{number}", os.O_RDONLY)
        return numbers

    def _execute(self, command: str, **arguments: Any) -> None:
        self._monitor.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while True:
            answer = json.loads(self._answers.readline())
            if "error" in answer:
                raise RuntimeError(answer["error"])
            if "return" in answer:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.link.drop()
        self._monitor.close()
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder)
