"""Files of this host and of sandboxes, as they are looked at and changed. Copies are `transfers`'.

Rules:
- This host's disk is touched in threads only; nothing of it is removed here.
- SAFETY: what a guest says of its files is bounded in number and time, and `file_panes` says which names can be used.
- Whatever goes wrong is a CodedError with a line for a person.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import stat
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TypeVar

from cloche.aio import Files, Hub
from cloche.errors import BadRequest, CodedError, Conflict, Forbidden, NotFound, TimedOut, WrongState
from cloche.printable import printable
from cloche.threads import in_thread
from cloche.transfer import check_name
from cloche_tui.model.file_panes import MOST_LISTED, FileRow, Listing, row_of_entry
from cloche_wire.aio.bounds import within

T = TypeVar("T")

PATIENCE_S = 30.0
"""How long a sandbox may take to tell what is in a folder."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link"}
_CODES: dict[type[OSError], type[CodedError]] = {
    FileNotFoundError: NotFound,
    PermissionError: Forbidden,
    FileExistsError: Conflict,
    NotADirectoryError: WrongState,
}


async def files_of(hub: Hub, sandbox: str) -> Files:
    """The files of a sandbox.

    Raises:
        CodedError: there is no such sandbox.
    """
    return (await hub.sandbox(sandbox)).files


# This host.


async def list_here(path: str, *, most: int = MOST_LISTED) -> Listing:
    """What a folder of this host holds.

    Args:
        path: the folder's; `~` stands for a home, and a relative one begins where the dashboard was started.
        most: more files than these are not told.

    Raises:
        CodedError: it cannot be listed.
    """
    return await _here(lambda: _listed(path, most))


async def make_folder_here(path: str) -> None:
    """Makes a folder on this host; raises CodedError."""
    await _here(lambda: os.mkdir(path))  # noqa: PTH102 - a Path would take a `..` out of it


async def there_already_here(folder: str, names: Collection[str]) -> frozenset[str]:
    """Which of these names are taken in a folder of this host; raises CodedError."""
    return await _here(lambda: frozenset(name for name in names if os.path.lexists(f"{folder}/{name}")))


async def _here(work: Callable[[], T]) -> T:
    try:
        return await in_thread(work)
    except OSError as error:
        raise coded(error) from None


def coded(error: OSError) -> CodedError:
    """What the system says, with the path, as an error like those of a sandbox."""
    kind = next((code for cause, code in _CODES.items() if isinstance(error, cause)), BadRequest)
    path = printable(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else ""
    return kind(f"{path}: {error.strerror}" if path else str(error.strerror or error))


def _listed(path: str, most: int) -> Listing:
    folder = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 - as text, with whatever bytes it has
    rows: list[FileRow] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(rows) >= most:
                return Listing(folder, rows, is_cut=True)
            rows.append(_row_here(entry))
    return Listing(folder, rows)


def _row_here(entry: os.DirEntry[str]) -> FileRow:
    refusal = ""
    try:
        entry.name.encode()
    except UnicodeEncodeError:
        refusal = "its name is not UTF-8"
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return FileRow(entry.name, "other", refusal=refusal or "it cannot be looked at")
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
    target, leads_to_folder = None, False
    if kind == "link":
        with contextlib.suppress(OSError):
            target = os.readlink(entry.path)  # noqa: PTH115 - a Path would not keep every letter of it
            leads_to_folder = entry.is_dir()
    return FileRow(
        entry.name,
        kind,
        status.st_size if kind == "file" else 0,
        status.st_mode & 0o7777,
        _moment(status.st_mtime),
        target,
        leads_to_folder,
        refusal,
    )


def _moment(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return _EPOCH


# A sandbox.


async def list_there(files: Files, path: str, *, most: int = MOST_LISTED) -> Listing:
    """What a folder of a sandbox holds.

    Args:
        files: the sandbox's.
        path: the folder's; a relative one begins at the user's home.
        most: more files than these are not told.

    Raises:
        CodedError: it cannot be listed, or takes too long.
    """
    async with _patience(path):
        entry = await files.stat(path)
        if entry.kind != "dir":
            raise WrongState(f"{printable(path)}: it is no folder")
        # The way one has come is kept: behind a link, up leads back to where the link is.
        folder = posixpath.normpath(path if path.startswith("/") else entry.path)
        rows: list[FileRow] = []
        async with aclosing(files.scan(folder)) as entries:
            async for one in entries:
                if len(rows) >= most:
                    # SAFETY: a guest may tell files without end.
                    return Listing(folder, rows, is_cut=True)
                rows.append(row_of_entry(one))
    return Listing(folder, rows)


async def there_already(files: Files, folder: str, names: Collection[str]) -> frozenset[str]:
    """Which of these names are taken in a folder of a sandbox.

    Raises:
        CodedError: it cannot be listed, or takes too long.
    """
    wanted, found = frozenset(names), set[str]()
    async with _patience(folder), aclosing(files.scan(folder)) as entries:
        async for entry in entries:
            if entry.name in wanted and not entry.unusable:
                found.add(entry.name)
                if len(found) == len(wanted):
                    break
    return frozenset(found)


async def remove_there(files: Files, paths: Collection[str], tell: Callable[[str, str], object]) -> int:
    """Removes files of a sandbox, folders with all that is in them. Cancelling leaves the rest.

    Args:
        files: the sandbox's.
        paths: what to remove; links are removed themselves.
        tell: told a path and why it could not be removed; the others are removed even so.

    Returns:
        How many of the paths are gone.
    """
    gone = 0
    for path in paths:
        try:
            await files.remove(path, recursive=True)
        except CodedError as error:
            tell(path, error.message)
        else:
            gone += 1
    return gone


@contextlib.asynccontextmanager
async def _patience(path: str) -> AsyncIterator[None]:
    try:
        async with within(PATIENCE_S):
            yield
    except TimeoutError:
        raise TimedOut(f"{printable(path)}: the sandbox takes too long to tell what is in it") from None


def folder_name(text: str) -> str:
    """What a person types for a new folder, if it is one name.

    Raises:
        BadRequest: it is none.
    """
    try:
        return check_name(text.strip())
    except CodedError:
        raise BadRequest(f"{printable(text)!r} is no folder's name; give one name, without a slash") from None
