"""Everything a person can do, once: keys, footer, help, palette, `:` commands and the equal command line come from here.

Rules:
- An action is done by its id: by the view that has it, or by the app.
- A key means one thing in a place. While a console is driven no key means anything here.
- What cannot be done now says why, in a line.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from cloche_tui.model.chosen import Chosen
from cloche_tui.model.console_offers import OPENS_SHELL


class Place(StrEnum):
    """Where the focus is."""

    SANDBOXES = "sandboxes"
    CONSOLE = "console"
    APPROVALS = "approvals"
    AUDIT = "audit"
    FILES = "files"


VIEWS = (Place.SANDBOXES, Place.APPROVALS, Place.AUDIT, Place.FILES)
EVERYWHERE = frozenset(Place)


class Need(StrEnum):
    """What has to be there."""

    HUB = "hub"
    """A connection."""
    CHANGES = "changes"
    """It changes something: not with --readonly."""
    SANDBOX = "sandbox"
    CONSOLE = "console"
    APPROVAL = "approval"
    EVENT = "event"
    PATH = "path"


class Completion(StrEnum):
    """What the argument of a command may be."""

    SANDBOX = "sandbox"
    CONSOLE = "console"
    RECIPE = "recipe"
    APPROVAL = "approval"
    VIEW = "view"
    THEME = "theme"
    COLUMN = "column"
    LAYOUT = "layout"
    SWITCH = "switch"
    PATH = "path"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person can do."""

    id: str
    title: str
    """What it does, as a sentence begins."""
    command: str
    """Its name behind `:`."""
    keys: tuple[str, ...] = ()
    places: frozenset[Place] = EVERYWHERE
    footer: str = ""
    """Its word in the footer; empty: not there."""
    needs: frozenset[Need] = frozenset()
    argument: Completion | None = None
    cli: Callable[[Chosen], str | None] | None = None
    """The command line that does the same."""

    @property
    def group(self) -> str:
        """Under what it stands in the help."""
        return self.id.partition(".")[0]

    def word(self, chosen: Chosen) -> str:
        """Its word in the footer as things are now; empty: not there."""
        return chosen.words.get(self.id, self.footer)


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides which actions can be done."""

    place: Place
    chosen: Chosen
    is_connected: bool
    is_readonly: bool


_MISSING = {
    Need.SANDBOX: "select a sandbox first",
    Need.CONSOLE: "select a console first",
    Need.APPROVAL: "no approval is selected",
    Need.EVENT: "select an event first",
    Need.PATH: "select a file first",
}


def refusal(action: Action, now: Situation, *, is_named: bool = False) -> str | None:
    """Why an action cannot be done now; None: it can.

    Args:
        action: what somebody wants.
        now: where the focus is, and what is chosen.
        is_named: whether what it is about is named by an argument, and not by what is chosen.
    """
    if Need.CHANGES in action.needs and now.is_readonly:
        return "this dashboard only looks on: it was started with --readonly"
    if Need.HUB in action.needs and not now.is_connected:
        return "not connected to the hub"
    if is_named and action.argument is not None:
        return None
    if now.place not in action.places:
        return f"this is done where the focus is on: {', '.join(sorted(action.places))}"
    chosen = {
        Need.SANDBOX: now.chosen.sandboxes,
        Need.CONSOLE: now.chosen.console,
        Need.APPROVAL: now.chosen.approval,
        Need.EVENT: now.chosen.event is not None,
        Need.PATH: now.chosen.path,
    }
    for need, text in _MISSING.items():
        if need in action.needs and not chosen[need]:
            return text
    return None


def _with_names(command: str) -> Callable[[Chosen], str | None]:
    return lambda chosen: f"{command} {shlex.join(chosen.names)}" if chosen.names else None


def _with_console(command: str) -> Callable[[Chosen], str | None]:
    return lambda chosen: f"{command} {shlex.quote(chosen.console_label)}" if chosen.console_label else None


def _driving(chosen: Chosen) -> str | None:
    opens_shell = chosen.words.get("console.drive") == OPENS_SHELL
    return (_with_names("cloche shell") if opens_shell else _with_console("cloche attach"))(chosen)


def _closing(chosen: Chosen) -> str | None:
    one = chosen.console_label or (f"{chosen.names[0]}/CONSOLE" if len(chosen.names) == 1 else None)
    return None if one is None else f"cloche consoles close {shlex.quote(one)}"


def _with_approval(command: str) -> Callable[[Chosen], str | None]:
    return lambda chosen: command.format(chosen.approval) if chosen.approval else None


def _copying(chosen: Chosen) -> str | None:
    return f"cloche cp {shlex.join(chosen.copies)}" if chosen.copies else None


def _as_it_is(command: str) -> Callable[[Chosen], str | None]:
    return lambda _chosen: command


_TABLE = frozenset({Place.SANDBOXES})
_CONSOLE = frozenset({Place.CONSOLE})
_APPROVALS = frozenset({Place.APPROVALS})
_AUDIT = frozenset({Place.AUDIT})
_FILES = frozenset({Place.FILES})
_LISTS = frozenset(VIEWS)
_ON_SANDBOX = frozenset({Need.HUB, Need.SANDBOX})
_ON_CONSOLE = frozenset({Need.HUB, Need.CONSOLE})
_DECIDES = frozenset({Need.HUB, Need.CHANGES, Need.APPROVAL})

ACTIONS: tuple[Action, ...] = (
    # Views and the program.
    Action("view.sandboxes", "Show the sandboxes", "sandboxes", ("1",), cli=_as_it_is("cloche ls")),
    Action("view.approvals", "Show the calls that wait for a decision", "approvals", ("2",), cli=_as_it_is("cloche approvals ls")),
    Action("view.audit", "Show what has happened", "audit", ("3",), cli=_as_it_is("cloche audit tail --follow")),
    Action("view.files", "Show the files of the selected sandbox", "files", ("4",)),
    Action("filter.open", "Filter the list", "filter", ("/",), _LISTS, "filter", argument=Completion.TEXT),
    Action("filter.clear", "Take the filter away", "unfilter", ("escape",), _LISTS),
    Action("command.open", "Type a command", "command", (":",), footer="command"),
    Action("palette.open", "Find an action", "palette", ("ctrl+p",)),
    Action("help.show", "Show what can be done here", "help", ("?",), footer="help"),
    Action("cli.show", "Show the command line that does the same", "cli", ("!",)),
    Action("theme.set", "Use another theme", "theme", argument=Completion.THEME),
    Action("mouse.toggle", "Leave the mouse to the terminal, or take it again", "mouse", argument=Completion.SWITCH),
    Action("screen.dump", "Save a picture of the screen", "screendump", ("ctrl+s",), argument=Completion.PATH),
    Action("keymap.dump", "Write the keys to a file that can be changed", "keymap", argument=Completion.PATH),
    Action("link.retry", "Try to reach the hub now", "retry", ("r",)),
    Action("app.quit", "Leave; consoles and sandboxes go on", "quit", ("q",), footer="quit"),
    # Sandboxes.
    Action("sandbox.create", "Create a sandbox", "create", ("n",), _TABLE, "new", frozenset({Need.HUB, Need.CHANGES}), Completion.RECIPE, cli=_as_it_is("cloche create")),
    Action("sandbox.destroy", "Destroy the chosen sandboxes", "destroy", ("ctrl+d",), _TABLE, "destroy", _ON_SANDBOX | {Need.CHANGES}, Completion.SANDBOX, cli=_with_names("cloche rm")),
    Action("sandbox.mark", "Mark the selected sandbox", "mark", ("space",), _TABLE, needs=frozenset({Need.SANDBOX})),
    Action("sandbox.mark_all", "Mark all that are shown", "mark-all", ("*",), _TABLE),
    Action("sandbox.clear_marks", "Take all marks away", "clear-marks", ("u",), _TABLE),
    Action("table.sort", "Sort by the next column, or a named one", "sort", ("s",), _TABLE | _FILES, "sort", argument=Completion.COLUMN),
    Action("table.reverse", "Sort the other way round", "reverse", ("S",), _TABLE | _FILES),
    Action("table.freeze", "Hold the table still, or let it go", "freeze", ("Z",), _TABLE, "freeze"),
    # Consoles.
    Action("console.open", "Look into this sandbox, or into all marked", "open", ("enter",), _TABLE, "console", _ON_SANDBOX, Completion.SANDBOX, cli=_with_names("cloche attach --watch")),
    Action("console.new", "Open a new shell in the sandbox", "shell", ("c",), _TABLE | _CONSOLE, needs=_ON_SANDBOX | {Need.CHANGES}, argument=Completion.SANDBOX, cli=_with_names("cloche shell")),
    Action("console.drive", "Type into this console", "drive", ("enter", "i"), _CONSOLE, "drive", _ON_SANDBOX | {Need.CHANGES}, cli=_driving),
    Action("console.ask", "Ask whoever drives to let you", "ask", ("a",), _CONSOLE, "ask", _ON_CONSOLE | {Need.CHANGES}),
    Action("console.take", "Drive from now on, whoever does", "take", ("t",), _CONSOLE, "take", _ON_CONSOLE | {Need.CHANGES}, cli=_with_console("cloche attach --take")),
    Action("console.give", "Let who has asked drive", "give", ("g",), _CONSOLE, needs=_ON_CONSOLE | {Need.CHANGES}),
    Action("console.next", "Show another console of the sandbox", "next-console", ("]",), _CONSOLE | _TABLE),
    Action("console.boot", "Watch what the machine itself says", "boot", ("b",), _TABLE | _CONSOLE, needs=_ON_SANDBOX, cli=_with_names("cloche attach --watch")),
    Action("console.search", "Search in what the console has shown", "search", ("/",), _CONSOLE, "search", frozenset({Need.CONSOLE}), Completion.TEXT),
    Action("console.search_next", "Go to the match above", "next-match", ("n",), _CONSOLE),
    Action("console.search_previous", "Go to the match below", "previous-match", ("N",), _CONSOLE),
    Action("console.copy", "Copy what is marked, else the screen", "copy", ("y",), _CONSOLE, "copy", frozenset({Need.CONSOLE})),
    Action("console.clipboard", "Let the program copy what it wants copied", "clipboard", ("Y",), _CONSOLE, needs=frozenset({Need.CONSOLE})),
    Action("console.scroll_up", "Scroll back by a page", "scroll-up", ("pageup",), _CONSOLE, "scroll"),
    Action("console.scroll_down", "Scroll on by a page", "scroll-down", ("pagedown",), _CONSOLE),
    Action("console.to_start", "Go to the oldest line that is kept", "oldest", ("home",), _CONSOLE),
    Action("console.to_end", "Go back to what is shown now", "end", ("G", "end"), _CONSOLE),
    Action("console.save", "Save what the console has shown to a file", "save", argument=Completion.PATH, needs=frozenset({Need.CONSOLE})),
    Action("console.leave", "Go back to the list", "leave", ("escape",), _CONSOLE, "back"),
    Action("console.hide", "Close this pane; the console goes on", "hide", ("x",), _CONSOLE, "hide"),
    Action("console.close", "End a console and what runs in it", "close-console", ("X",), _CONSOLE | _TABLE, needs=_ON_SANDBOX | {Need.CHANGES}, argument=Completion.CONSOLE, cli=_closing),
    Action("console.full", "Give the console the whole screen, or not", "full", ("f", "f11"), _CONSOLE | _TABLE | _APPROVALS, "full"),
    Action("console.layout", "Show one, two or four consoles", "layout", ("w",), EVERYWHERE, argument=Completion.LAYOUT),
    Action("console.next_pane", "Go to the next pane", "next-pane", ("tab",), EVERYWHERE),
    Action("console.previous_pane", "Go to the pane before", "previous-pane", ("shift+tab",), EVERYWHERE),
    # Approvals.
    Action("approval.approve", "Approve this call, once", "approve", ("a",), _APPROVALS, "approve", _DECIDES, Completion.APPROVAL, cli=_with_approval("cloche approvals approve {}")),
    Action("approval.deny", "Deny this call, with a reason", "deny", ("d",), _APPROVALS, "deny", _DECIDES, Completion.APPROVAL, cli=_with_approval("cloche approvals deny {} --reason TEXT")),
    Action("approval.edit", "Edit the parameters, then approve", "edit", ("e",), _APPROVALS, "edit", _DECIDES, Completion.APPROVAL, cli=_with_approval("cloche approvals approve {} --edit")),
    Action("approval.fold", "Unfold what is folded, or fold it", "fold", ("enter",), _APPROVALS, "unfold", frozenset({Need.APPROVAL})),
    Action("approval.console", "Look into the console of the sandbox that asks", "approval-console", ("o",), _APPROVALS, "console", frozenset({Need.HUB, Need.APPROVAL})),
    # Audit.
    Action("audit.follow", "Follow the newest, or stand still", "follow", ("F",), _AUDIT, "follow"),
    Action("audit.detail", "Show or hide all of an event", "detail", ("enter",), _AUDIT, "detail", frozenset({Need.EVENT})),
    Action("audit.go", "Go to the sandbox or console of this event", "go", ("g",), _AUDIT, "go to", frozenset({Need.EVENT})),
    Action("audit.export", "Write the audit to a file", "export", ("ctrl+e",), _AUDIT, "export", frozenset({Need.HUB}), Completion.PATH, cli=_as_it_is("cloche audit export")),
    # Files.
    Action("files.enter", "Go into the selected folder", "enter", ("enter",), _FILES, "open"),
    Action("files.up", "Go to the folder above", "up", ("backspace",), _FILES, "up"),
    Action("files.go", "Go to a folder by its path", "cd", ("g",), _FILES, argument=Completion.PATH),
    Action("files.other_pane", "Go to the other folder, or to what is copied", "other-folder", ("o",), _FILES, "other"),
    Action("files.mark", "Mark the selected file", "mark-file", ("space",), _FILES, "mark"),
    Action("files.mark_all", "Mark all files that are shown", "mark-files", ("*",), _FILES),
    Action("files.clear_marks", "Take all marks away", "unmark-files", ("u",), _FILES),
    Action("files.copy", "Copy what is marked to the other folder", "copy-files", ("f5", "c"), _FILES, "copy", frozenset({Need.HUB}), cli=_copying),
    Action("files.cancel", "Give up a copy, or put away what has ended", "give-up", ("x",), _FILES, argument=Completion.TEXT),
    Action("files.mkdir", "Make a folder", "mkdir", ("f7",), _FILES, argument=Completion.TEXT),
    Action("files.delete", "Remove files of the sandbox", "remove", ("ctrl+d",), _FILES, "remove", frozenset({Need.HUB, Need.CHANGES, Need.PATH})),
    Action("files.refresh", "Look at both folders anew", "refresh", ("ctrl+r",), _FILES),
)  # fmt: skip
BY_ID: Mapping[str, Action] = {action.id: action for action in ACTIONS}
BY_COMMAND: Mapping[str, Action] = {action.command: action for action in ACTIONS}


def meant_by(key: str, place: Place, keys: Mapping[str, tuple[str, ...]]) -> Action | None:
    """The action of a key in a place; None: it has none there.

    Args:
        key: as it is written in the registry.
        place: where the focus is.
        keys: of each action by its id, as the person wants them.
    """
    for action in ACTIONS:
        if place in action.places and key in keys.get(action.id, action.keys):
            return action
    return None


def possible(now: Situation, actions: Iterable[Action] = ACTIONS) -> list[Action]:
    """What can be done now."""
    return [action for action in actions if refusal(action, now) is None]
