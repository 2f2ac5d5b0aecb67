"""A text in the user's own editor."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cloche.errors import BadRequest

if TYPE_CHECKING:
    from cloche.cli.session import Interrupts


async def edit_text(text: str, interrupts: Interrupts, *, suffix: str) -> tuple[str, Path]:
    """Has the user change a text; returns what it is then, and the file it is in, which is the caller's to remove.

    The loop goes on meanwhile, so that the connection stays. Ctrl-C is the editor's.

    Args:
        text: to begin with.
        interrupts: the command's.
        suffix: of the file, from which the editor knows what it is.

    Raises:
        BadRequest: there is no terminal or no editor, or it failed.
    """
    if not (os.isatty(0) and os.isatty(1)):
        raise BadRequest(
            "an editor needs a terminal for its input and output; give the parameters with --params"
        )
    path = _written(text, suffix)
    try:
        return await edit_again(path, interrupts), path
    except BaseException:
        _remove(path)
        raise


async def edit_again(path: Path, interrupts: Interrupts) -> str:
    """Has the user change what is in a file; returns what it is then. The file stays, whatever happens.

    Raises:
        BadRequest: there is no editor, or it failed.
    """
    words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    # SAFETY: the command is the user's own; what a guest wrote is in the file, and its name is ours.
    with interrupts.forwarding(lambda _signal: None):
        await _run([*words, str(path)])
    return _read(path)


async def _run(words: list[str]) -> None:
    import asyncio

    try:
        process = await asyncio.create_subprocess_exec(*words)
    except OSError as error:
        raise BadRequest(
            f"cannot run the editor {words[0]!r} ({error.strerror}); set EDITOR to one"
        ) from None
    status = await process.wait()
    if status != 0:
        raise BadRequest(f"the editor {words[0]!r} ended with exit status {status}; nothing was done")


def _written(text: str, suffix: str) -> Path:
    # SAFETY: for this user's eyes only, under a name nobody could have put there before.
    descriptor, name = tempfile.mkstemp(prefix="cloche-", suffix=suffix)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
    return Path(name)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadRequest("what the editor wrote is no text in UTF-8; nothing was done") from None


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
