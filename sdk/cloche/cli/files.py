"""`cloche files ls | cat | rm | mkdir | stat`: the files of a sandbox."""

from __future__ import annotations

import stat as modes
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from cloche.cli import options
from cloche.cli.output import (
    age,
    clean,
    clean_line,
    properties,
    show,
    show_bytes,
    show_json,
    show_table,
    size,
)

if TYPE_CHECKING:
    from cloche.aio import Files, Hub
    from cloche.cli.session import Interrupts
    from cloche.file_messages import FileEntry

PathArgument = Annotated[
    str,
    typer.Argument(metavar="PATH", help="Absolute, or below the user's home.", show_default=False),
]
UserOption = Annotated[
    str | None,
    typer.Option("--user", "-u", metavar="USER", help="Who asks; an unprivileged user if not given."),
]
_TYPES = {"dir": modes.S_IFDIR, "link": modes.S_IFLNK, "file": modes.S_IFREG}


def add_to(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(
        help="Look at and change a sandbox's files; `cloche cp` copies them.", no_args_is_help=True
    )
    group.command("ls")(ls)
    group.command("cat")(cat)
    group.command("rm")(rm)
    group.command("mkdir")(mkdir)
    group.command("stat")(stat)
    app.add_typer(group, name="files")


def ls(
    sandbox: options.SandboxArgument,
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A folder; the user's home if not given.")
    ] = ".",
    user: UserOption = None,
    json: options.JsonOption = False,
) -> int:
    """List a folder.

    \b
    Examples:
      cloche files ls box
      cloche files ls box /etc --json
    """

    async def work(files: Files) -> None:
        entries = await files.list(path, user=user)
        if json:
            show_json(entries)
        elif entries:
            rows = [
                (_mode(entry), str(entry.uid), size(entry.size_bytes), _when(entry), _name(entry))
                for entry in entries
            ]
            show_table(("MODE", "UID", "SIZE", "CHANGED", "NAME"), rows, free=("NAME",))

    return _with_files(sandbox, work)


def cat(
    sandbox: options.SandboxArgument,
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files.", show_default=False)],
    user: UserOption = None,
) -> int:
    """Write files to standard output.

    The guest wrote them: a terminal gets them with everything unprintable made visible, a file or a pipe as they are.

    \b
    Examples:
      cloche files cat box notes.txt
    """
    is_terminal = sys.stdout.isatty()

    async def work(files: Files) -> None:
        for path in paths:
            if is_terminal:
                text = await files.read_text(path, errors="replace", user=user)
                show(clean(text.replace("\r\n", "\n").removesuffix("\n")))
                continue
            async for piece in files.stream(path, user=user):
                show_bytes(piece)

    return _with_files(sandbox, work)


def rm(
    sandbox: options.SandboxArgument,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="What to remove.", show_default=False)
    ],
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Folders with all in them, too.")
    ] = False,
    user: UserOption = None,
    json: options.JsonOption = False,
) -> int:
    """Remove files, links and folders.

    \b
    Examples:
      cloche files rm box old.txt
      cloche files rm box -r build
    """

    async def work(files: Files) -> None:
        for path in paths:
            await files.remove(path, recursive=recursive, user=user)
        if json:
            show_json({"removed": paths})

    return _with_files(sandbox, work)


def mkdir(
    sandbox: options.SandboxArgument,
    path: PathArgument,
    parents: Annotated[
        bool, typer.Option("--parents", "-p", help="Those above it, too; one that is there is no error.")
    ] = False,
    user: UserOption = None,
) -> int:
    """Make a folder.

    \b
    Examples:
      cloche files mkdir box -p data/in
    """

    async def work(files: Files) -> None:
        await files.make_dir(path, parents=parents, user=user)

    return _with_files(sandbox, work)


def stat(
    sandbox: options.SandboxArgument,
    path: PathArgument,
    user: UserOption = None,
    json: options.JsonOption = False,
) -> int:
    """Show what is at a path; a link is shown itself.

    \b
    Examples:
      cloche files stat box notes.txt
      cloche files stat box /etc/localtime --json
    """

    async def work(files: Files) -> None:
        entry = await files.stat(path, follow=False, user=user)
        if json:
            show_json(entry)
        else:
            show(properties(_details(entry)))

    return _with_files(sandbox, work)


def _with_files(sandbox: str, work: Callable[[Files], Awaitable[None]]) -> int:
    from cloche.cli.session import with_hub

    async def found(hub: Hub, _interrupts: Interrupts) -> None:
        await work((await hub.sandbox(sandbox)).files)

    return with_hub(found)


def _details(entry: FileEntry) -> list[tuple[str, str]]:
    return [
        ("path", entry.path),
        ("kind", entry.kind),
        *([("target", entry.target)] if entry.target is not None else []),
        ("size", f"{entry.size_bytes} bytes"),
        ("mode", f"{_mode(entry)} ({entry.mode & 0o7777:04o})"),
        ("owner", f"{entry.uid}:{entry.gid}"),
        ("changed", _when(entry)),
    ]


def _mode(entry: FileEntry) -> str:
    return modes.filemode(_TYPES.get(entry.kind, 0) | (entry.mode & 0o7777))


def _when(entry: FileEntry) -> str:
    return age(entry.modified_at)


def _name(entry: FileEntry) -> str:
    return clean_line(entry.name) + ("" if entry.target is None else f" → {clean_line(entry.target)}")
