"""Files: a folder of this host beside one of a sandbox, and what is copied from one to the other.

Rules:
- The panes of the model say what is shown and chosen. What an action is about is read when its key comes, before
  anything is asked or waited for.
- What is copied goes on while other views are shown. Folders are copied, and what is in the way is replaced, only if a
  person says so.
- Where there is no room for both folders the one is shown that the person is in.
- Nothing of this host is removed here.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.worker import Worker

from cloche.errors import BadRequest, CodedError, Forbidden
from cloche_tui.feed.files import files_of, list_here, list_there
from cloche_tui.messages import ChoiceChanged, RunAction
from cloche_tui.model import file_text, transfer_text
from cloche_tui.model.chosen import Chosen
from cloche_tui.model.file_panes import ORDERS, FilePanes, Side
from cloche_tui.model.roles import Role
from cloche_tui.model.transfers import Direction, Transfer
from cloche_tui.views import file_work
from cloche_tui.views.file_copies import FileCopies
from cloche_tui.views.view import View
from cloche_tui.widgets.folder_pair import FolderPair
from cloche_tui.widgets.strip_table import StripTable

if TYPE_CHECKING:
    from cloche.filters import Filter
    from cloche_tui.model.world import World

_SORT = "files.sort"


class FilesView(View):
    """See the module.

    Args:
        folder: what is shown of this host at first.
    """

    DEFAULT_CSS = """
    FilesView { layout: vertical; }
    """
    name_of_view: ClassVar[str] = "files"
    title: ClassVar[str] = "Files"

    def __init__(self, *, folder: str = ".", id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.panes = FilePanes()
        self._first_folder = folder
        self._world: World | None = None
        self._sandbox: str | None = None
        self._sandbox_name = "no sandbox"
        self._is_entered = False
        self._troubles = dict.fromkeys(Side, "")
        """Why nothing can be shown of a side."""
        self._asked = dict.fromkeys(Side, False)
        """Whether it is being looked what is in a folder of a side."""
        self._folders = FolderPair(self.panes, on_choice=self._chose)
        self.copies = FileCopies(lambda: self.dashboard.session.hub, self._drained)

    def compose(self) -> ComposeResult:
        """Both folders, and below them what is copied."""
        yield self._folders
        yield self.copies

    def on_mount(self) -> None:
        """Sorts as it was sorted last."""
        self.panes.take_sorts(self.dashboard.remembered.get(_SORT, {}))

    # What is shown.

    def show(self, world: World, topics: AbstractSet[str]) -> None:
        """Shows what has changed: the sandbox that is selected where one comes from, and whether it is still there."""
        self._world = world
        if not self.display:
            self._is_entered = False
            return
        if not self._is_entered:
            self._is_entered = True
            self._enter()
        elif topics & {"all", "sandbox", "link"}:
            self._follow_sandbox()
        self._repaint()

    def on_hide(self) -> None:
        """Another view is shown."""
        self._is_entered = self.display

    def open_sandbox(self, sandbox: str) -> None:
        """Shows the files of another sandbox: the home of its user.

        Args:
            sandbox: its id.
        """
        if sandbox != self._sandbox:
            self._sandbox = sandbox
            self._see_nothing()
        self._follow_sandbox()
        self._chose()

    def _enter(self) -> None:
        assert self._world is not None
        self._look(Side.HERE, self.panes.here.folder or self._first_folder)
        selected = self._world.fleet.selected
        if selected is not None:
            self.open_sandbox(selected)
        if self.panes.sandbox.folder:
            self._look(Side.SANDBOX, self.panes.sandbox.folder)
        self._follow_sandbox()

    def _follow_sandbox(self) -> None:
        """Says why there is nothing of the sandbox, or looks into it once there can be."""
        assert self._world is not None
        info = self._world.fleet.get(self._sandbox)
        trouble = ""
        if self._sandbox is None:
            trouble = "No sandbox is selected: select one in the list of sandboxes."
        elif info is None:
            trouble = f"{self._sandbox_name} is gone."
        else:
            self._sandbox_name = info.name
            if info.state != "running":
                trouble = f"{info.name} is {info.state}: its files can be seen while it is running."
        if trouble:
            self._troubles[Side.SANDBOX] = trouble
            self._see_nothing()
        elif not self.panes.sandbox.folder and not self._asked[Side.SANDBOX]:
            self._troubles[Side.SANDBOX] = ""
            self._look(Side.SANDBOX, ".")

    def _see_nothing(self) -> None:
        """Forgets what is shown of a sandbox, and what is still being looked for in it."""
        self.workers.cancel_group(self, _group(Side.SANDBOX))
        self._asked[Side.SANDBOX] = False
        self.panes.sandbox.clear()

    def _look(self, side: Side, path: str) -> None:
        """Shows a folder as soon as it is known what is in it. What is looked for is then no longer what was before."""
        self._asked[side] = True

        async def look(sandbox: str | None = self._sandbox) -> None:
            await self._looked(side, path, sandbox)

        # Not a coroutine: one that is cancelled before its first turn would never be awaited.
        _worker: Worker[None] = self.run_worker(look, group=_group(side), exclusive=True)

    async def _looked(self, side: Side, path: str, sandbox: str | None) -> None:
        pane = self.panes.of(side)
        try:
            if side is Side.HERE:
                listing = await list_here(path)
            else:
                assert sandbox is not None
                listing = await list_there(await files_of(self.dashboard.session.hub, sandbox), path)
        except CodedError as error:
            if pane.folder:
                self.dashboard.say(error.message, Role.BAD)
            self._troubles[side] = error.message
        else:
            self._troubles[side] = ""
            pane.show(listing)
        self._asked[side] = False
        self._chose()

    def _repaint(self) -> None:
        if self._world is None or not self.is_mounted:
            return
        whose = {Side.HERE: "this host", Side.SANDBOX: self._sandbox_name}
        self._folders.show(whose, self._troubles, self._world.now)

    def set_filter(self, wanted: Filter | None) -> tuple[int, int]:
        """Shows what matches only, of the folder the person is in; None: all of both."""
        if wanted is None:
            self.panes.target.set_filter(None)
        counts = self.panes.source.set_filter(wanted)
        self._repaint()
        return counts

    # Where the person is.

    def focus_main(self) -> None:
        """The folder the person was in."""
        self._folders.focus_active()

    def on_resize(self) -> None:
        """There is another room for it."""
        self._repaint()

    def _chose(self) -> None:
        self._repaint()
        self.post_message(ChoiceChanged())

    @on(StripTable.Entered)
    def _entered(self) -> None:
        self.post_message(RunAction("files.enter"))

    @on(StripTable.HeadingClicked)
    def _heading(self, message: StripTable.HeadingClicked) -> None:
        if message.column in ORDERS:
            self._sort(message.column, turns=True)

    def chosen(self) -> Chosen:
        """The sandbox, the selected file in it, and what a copy would take."""
        if self._sandbox is None:
            return Chosen()
        row = self.panes.sandbox.selected
        is_there = self.panes.active is Side.SANDBOX and row is not None and not row.refusal
        return Chosen(
            (self._sandbox,),
            (self._sandbox_name,),
            sandbox=self._sandbox,
            path=self.panes.sandbox.path_of(row) if is_there and row is not None else None,
            copies=self.panes.command(self._sandbox_name),
        )

    # What can be done.

    async def run(self, action: str, argument: str) -> bool:
        """Does an action in the folder the person is in."""
        source = self.panes.source
        match action:
            case "files.enter":
                self._enter_selected()
            case "files.up":
                if source.parent is not None:
                    self._look(source.side, source.parent)
            case "files.go":
                await self._go(argument)
            case "files.other_pane":
                self._go_on()
            case "files.mark":
                source.mark_selected()
            case "files.mark_all":
                source.mark_all()
            case "files.clear_marks":
                source.clear_marks()
            case "files.copy":
                await self._copy()
            case "files.cancel":
                self.copies.give_up(self._sandbox, everything=argument == "all")
                self._stay_in_sight()
            case "files.mkdir":
                await self._make_folder(argument)
            case "files.delete":
                await self._delete()
            case "files.refresh":
                self._refresh()
            case "table.sort":
                self._sort(argument or source.next_sort)
            case "table.reverse":
                self._sort(source.sort, turns=True)
            case _:
                return False
        self._chose()
        return True

    def _enter_selected(self) -> None:
        if self.copies.has_focus_within:
            self.dashboard.say(self.copies.story())
            return
        pane = self.panes.source
        row = pane.selected
        if row is None:
            return
        if row.refusal:
            raise Forbidden(f"nothing can be done with it: {row.refusal}")
        if row.is_folder or (row.kind == "link" and pane.side is Side.SANDBOX):
            self._look(pane.side, pane.path_of(row))
            return
        to = f"{self._sandbox_name}:" if pane.side is Side.HERE else ""
        self.dashboard.say(
            file_text.shown(f"{row.name} is no folder; copy takes it to {to}{self.panes.target.folder}")
        )

    async def _go(self, path: str) -> None:
        pane = self.panes.source
        if not path:
            await self.dashboard.run_action_by_id("command.open", "cd ")
        elif pane.folder:
            self._look(pane.side, pane.place(path))

    def _go_on(self) -> None:
        """To the other folder, or from there to what is copied."""
        if self.copies.has_focus_within:
            self._folders.go_to(Side.HERE)
        elif self.panes.active is Side.SANDBOX and len(self.copies.transfers):
            self.screen.set_focus(self.copies.table)
        else:
            self._folders.go_to(self.panes.active.other)

    def _stay_in_sight(self) -> None:
        if not len(self.copies.transfers) and self.copies.has_focus_within:
            self.focus_main()

    def _refresh(self) -> None:
        for side in Side:
            if folder := self.panes.of(side).folder:
                self._look(side, folder)
        self._follow_sandbox()

    def _sort(self, column: str, *, turns: bool = False) -> None:
        """Sorts by a column; by the one that is sorted by already the other way round, if it `turns`."""
        if column not in ORDERS:
            raise BadRequest(f"files are sorted by {', '.join(ORDERS)}")
        pane = self.panes.source
        is_turned = turns and pane.sort == column
        pane.sort_by(column, is_descending=not pane.is_descending if is_turned else None)
        self.dashboard.remembered.set(_SORT, self.panes.sorts())
        self._repaint()

    async def _make_folder(self, name: str) -> None:
        if not name:
            await self.dashboard.run_action_by_id("command.open", "mkdir ")
            return
        pane, folder = self.panes.source, self.panes.source.folder
        await file_work.make_folder(self.dashboard, self._sandbox, pane, name)
        if pane.folder == folder:
            self._look(pane.side, folder)

    async def _delete(self) -> None:
        pane, sandbox = self.panes.source, self._sandbox
        await file_work.remove(self.dashboard, sandbox or "", self._sandbox_name, pane, pane.chosen)
        if pane.folder and sandbox == self._sandbox:
            self._look(pane.side, pane.folder)

    # Copies.

    async def _copy(self) -> None:
        sandbox, name = self._sandbox, self._sandbox_name
        pane, wanted = self.panes.source, self.panes.wanted()
        if sandbox is None or not self.panes.sandbox.folder:
            raise BadRequest(self._troubles[Side.SANDBOX] or "no files of a sandbox are shown yet")
        if not wanted:
            raise BadRequest("nothing is selected that can be copied")
        self.copies.require_room(len(wanted))
        agreed = await file_work.agree(self.dashboard, sandbox, name, wanted)
        if not agreed:
            self.dashboard.say("nothing was copied")
            return
        pane.clear_marks()
        self.copies.begin(sandbox, name, agreed)

    def _drained(self, last: Transfer) -> None:
        """Nothing is copied of a sandbox any more."""
        # Not after each of many: a folder is listed anew when all are there.
        wanted = last.wanted
        side = Side.SANDBOX if wanted.direction is Direction.UP else Side.HERE
        is_shown = side is Side.HERE or last.sandbox == self._sandbox
        if is_shown and self.panes.of(side).folder == wanted.folder:
            self._look(side, wanted.folder)
        summary, is_all_well = transfer_text.summary(self.copies.transfers)
        role = Role.GOOD if is_all_well else Role.WARNING
        self.dashboard.say(f"copies: {summary}", role)


def _group(side: Side) -> str:
    """Workers of which only the newest goes on."""
    return f"files-{side.value}"
