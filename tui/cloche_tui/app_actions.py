"""The actions that are no view's: other views, the lines that are typed into, help, themes, pictures, the end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual.app import SystemCommand
from textual.widgets import Input

from cloche.errors import BadRequest, CodedError
from cloche_tui.actions import BY_COMMAND, BY_ID, VIEWS, Completion, Place, Situation, possible
from cloche_tui.frame import Frame
from cloche_tui.messages import ChoiceChanged
from cloche_tui.model.commands import complete
from cloche_tui.model.console_panes import Layout, closable
from cloche_tui.model.console_status import label
from cloche_tui.model.link import Lost, Up
from cloche_tui.model.roles import Role
from cloche_tui.model.sandbox_rows import ORDERS
from cloche_tui.own_files import typed_path, write_new
from cloche_tui.views.help import HelpScreen
from cloche_tui.widgets.footer import WHILE_DRIVING, key_name
from cloche_tui.widgets.heading import Heading, Tab
from cloche_tui.widgets.styles import style_of

if TYPE_CHECKING:
    from textual.screen import Screen

    from cloche_tui.feed.session import Session
    from cloche_tui.frame import Options
    from cloche_tui.model.world import World
    from cloche_tui.remembered import Remembered
    from cloche_tui.views.consoles import ConsolesArea
    from cloche_tui.views.view import View


class Desk(Frame):
    """The app, as far as these actions need it."""

    options: Options
    is_readonly: bool
    session: Session
    world: World
    remembered: Remembered
    keys: Mapping[str, tuple[str, ...]]

    @property
    def views(self) -> Sequence[View]:
        """All views."""
        raise NotImplementedError

    @property
    def view(self) -> View:
        """The one that is shown."""
        raise NotImplementedError

    @property
    def consoles(self) -> ConsolesArea:
        """The consoles beside it."""
        raise NotImplementedError

    def situation(self) -> Situation:
        """Where the focus is, and what is chosen there."""
        raise NotImplementedError

    def begin_action(self, action_id: str, argument: str) -> None:
        """Has an action done by a worker."""
        raise NotImplementedError

    def show_view(self, name: str) -> None:
        """Shows another view, and gives it the focus."""
        raise NotImplementedError

    def open_filter(self, text: str = "") -> None:
        """Asks what the list is to show; as it was asked last if nothing else is given."""
        raise NotImplementedError

    def open_commands(self, text: str = "") -> None:
        """Asks for a command."""
        raise NotImplementedError

    def set_filter(self, text: str) -> None:
        """Shows what matches this; empty: all there is."""
        raise NotImplementedError

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the palette offers."""
        return offered(self)


async def run(app: Desk, action: str, argument: str) -> None:
    """Does an action of the app's own."""
    await _ACTIONS[action](app, argument)


def is_quick(action: str) -> bool:
    """Whether it waits for nobody, so that the next key can wait for it."""
    return action in _ACTIONS


async def open_first(app: Desk, reference: str) -> None:
    """Shows the console the program was started with. The focus is where the program was started to be."""
    name, _, wanted = reference.partition("/")
    try:
        sandbox = await app.session.hub.sandbox(name)
        found = [one.id for one in await sandbox.consoles() if wanted in (one.name, one.id)]
    except CodedError as error:
        app.say(error.message, Role.BAD)
        return
    if wanted and not found:
        app.say(f"{name} has no open console {wanted!r}", Role.WARNING)
        return
    takes_focus = app.options.view == "sandboxes"
    app.consoles.open(sandbox.id, found[0] if wanted else None, takes_focus=takes_focus)


def offered(app: Desk) -> Iterable[SystemCommand]:
    """What the palette offers."""
    for action in possible(app.situation()):
        keys = " ".join(app.keys.get(action.id, action.keys))
        begin = partial(app.begin_action, action.id, "")
        yield SystemCommand(action.title, f"{keys}  :{action.command}".strip(), begin)


def completions(app: Desk, text: str) -> Sequence[str]:
    """What a command that is being typed could become."""
    action = BY_COMMAND.get(text.split(" ")[0])
    return complete(text, BY_COMMAND, arguments(app, None if action is None else action.argument))


def arguments(app: Desk, kind: Completion | None) -> Iterable[str]:
    """What a command's argument may be."""
    match kind:
        case Completion.SANDBOX:
            return app.world.fleet.names()
        case Completion.CONSOLE:
            return [label(console) for console in closable(app.world.consoles.values())]
        case Completion.APPROVAL:
            return [approval.id for approval in app.world.inbox.pending]
        case Completion.VIEW:
            return [view.value for view in VIEWS]
        case Completion.THEME:
            return sorted(app.available_themes)
        case Completion.COLUMN:
            return list(ORDERS)
        case Completion.LAYOUT:
            return [layout.value for layout in Layout]
        case Completion.SWITCH:
            return ["on", "off"]
    return []


def make_room(app: Desk) -> None:
    """Has consoles stand beside the list that is looked at only where it can be read beside them (`app.tcss`).

    Who goes to a console sees it in any case. A line that is typed into changes nothing.
    """
    if app.screen is app.screen_stack[0] and not isinstance(app.focused, Input):
        place = app.situation().place
        main = app.query_one("#main")
        main.set_class(place is Place.APPROVALS, "-decides")
        main.set_class(place in (Place.AUDIT, Place.FILES), "-reads")


def show_heading(app: Desk) -> None:
    """Shows in the heading how things are now."""
    heading = app.query_one(Heading)
    heading.tabs = _tabs(app)
    heading.current = f"view.{app.view.id}"
    heading.mark = app.options.mark
    heading.place = _place_line(app)


def _tabs(app: Desk) -> Sequence[Tab]:
    """The views as the heading names them, with the person's own keys."""
    waiting = {"view.approvals": app.world.inbox.waiting}
    return [
        Tab(
            key_name(next(iter(app.keys.get(action, BY_ID[action].keys)), "")),
            view.title,
            action,
            badge=waiting.get(action, 0),
        )
        for view in app.views
        for action in (f"view.{view.name_of_view}",)
    ]


def _place_line(app: Desk) -> Text:
    """What the heading says at its right."""
    line = Text(no_wrap=True)
    if app.is_readonly:
        line.append("read-only  ", style_of(app, Role.WARNING))
    match app.world.link:
        case Up(address=address, status=status):
            line.append(address, style_of(app, Role.ACCENT))
            line.append(f" · {status.accelerator}", style_of(app, Role.MUTED))
        case Lost():
            line.append("connection lost", style_of(app, Role.BAD))
        case _:
            line.append("connecting", style_of(app, Role.WARNING))
    line.append(f" · {app.world.now.astimezone():%H:%M}", style_of(app, Role.MUTED))
    return line


async def _show_view(app: Desk, name: str) -> None:
    app.show_view(name)


async def _help(app: Desk, _argument: str) -> None:
    now = app.situation()
    await app.push_screen(HelpScreen(now.place.value, possible(now), app.keys, while_driving=WHILE_DRIVING))


async def _palette(app: Desk, _argument: str) -> None:
    from textual.command import CommandPalette

    await app.push_screen(CommandPalette())


async def _open_filter(app: Desk, argument: str) -> None:
    app.open_filter(argument)


async def _clear_filter(app: Desk, _argument: str) -> None:
    app.set_filter("")
    app.post_message(ChoiceChanged())


async def _open_commands(app: Desk, argument: str) -> None:
    app.open_commands(argument)


async def _show_cli(app: Desk, argument: str) -> None:
    """The command lines of what can be done here."""
    now = app.situation()
    lines = [
        (action.title, line) for action in possible(now) if action.cli and (line := action.cli(now.chosen))
    ]
    if not lines:
        raise BadRequest("select something first: there is no command line for this")
    from cloche_tui.views.command_lines import CommandLines

    await app.push_screen(CommandLines(lines))


async def _theme(app: Desk, name: str) -> None:
    if not name:
        app.open_commands("theme ")
        return
    if name not in app.available_themes:
        raise BadRequest(f"there is no theme {name!r}; tab completes")
    app.theme = name
    app.remembered.set("theme", name)


async def _mouse(app: Desk, wanted: str) -> None:
    is_on = {"on": True, "off": False}.get(wanted, not app.has_mouse)
    app.use_mouse(is_on=is_on)
    app.say(
        "the mouse is ours again" if is_on else "the mouse is the terminal's: select and copy as everywhere"
    )


async def _dump(app: Desk, path: str) -> None:
    app.say(f"saved {_save_screen(app, path)}", Role.GOOD)


def _save_screen(app: Desk, path: str) -> Path:
    """A picture, or its text, by the file's ending."""
    name = typed_path(path or f"cloche-{datetime.now().astimezone():%Y%m%d-%H%M%S}.svg")
    picture = app.screen_text() if name.suffix == ".txt" else app.export_screenshot()
    write_new(name, picture, command=":screendump PATH")
    return name


async def _dump_keys(app: Desk, path: str) -> None:
    app.say(f"wrote {_save_keys(path)}: change it and start again", Role.GOOD)


def _save_keys(path: str) -> Path:
    from cloche_tui.keymap import dump, keymap_path

    name = typed_path(path) if path else keymap_path()
    write_new(name, dump(list(BY_ID.values())), parents=True, command=":keymap PATH")
    return name


async def _retry(app: Desk, _argument: str) -> None:
    app.session.try_now()


async def _quit(app: Desk, _argument: str) -> None:
    app.leave()


_ACTIONS: Mapping[str, Callable[[Desk, str], Awaitable[None]]] = {
    **{f"view.{view.value}": lambda app, _argument, view=view: _show_view(app, view.value) for view in VIEWS},  # type: ignore[misc]
    "filter.open": _open_filter,
    "filter.clear": _clear_filter,
    "command.open": _open_commands,
    "palette.open": _palette,
    "help.show": _help,
    "cli.show": _show_cli,
    "theme.set": _theme,
    "mouse.toggle": _mouse,
    "screen.dump": _dump,
    "keymap.dump": _dump_keys,
    "link.retry": _retry,
    "app.quit": _quit,
}
