"""Puts the callback library and its commands where the machine's programs find them.

The files travel with the agent, as one more package of its bundle; so a changed library is a changed agent, and makes
a new initrd and a new template, but no new root file system. What is put in place is in the template's own disk.

Rule: what has the same content stays as it is.
Rule: byte code is made here, once: an ordinary user of the machine could not keep what it compiled.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import cloche_guest

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULES_FOLDER = "usr/lib/python3/dist-packages"
"""Where Debian's own Python looks, isolated (`-I`) or not, whatever its version."""
COMMANDS_FOLDER = "usr/local/bin"
COMMANDS = {"cloche-callback": "cloche_callback", "cbox_callback": "cbox_callback"}
"""Command → the module whose `main` it runs."""

_PACKAGE = "cloche_guest_library"
# Isolated: what lies in the folder where it is called, or in the user's home, has no say in it.
_COMMAND = "#!/usr/bin/python3 -I\nimport {module}\n\n{module}.main()\n"


def install(root: str = "/") -> None:
    """Writes the library and its commands below a root.

    Raises:
        OSError: a part of it cannot be written.
    """
    modules = os.path.join(root, MODULES_FOLDER)
    for name, content in read_modules():
        path = os.path.join(modules, f"{name}.py")
        if _write(path, content, 0o644):
            _compile(path)
    for command, module in COMMANDS.items():
        _write(os.path.join(root, COMMANDS_FOLDER, command), _COMMAND.format(module=module).encode(), 0o755)


def read_modules() -> Iterator[tuple[str, bytes]]:
    """Name and source of each module, from the bundle or the folder that this agent runs from."""
    package = os.path.dirname(cloche_guest.__file__)
    folder = os.path.join(os.path.dirname(package), _PACKAGE)
    # `get_data` is what both loaders have: the one of a zip and the one of a folder.
    loader: Any = cloche_guest.__loader__
    for module in COMMANDS.values():
        yield module, loader.get_data(os.path.join(folder, f"{module}.py"))


def _write(path: str, content: bytes, mode: int) -> bool:
    """Writes a file in one step; returns whether it was not there like this already."""
    try:
        with open(path, "rb") as file:
            if file.read() == content and os.fstat(file.fileno()).st_mode & 0o777 == mode:
                return False
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    # SAFETY: a link in a recipe's root file system would lead elsewhere in this same machine, no further; nobody
    # but the agent runs yet.
    beside = f"{path}.cloche"
    with open(beside, "wb") as file:
        file.write(content)
    os.chmod(beside, mode)
    os.rename(beside, path)
    return True


def _compile(path: str) -> None:
    import py_compile  # in a child's memory only

    # Byte code is a convenience: a source that this Python cannot compile says so to whoever imports it.
    py_compile.compile(path, quiet=2)
