"""`cloche record ls | play | export | search`: what consoles and commands have shown, and when."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloche.cli import options
from cloche.cli.complete import complete_recordings
from cloche.cli.output import age, clean_line, replacing, say, show, show_json, show_table, size
from cloche.errors import BadRequest

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.cli.session import Interrupts
    from cloche.recording_messages import RecordingInfo

_HEADINGS = ("ID", "KIND", "SANDBOX", "STARTED", "LENGTH", "SIZE", "COMMAND", "TITLE")
_FILE_ENDING = ".cast"
_PIECE = 64 << 10
_NOT_FOUND = 1
"""The exit status of a search that found nothing, as grep(1) has it."""

RecordingArgument = Annotated[
    str,
    typer.Argument(
        metavar="RECORDING",
        help="An id, or the beginning of one.",
        autocompletion=complete_recordings,
        show_default=False,
    ),
]
LinesOption = Annotated[int, typer.Option("--lines", "-n", help="How many at most.", min=1, max=500)]


def add_to(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help="See again what consoles and commands have shown.", no_args_is_help=True)
    for name, command in (("ls", ls), ("play", play), ("export", export), ("search", search)):
        group.command(name)(command)
    app.add_typer(group, name="record")


def ls(
    sandbox: options.OptionalSandboxArgument = None,
    lines: LinesOption = 50,
    json: options.JsonOption = False,
) -> int:
    """List recordings, newest first, those under way too.

    Consoles are recorded (`cloche shell --no-record`: not), commands with `cloche exec --record`.

    \b
    Examples:
      cloche record ls
      cloche record ls box --json | jq -r '.[].sha256'
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        found = await hub.recordings.list(sandbox=sandbox, limit=lines)
        if json:
            show_json(found)
        else:
            show_table(
                _HEADINGS, [_row(info) for info in found], free=("COMMAND", "TITLE"), if_empty="no recordings"
            )
        if found.omitted:
            say(f"… {found.omitted} more; narrow with a sandbox, or ask for more with --lines")

    return with_hub(work)


def play(
    recording: Annotated[
        str,
        typer.Argument(
            metavar="RECORDING",
            help=f"An id, the beginning of one, or a file that ends with {_FILE_ENDING}.",
            autocompletion=complete_recordings,
            show_default=False,
        ),
    ],
    speed: Annotated[
        float, typer.Option("--speed", "-s", metavar="FACTOR", help="How much faster than it was.", min=0.01)
    ] = 1.0,
    idle_limit: Annotated[
        str | None,
        typer.Option(
            "--idle-limit",
            "-i",
            metavar="DURATION",
            help="Wait no longer than this where nothing happens: 2s, 500ms.",
        ),
    ] = None,
) -> int:
    """Play a recording in this terminal.

    Space pauses and goes on, `.` shows the next thing while it is paused, `q` quits. What the guest wrote is shown
    through the same filter as a console: it cannot do anything to this terminal.

    \b
    Examples:
      cloche record play rec_7kq
      cloche record play rec_7kq --speed 4 --idle-limit 1s
      cloche record play session.cast
    """
    if not (os.isatty(0) and os.isatty(1)):
        raise BadRequest(
            "playing needs a terminal for its input and output; `cloche record export` has the text"
        )
    limit_s = options.parse_idle_limit(idle_limit)

    async def played(pieces: AsyncIterator[bytes], interrupts: Interrupts) -> int:
        from cloche.cli.viewing.playing import Pace
        from cloche.cli.viewing.playing import play as play_

        return await play_(pieces, Pace(speed, limit_s), interrupts)

    if recording.endswith(_FILE_ENDING):
        from cloche.cli.session import run_async

        return run_async(lambda interrupts: played(_file(Path(recording)), interrupts))

    from cloche.cli.session import with_hub

    async def work(hub: Hub, interrupts: Interrupts) -> int:
        return await played(hub.recordings.read(recording), interrupts)

    return with_hub(work)


def export(
    recording: RecordingArgument,
    file: Annotated[
        str,
        typer.Argument(metavar="[FILE]", help="Where to write; `-` is standard output.", show_default=False),
    ] = "-",
) -> int:
    """Write a recording as asciicast v2, which other players know, too.

    It has what the guest wrote, with every escape sequence: show it with a player, not with `cat`. FILE appears when
    all of it is there and is what the hub has.

    \b
    Examples:
      cloche record export rec_7kq session.cast
      cloche record export rec_7kq | jq -r 'select(.[1]? == "o") | .[2]'
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        with replacing(file) as write:
            async for piece in hub.recordings.read(recording):
                write(piece)

    return with_hub(work)


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to look for.", show_default=False)],
    sandbox: options.SandboxOption = None,
    lines: LinesOption = 100,
    json: options.JsonOption = False,
) -> int:
    """Find the lines of recordings that have a text, and when they were shown.

    Letters' case counts if TEXT has capitals. The exit status is 1 if nothing was found.

    \b
    Examples:
      cloche record search 'permission denied'
      cloche record search make --sandbox box --json
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> int:
        hits = await hub.recordings.search(text, sandbox=sandbox, limit=lines)
        if json:
            show_json(hits)
        else:
            from cloche.cli.viewing.casts import clock

            for hit in hits:
                show(clean_line(f"{hit.recording}  {clock(hit.at_s):>7}  {hit.line}"))
        if hits.omitted:
            say(f"{hits.omitted} recordings were not looked through to their ends; ask for more with --lines")
        return 0 if hits else _NOT_FOUND

    return with_hub(work)


async def _file(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _row(info: RecordingInfo) -> tuple[str, ...]:
    from cloche.cli.viewing.casts import clock

    length = (
        "under way" if info.duration_s is None else clock(info.duration_s) + (" (cut)" if info.is_cut else "")
    )
    return (
        info.id,
        info.kind,
        info.sandbox_name,
        age(info.started_at),
        length,
        "-" if info.size_bytes is None else size(info.size_bytes),
        " ".join(info.command or ("a shell",)),
        info.title or "-",
    )
