"""The agent as one file."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from cloche_hub.images.agent_bundle import bundle_agent


def _packages(root: Path, main: str = "print('agent')\n") -> dict[str, Path]:
    files = {
        "guest/cloche_guest/__init__.py": "",
        "guest/cloche_guest/__main__.py": main,
        "guest/cloche_guest/__pycache__/x.pyc": "x",
        "wire/cloche_wire/__init__.py": "",
        "wire/cloche_wire/frames.py": "NAME = 'frames'\n",
        "wire/cloche_wire/rendezvous.py": "",
        "wire/cloche_wire/aio/__init__.py": "",
        "wire/cloche_wire/aio/peer.py": "",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {"cloche_guest": root / "guest/cloche_guest", "cloche_wire": root / "wire/cloche_wire"}


def test_it_holds_the_agent_and_what_of_the_wire_it_needs(tmp_path: Path) -> None:
    bundle = bundle_agent(_packages(tmp_path))

    assert zipfile.ZipFile(io.BytesIO(bundle.data)).namelist() == [
        "__main__.py",
        "cloche_guest/__init__.py",
        "cloche_guest/__main__.py",
        "cloche_wire/__init__.py",
        "cloche_wire/frames.py",
    ]


def test_its_hash_is_that_of_its_bytes(tmp_path: Path) -> None:
    bundle = bundle_agent(_packages(tmp_path))

    assert bundle.sha256 == hashlib.sha256(bundle.data).hexdigest()


def test_the_same_sources_give_the_same_bytes_wherever_and_whenever(tmp_path: Path) -> None:
    one, two = _packages(tmp_path / "one"), _packages(tmp_path / "two")
    for path in (tmp_path / "two").rglob("*.py"):
        path.chmod(0o600)
        os.utime(path, (1, 1))

    assert bundle_agent(one) == bundle_agent(two)


def test_its_members_carry_no_time_and_are_not_compressed(tmp_path: Path) -> None:
    members = zipfile.ZipFile(io.BytesIO(bundle_agent(_packages(tmp_path)).data)).infolist()

    assert {(member.date_time, member.compress_type) for member in members} == {
        ((1980, 1, 1, 0, 0, 0), zipfile.ZIP_STORED)
    }


def test_a_changed_source_changes_the_hash(tmp_path: Path) -> None:
    one, two = _packages(tmp_path / "one"), _packages(tmp_path / "two", main="print('other')\n")

    assert bundle_agent(one).sha256 != bundle_agent(two).sha256


def test_python_runs_it_without_anything_installed(tmp_path: Path) -> None:
    main = "from cloche_wire.frames import NAME\nprint(__name__, NAME)\n"
    bundle = tmp_path / "agent.pyz"
    bundle.write_bytes(bundle_agent(_packages(tmp_path, main)).data)

    done = subprocess.run([sys.executable, "-I", bundle], capture_output=True, text=True, check=True)

    assert done.stdout == "__main__ frames\n"


def test_by_default_it_is_the_agent_installed_beside_the_hub() -> None:
    names = zipfile.ZipFile(io.BytesIO(bundle_agent().data)).namelist()

    assert "cloche_wire/errors.py" in names
    assert "cloche_guest/__init__.py" in names
    assert "cloche_guest_library/cloche_callback.py" in names
    assert not [name for name in names if name.startswith("cloche_wire/aio")]
