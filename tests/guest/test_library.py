"""The callback library in its places."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from cloche_guest import library
from cloche_hub.images.agent_bundle import bundle_agent


def states(root: Path) -> dict[str, tuple[int, int]]:
    """Identity and mode of each file below a root."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): (path.stat().st_ino, path.stat().st_mode & 0o777) for path in files}


def test_modules_and_commands_go_where_programs_look(tmp_path: Path) -> None:
    library.install(str(tmp_path))

    tag = sys.implementation.cache_tag
    modes = {path: mode for path, (_, mode) in states(tmp_path).items() if "__pycache__" not in path}
    assert modes == {
        "usr/lib/python3/dist-packages/cloche_callback.py": 0o644,
        "usr/lib/python3/dist-packages/cbox_callback.py": 0o644,
        "usr/local/bin/cloche-callback": 0o755,
        "usr/local/bin/cbox_callback": 0o755,
    }
    assert (tmp_path / f"usr/lib/python3/dist-packages/__pycache__/cloche_callback.{tag}.pyc").exists()


def test_commands_run_isolated_and_call_what_is_there(tmp_path: Path) -> None:
    library.install(str(tmp_path))

    modules = tmp_path / library.MODULES_FOLDER
    for command, module in library.COMMANDS.items():
        text = (tmp_path / library.COMMANDS_FOLDER / command).read_text()
        assert text.startswith("#!/usr/bin/python3 -I\n")
        program = f"import sys\nsys.path.append({str(modules)!r})\nsys.argv = ['x']\n{text}"
        # SAFETY: the program is this project's own.
        done = subprocess.run(
            [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, module
        assert done.stderr.startswith(f"usage: {command}")


def test_what_is_there_already_stays_as_it_is(tmp_path: Path) -> None:
    library.install(str(tmp_path))
    before = states(tmp_path)
    library.install(str(tmp_path))
    assert states(tmp_path) == before


def test_what_was_there_and_is_another_is_replaced(tmp_path: Path) -> None:
    command = tmp_path / "usr/local/bin/cloche-callback"
    command.parent.mkdir(parents=True)
    command.write_text("an older one")
    command.chmod(0o600)

    library.install(str(tmp_path))

    assert "cloche_callback.main()" in command.read_text()
    assert os.access(command, os.X_OK)


def test_the_agent_s_bundle_installs_it_too(tmp_path: Path) -> None:
    bundle, root = tmp_path / "agent.pyz", tmp_path / "root"
    bundle.write_bytes(bundle_agent().data)

    program = f"import sys; sys.path.insert(0, {str(bundle)!r})\nfrom cloche_guest import library\nlibrary.install({str(root)!r})\nprint(library.__file__)"
    # SAFETY: the program is this test's own. -S: nothing that is installed here is found.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )

    assert "agent.pyz" in done.stdout
    for name, content in library.read_modules():
        assert (root / library.MODULES_FOLDER / f"{name}.py").read_bytes() == content
