"""`cloche cp`: files and folders into a sandbox, and out of it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloche.cli.complete import complete_places
from cloche.cli.failures import INCOMPLETE
from cloche.cli.output import say, show_json
from cloche.cli.places import Place, Request, destination, parse_request
from cloche.errors import NotFound, WrongState

if TYPE_CHECKING:
    from cloche.aio import Files, Hub
    from cloche.cli.session import Interrupts
    from cloche.transfer import Copied, OnProgress

_MOST_NOTICES = 20
_MANY = "there is no such folder, which is what several files can be copied into"


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("cp")(cp)


def cp(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="SRC... DST",
            help="One side is SANDBOX:PATH, the other a path of this host; - is standard input or output.",
            autocompletion=complete_places,
            show_default=False,
        ),
    ],
    user: Annotated[
        str | None,
        typer.Option(
            "--user", "-u", metavar="USER", help="Whose files; an unprivileged user's if not given."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    _recursive: Annotated[bool, typer.Option("--recursive", "-r", "-R", hidden=True)] = False,
    json: Annotated[bool, typer.Option("--json", help="Answer in JSON what was copied.")] = False,
) -> int:
    """Copy files and folders into a sandbox or out of it.

    As `cp -r` does it: into a folder that is there, else under the name given; DIR/. is what is in DIR. A path in a
    sandbox begins at the user's home unless it begins with a slash. The first error ends the copy, and no file is ever
    half-written. Permissions are kept; what could harm this host (links that lead out, devices) is left out: then the
    exit status is 1.

    \b
    Examples:
      cloche cp program.py data box:
      cloche cp box:/var/log/. logs
      cloche cp --user root hosts box:/etc/hosts
      tar c src | cloche cp - box:src.tar
      cloche cp box:result.json - | jq .
    """
    from cloche.cli.session import with_hub

    request = parse_request(places)
    if json and request.target.is_stdio:
        raise typer.BadParameter("with - as target, standard output is the file's; leave --json out")

    async def work(hub: Hub, _interrupts: Interrupts) -> int:
        from cloche.cli.progress import shown_copy

        with shown_copy(quiet=quiet) as on_progress:
            copied = await _Copy(hub, request, user, on_progress).carry_out()
        for skipped in copied.skipped[:_MOST_NOTICES]:
            say(f"left out {skipped.path}: {skipped.reason}")
        if (more := len(copied.skipped) - _MOST_NOTICES) > 0:
            say(f"left out {more} more")
        if json:
            show_json(copied)
        return INCOMPLETE if copied.skipped else 0

    return with_hub(work)


class _Copy:
    """One request."""

    def __init__(self, hub: Hub, request: Request, user: str | None, on_progress: OnProgress | None) -> None:
        self._hub, self._request, self._user, self._on_progress = hub, request, user, on_progress
        self._found: dict[str, Files] = {}

    async def carry_out(self) -> Copied:
        """Copies all of it, one source after another.

        Raises:
            OSError: something here cannot be read or written.
            CodedError: something in a sandbox cannot.
        """
        from cloche.transfer import Copied, Skipped

        sources, target = self._request.sources, self._request.target
        is_folder = not target.is_stdio and await self._is_folder(target)
        if len(sources) > 1 and not is_folder:
            raise WrongState(f"{target}: {_MANY}")
        done = [await self._copy(source, target, is_folder=is_folder) for source in sources]
        return Copied(
            sum(one.files for one in done),
            sum(one.bytes for one in done),
            sum(one.duration_s for one in done),
            tuple(
                Skipped(f"{str(source).removesuffix('/')}/{skipped.path}", skipped.reason)
                for source, one in zip(sources, done, strict=True)
                for skipped in one.skipped
            ),
        )

    async def _copy(self, source: Place, target: Place, *, is_folder: bool) -> Copied:
        if target.is_stdio:
            return await self._print(source)
        if target.wants_folder and not is_folder and not await self._is_folder(source):
            raise WrongState(f"{target}: there is no such folder")
        if source.is_stdio and is_folder:
            raise WrongState(f"{target} is a folder; give a file name behind {target}/")
        to = destination(source, target, is_folder=is_folder)
        if not self._request.is_upload:
            files = await self._files(source)
            return await files.download(source.path, to, user=self._user, on_progress=self._on_progress)
        files = await self._files(target)
        if source.is_stdio or _is_fifo(source):
            return await self._pour(source, files, to)
        if source.wants_folder and not _is_local_folder(source):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), source.path)
        return await files.upload(source.path, to, user=self._user, on_progress=self._on_progress)

    async def _files(self, place: Place) -> Files:
        assert place.sandbox is not None
        if place.sandbox not in self._found:
            self._found[place.sandbox] = (await self._hub.sandbox(place.sandbox)).files
        return self._found[place.sandbox]

    async def _is_folder(self, place: Place) -> bool:
        if place.sandbox is None:
            return _is_local_folder(place)
        try:
            return (await (await self._files(place)).stat(place.path, user=self._user)).kind == "dir"
        except NotFound:
            # The sandbox itself may be what is not there; then this says so.
            await self._files(place)
            return False

    async def _pour(self, source: Place, files: Files, to: str) -> Copied:
        """Writes what comes through standard input or a pipe."""
        from cloche.cli.streams import STDIN, Worker, read
        from cloche.transfer import Copied, Tally

        tally = Tally(0, self._on_progress)
        # A thread of its own: opening and reading a pipe may wait for ever.
        worker = Worker("input")

        async def pieces() -> AsyncIterator[bytes]:
            descriptor = STDIN
            if not source.is_stdio:
                descriptor = await worker.do(lambda: os.open(source.path, os.O_RDONLY | os.O_CLOEXEC))
            while piece := await worker.do(partial(read, descriptor)):
                tally.moved(len(piece), str(source))
                yield piece
            tally.copied(str(source))

        await files.write(to, pieces(), user=self._user)
        return Copied(tally.files, tally.bytes, tally.duration_s, ())

    async def _print(self, source: Place) -> Copied:
        """Writes a file to standard output."""
        from cloche.cli.streams import STDOUT, Worker, write_all
        from cloche.transfer import Copied, Tally

        files = await self._files(source)
        tally, worker = Tally(0, self._on_progress), Worker("stdout")
        async for piece in files.stream(source.path, user=self._user):
            await worker.do(partial(write_all, STDOUT, piece))
            tally.moved(len(piece), str(source))
        tally.copied(str(source))
        return Copied(tally.files, tally.bytes, tally.duration_s, ())


def _is_local_folder(place: Place) -> bool:
    return Path(place.path).is_dir()


def _is_fifo(place: Place) -> bool:
    """Whether it is a pipe with a name, as a shell makes for `<(command)`."""
    try:
        return stat.S_ISFIFO(Path(place.path).stat().st_mode)
    except OSError:
        return False  # what is wrong with it shows when it is copied
