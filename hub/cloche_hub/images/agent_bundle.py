"""The agent as one file: a zip of its sources that Python runs, and the hash it is known by.

The library that the machine's programs import travels in it as one more package; the agent puts it where they look.

Reproducible: the same sources give the same bytes on every host.
Rule: members are stored, not deflated: the guest imports them without zlib, and the initrd is small anyway.
Rule: sources only: byte code belongs to one Python version, and the guest's need not be the host's. It is
compiled once, before the template is saved.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

from cloche_hub.errors import HubError

_MAIN = """import runpy

runpy.run_module("cloche_guest", run_name="__main__", alter_sys=True)
"""
# What only hub and clients use; leaving it out keeps the guest's part small and its hash steady.
_NOT_FOR_THE_GUEST = frozenset({"cloche_wire/aio", "cloche_wire/rendezvous.py"})
# The earliest time a zip can hold.
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class AgentBundle:
    """The agent as one file."""

    data: bytes
    sha256: str
    """Hex."""


def bundle_agent(packages: dict[str, Path] | None = None) -> AgentBundle:
    """Packs the agent.

    Args:
        packages: folder of each package by its name; by default those this program runs from.
    """
    members = {"__main__.py": _MAIN.encode()}
    for name, folder in (_installed_packages() if packages is None else packages).items():
        for file in sorted(folder.rglob("*.py")):
            path = f"{name}/{file.relative_to(folder).as_posix()}"
            if not _is_left_out(path):
                members[path] = file.read_bytes()
    data = _zip(members)
    return AgentBundle(data, hashlib.sha256(data).hexdigest())


def _is_left_out(path: str) -> bool:
    return any(
        path == left or path == f"{left}.py" or path.startswith(f"{left}/") for left in _NOT_FOR_THE_GUEST
    )


def _zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3  # Unix, on every host
            info.external_attr = 0o100644 << 16
            archive.writestr(info, members[name])
    return buffer.getvalue()


def _installed_packages() -> dict[str, Path]:
    return {name: _folder_of(name) for name in ("cloche_guest", "cloche_guest_library", "cloche_wire")}


def _folder_of(package: str) -> Path:
    # Found, not imported: the hub may not run the agent's code.
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise HubError(f"the package {package} is not installed beside the hub")
    return Path(next(iter(spec.submodule_search_locations)))
