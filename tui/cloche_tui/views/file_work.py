"""What is done with files once a person wants it: a copy agreed on, files removed, a folder made. Called in workers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cloche.errors import BadRequest, Forbidden
from cloche_tui.dialogs.confirm import Confirm
from cloche_tui.dialogs.overwrite import InTheWay, Overwrite
from cloche_tui.feed import files as feed
from cloche_tui.feed.folder_sizes import amount_here, amount_there
from cloche_tui.model import file_text
from cloche_tui.model.figures import count
from cloche_tui.model.file_panes import FileRow, Pane, Side
from cloche_tui.model.roles import Line, Role, Span, line
from cloche_tui.model.transfers import Direction, Wanted

if TYPE_CHECKING:
    from cloche_tui.views.view import Dashboard


def require_changes(dashboard: Dashboard) -> None:
    """That something may be changed in a sandbox.

    Raises:
        Forbidden: it may not.
    """
    if dashboard.is_readonly:
        raise Forbidden("this dashboard only looks on: it was started with --readonly")


async def agree(
    dashboard: Dashboard, sandbox: str, sandbox_name: str, wanted: Sequence[Wanted]
) -> list[Wanted]:
    """What of it is to be copied, after a person has been asked about folders and about what is in the way.

    Args:
        dashboard: asks.
        sandbox: the id of the sandbox.
        sandbox_name: what it is called.
        wanted: all into one folder.

    Raises:
        CodedError: the folder cannot be looked at.
    """
    folder, names = wanted[0].folder, [one.name for one in wanted]
    if is_up := wanted[0].direction is Direction.UP:
        require_changes(dashboard)
        files = await feed.files_of(dashboard.session.hub, sandbox)
        taken = await feed.there_already(files, folder, names)
    else:
        taken = await feed.there_already_here(folder, names)
    folders = await _counted(dashboard, sandbox, [one for one in wanted if one.is_folder])
    if taken:
        return await _ask_about(dashboard, wanted, taken, folders)
    others = sum(not one.is_folder for one in wanted)
    beside = [line(Span("beside ", Role.MUTED), count(others, "file"))] if others else []
    lines = [*folders, *beside, line(Span("into ", Role.MUTED), folder)]
    heading = f"Copy this to {sandbox_name if is_up else 'this host'}?"
    is_agreed = not folders or await dashboard.ask(Confirm(heading, lines, verb="copy", is_loss=False))
    return list(wanted) if is_agreed else []


async def _counted(dashboard: Dashboard, sandbox: str, wanted: Sequence[Wanted]) -> list[Line]:
    """Which folders these are, and how much is in them; nothing: none is one."""
    if not wanted:
        return []
    paths = [one.source for one in wanted]
    if wanted[0].direction is Direction.UP:
        amount = await amount_here(paths)
    else:
        amount = await amount_there(await feed.files_of(dashboard.session.hub, sandbox), paths)
    if amount.is_all and not amount.folders:
        return []
    named = file_text.named_plainly([f"{one.name}/" for one in wanted])
    return [*named, (), line(Span("with ", Role.MUTED), *file_text.amount(amount))]


async def _ask_about(
    dashboard: Dashboard, wanted: Sequence[Wanted], taken: Collection[str], folders: Sequence[Line]
) -> list[Wanted]:
    """What is to be copied of it where something is in the way. It tells of folders as well: nothing is asked twice."""
    lines = [
        line(Span(f"In {wanted[0].folder}", Role.MUTED)),
        *file_text.named_plainly(sorted(taken)),
        (),
        line(Span("Files are replaced; folders are filled, and files in them replaced.", Role.MUTED)),
    ]
    if folders:
        lines += [(), line(Span("Folders that are copied:", Role.MUTED)), *folders]
    answer = await dashboard.ask(Overwrite(lines, others=len(wanted) - len(taken)))
    if answer is InTheWay.REPLACE:
        return [replace(one, may_replace=one.name in taken) for one in wanted]
    return [one for one in wanted if one.name not in taken] if answer is InTheWay.SKIP else []


async def remove(
    dashboard: Dashboard, sandbox: str, sandbox_name: str, pane: Pane, rows: Sequence[FileRow]
) -> None:
    """Removes files of a sandbox if a person means it.

    Raises:
        Forbidden: nothing may be changed, or they are this host's.
        CodedError: the hub cannot be asked.
    """
    require_changes(dashboard)
    if pane.side is Side.HERE:
        raise Forbidden("nothing of this host is removed from here; use a shell")
    if not rows:
        raise BadRequest("select a file of the sandbox first")
    # Read before the question: the pane may show another folder by the time it is answered.
    paths = [pane.path_of(row) for row in rows]
    heading = (
        f"Remove this from {sandbox_name}?" if len(rows) == 1 else f"Remove {len(rows)} of {sandbox_name}?"
    )
    number = len(rows) if len(rows) > 1 else None
    lines = [line(Span(f"In {pane.folder}", Role.MUTED)), *file_text.named(rows)]
    if not await dashboard.ask(Confirm(heading, lines, verb="remove", number=number)):
        return
    failed: list[str] = []
    files = await feed.files_of(dashboard.session.hub, sandbox)
    gone = await feed.remove_there(files, paths, lambda _path, why: failed.append(why))
    told = f"removed {count(gone, 'thing')} of {sandbox_name}" if number else f"removed {paths[0]}"
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        dashboard.say(f"removed {gone} of {len(rows)}: {failed[0]}{more}", Role.BAD)
    else:
        dashboard.say(file_text.shown(told), Role.GOOD)


async def make_folder(dashboard: Dashboard, sandbox: str | None, pane: Pane, name: str) -> None:
    """Makes a folder in the one that is shown.

    Raises:
        CodedError: it cannot be made.
    """
    path = f"{pane.folder.rstrip('/')}/{feed.folder_name(name)}"
    if pane.side is Side.HERE:
        await feed.make_folder_here(path)
    else:
        require_changes(dashboard)
        if sandbox is None or not pane.folder:
            raise BadRequest("select a sandbox first")
        await (await feed.files_of(dashboard.session.hub, sandbox)).make_dir(path)
    # A filter may hide it.
    dashboard.say(file_text.shown(f"made {path}"), Role.GOOD)
