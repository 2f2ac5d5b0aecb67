"""The files of a sandbox: read, written, looked at, changed, and copied from and to this host.

Rules:
- A path is absolute, or begins at the home of the user it is asked for: the unprivileged one, unless `user` says whom.
- A file is written as a whole or not at all.
- What is read and written is hashed here, and compared with what the hub saw pass.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloche.aio import copying
from cloche.aio.content import Content, pieces_of
from cloche.aio.file_streams import Digest, Push, asked, pull
from cloche.answers import Answer
from cloche.errors import Cancelled, TooLarge
from cloche.file_messages import FileEntry
from cloche.together import together
from cloche.transfer import MAX_ENTRIES, Copied, OnProgress, Plan

if TYPE_CHECKING:
    from cloche.link import Link

MAX_READ_BYTES = 64 << 20
MAX_LISTED = 100_000


class Files:
    """The files of a sandbox. `sandbox.files` is one.

    Paths are absolute, or begin at the home of `user`: a name or a number, the unprivileged user if not given. What the
    machine refuses is raised as NotFound, Forbidden, Conflict (it is there already), WrongState (it is of another
    kind), NoSpace, TooLarge or BadRequest; each message names the path.
    """

    def __init__(self, link: Link, sandbox: str) -> None:
        self._link, self._sandbox = link, sandbox

    # Content.

    async def read(
        self,
        path: str,
        *,
        offset: int = 0,
        length: int | None = None,
        user: str | None = None,
        max_bytes: int = MAX_READ_BYTES,
    ) -> bytes:
        """A file's content, or a part of it.

        Args:
            path: the file's.
            offset: bytes to leave out at the beginning.
            length: bytes to read from there; to its end if not given.
            user: who reads it.
            max_bytes: the most there may be.

        Raises:
            TooLarge: there is more than `max_bytes`: what is in a sandbox must not fill this program's memory.
            CodedError: it cannot be read.
        """
        content = bytearray()
        async with aclosing(self.stream(path, offset=offset, length=length, user=user)) as pieces:
            async for piece in pieces:
                if len(content) + len(piece) > max_bytes:
                    raise TooLarge(f"{path}: it has more than {max_bytes} bytes; read it in pieces")
                content += piece
        return bytes(content)

    async def read_text(
        self,
        path: str,
        *,
        encoding: str = "utf-8",
        errors: str = "strict",
        user: str | None = None,
        max_bytes: int = MAX_READ_BYTES,
    ) -> str:
        """A file's content as text.

        Args:
            path, user, max_bytes: as `read` has them.
            encoding, errors: as `bytes.decode` has them.

        Raises:
            UnicodeDecodeError: it is none.
            TooLarge, CodedError: as `read`.
        """
        return (await self.read(path, user=user, max_bytes=max_bytes)).decode(encoding, errors)

    async def stream(
        self, path: str, *, offset: int = 0, length: int | None = None, user: str | None = None
    ) -> AsyncGenerator[bytes, None]:
        """A file's content piece by piece, as fast as the pieces are taken. Leaving the loop early gives up the rest.

        Only who takes all of it learns that it is what the hub sent.

        Args:
            path, offset, length, user: as `read` has them.

        Raises:
            CodedError: it cannot be read, or the rest was lost.
        """
        digest = Digest()
        async with pull(self._link, self._asked(path, user, offset=offset, length=length)) as source:
            while piece := await source.read():
                await digest.add(piece)
                yield piece
            source.check(await source.end(), digest.sha256)

    async def write(
        self,
        path: str,
        data: Content,
        *,
        mode: int | None = None,
        exclusive: bool = False,
        parents: bool = False,
        user: str | None = None,
    ) -> FileEntry:
        """Writes a file: all of it, or, if anything goes wrong or this is cancelled, nothing.

        Args:
            path: the file's; what it had is replaced.
            data: text, bytes, a file opened for reading bytes, or pieces, also asynchronous ones.
            mode: its permission bits, such as 0o755; those it has, or the usual ones, if not given.
            exclusive: whether there must be nothing.
            parents: whether missing folders above it are made.
            user: who writes it.

        Returns:
            What is there now.

        Raises:
            Conflict: something is there, and it is `exclusive`.
            CodedError: it cannot be written.
        """
        asked_ = self._asked(path, user, mode=mode, exclusive=exclusive, parents=parents)
        async with Push(self._link, asked_) as sink:
            entry, _ = await together(_fill(sink, data), sink.watch())
        assert entry is not None
        return entry

    # Folders and what is in them.

    async def stat(self, path: str, *, follow: bool = True, user: str | None = None) -> FileEntry:
        """What is at a path.

        Args:
            path: absolute, or below the user's home.
            follow: whether a link stands for what it leads to.
            user: who looks.

        Raises:
            NotFound: there is nothing.
            CodedError: it cannot be seen.
        """
        return await self._entry("file.stat", path, user, follow=follow)

    async def list(
        self, path: str = ".", *, user: str | None = None, max_entries: int = MAX_LISTED
    ) -> builtins.list[FileEntry]:
        """What a folder holds, by name. Links are listed, not followed.

        Args:
            path: the folder's; the user's home if not given.
            user: who looks.
            max_entries: the most there may be.

        Raises:
            TooLarge: it holds more than `max_entries`; `scan` gives them one by one.
            CodedError: it cannot be listed.
        """
        found: builtins.list[FileEntry] = []
        async with aclosing(self.scan(path, user=user)) as entries:
            async for entry in entries:
                if len(found) >= max_entries:
                    raise TooLarge(
                        f"{path}: it holds more than {max_entries} files; go through them with `scan`"
                    )
                found.append(entry)
        return sorted(found, key=lambda entry: entry.name)

    async def scan(self, path: str = ".", *, user: str | None = None) -> AsyncGenerator[FileEntry, None]:
        """What a folder holds, one by one in no order, however much it is. Leaving the loop early ends it.

        Args:
            path, user: as `list` has them.

        Raises:
            CodedError: it cannot be listed.
        """
        channel = self._link.open("file.list", self._asked(path, user))
        try:
            await channel.wait_accepted()
            async for message in channel.messages():
                for entry in Answer("listing", message).each("entries", FileEntry.parse):
                    yield entry
            await channel.result()
        finally:
            # Does nothing to one that has ended.
            channel.reset(Cancelled("the caller has left the folder"))

    async def make_dir(
        self, path: str, *, mode: int | None = None, parents: bool = False, user: str | None = None
    ) -> FileEntry:
        """Makes a folder.

        Args:
            path: the folder's.
            mode: its permission bits.
            parents: whether missing folders above it are made, and one that is there already is no error.
            user: whose it is.

        Raises:
            Conflict: something is there.
            CodedError: it cannot be made.
        """
        return await self._entry("file.make_dir", path, user, mode=mode, parents=parents)

    async def remove(self, path: str, *, recursive: bool = False, user: str | None = None) -> int:
        """Removes a file, a link or a folder; returns how many files and folders that were.

        Args:
            path: what to remove; a link is removed itself.
            recursive: whether a folder may hold anything; all of it is removed. Cancelling leaves the rest.
            user: who removes it.

        Raises:
            WrongState: the folder is not empty.
            CodedError: it cannot be removed.
        """
        result = await self._link.call("file.remove", self._asked(path, user, recursive=recursive))
        return Answer("removal", result).whole("removed")

    async def rename(
        self, path: str, to: str, *, replace: bool = False, user: str | None = None
    ) -> FileEntry:
        """Gives a file, a link or a folder another path on the same file system.

        Args:
            path: what it is called now.
            to: what it is to be called.
            replace: whether it replaces what is there.
            user: who renames it.

        Raises:
            Conflict: something is there, and it is not to be replaced.
            CodedError: it cannot be renamed.
        """
        return await self._entry("file.rename", path, user, to=to, replace=replace)

    async def chmod(self, path: str, mode: int, *, user: str | None = None) -> FileEntry:
        """Sets permission bits.

        Args:
            path: of a file or folder; a link stands for what it leads to.
            mode: such as 0o755.
            user: who sets them.

        Raises:
            CodedError: they cannot be set.
        """
        return await self._entry("file.set_mode", path, user, mode=mode)

    async def link(self, path: str, target: str, *, user: str | None = None) -> FileEntry:
        """Gives a file another name (a hard link).

        Args:
            path: the other name.
            target: the file.
            user: who makes it.

        Raises:
            Conflict: something is there.
            CodedError: it cannot be made.
        """
        return await self._entry("file.link", path, user, target=target, symbolic=False)

    async def symlink(self, path: str, target: str, *, user: str | None = None) -> FileEntry:
        """Makes a symbolic link.

        Args:
            path: the link's.
            target: what it says; a relative one begins at the folder the link is in.
            user: whose it is.

        Raises:
            Conflict: something is there.
            CodedError: it cannot be made.
        """
        return await self._entry("file.link", path, user, target=target, symbolic=True)

    # Copies.

    async def upload(
        self,
        local: str | os.PathLike[str],
        remote: str,
        *,
        user: str | None = None,
        on_progress: OnProgress | None = None,
        max_entries: int = MAX_ENTRIES,
    ) -> Copied:
        """Copies a file, or a folder with all in it, from this host to exactly that path.

        Folders that are there are filled, files replaced. Permission bits are kept, without set-uid, set-gid and
        sticky; links in a folder are made as they are, never followed; what is no file, folder or link is left out. The
        first error ends it: what is complete stays, nothing is half-written.

        Args:
            local: what to copy; a link that is named here itself is followed.
            remote: what it is to be called in the sandbox.
            user: whose it is there.
            on_progress: told bytes copied, bytes in all, and the current path; must not block.
            max_entries: more files than these are too many.

        Raises:
            OSError: something here cannot be read.
            CodedError: something cannot be written there.
        """
        place = copying.Remote(self._link, self._sandbox, remote, user)
        return await copying.upload(self, Path(local), place, Plan(max_entries), on_progress)

    async def download(
        self,
        remote: str,
        local: str | os.PathLike[str],
        *,
        user: str | None = None,
        on_progress: OnProgress | None = None,
        max_entries: int = MAX_ENTRIES,
    ) -> Copied:
        """Copies a file, or a folder with all in it, from the sandbox to exactly that path on this host.

        Folders that are there are filled, files replaced. Times are kept, and permission bits less the umask, without
        set-uid, set-gid and sticky. Nothing is made outside of `local`, whatever the sandbox holds: links are made only
        if they cannot lead out of it, and those here are never followed. What is left out is in the answer. The first
        error ends it: what is complete stays, nothing is half-written.

        Args:
            remote: what to copy; a link that is named here itself is followed.
            local: what it is to be called here.
            user: who reads it.
            on_progress: told bytes copied, bytes in all, and the current path; must not block.
            max_entries: more files than these are too many.

        Raises:
            OSError: something cannot be written here.
            TooLarge: it has too many files, is too deep, or a file has more than it said.
            CodedError: something cannot be read there.
        """
        place = copying.Remote(self._link, self._sandbox, remote, user)
        return await copying.download(self, place, Path(local), Plan(max_entries), on_progress)

    def _asked(self, path: str, user: str | None, **more: Any) -> dict[str, Any]:
        return asked(self._sandbox, path, user, **more)

    async def _entry(self, kind: str, path: str, user: str | None, **more: Any) -> FileEntry:
        return FileEntry.parse(await self._link.call(kind, self._asked(path, user, **more)))


async def _fill(sink: Push, data: Content) -> FileEntry | None:
    digest = Digest()
    async for piece in pieces_of(data):
        await digest.add(piece)
        await sink.write(piece)
    return await sink.finish(digest.sha256)
