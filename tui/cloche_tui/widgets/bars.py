"""The line that is typed into: `:` commands with what they could become, and `/` filters with how much they leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from cloche.printable import printable
from cloche_tui.model.commands import History
from cloche_tui.model.roles import Role
from cloche_tui.widgets.styles import style_of

_MOST_SHOWN = 8


class _Line(Input):
    """An input that gives up on escape and walks through what was typed before."""

    DEFAULT_CSS = """
    _Line, _Line:focus { height: 1; border: none; padding: 0; background: $panel; width: 1fr; }
    """

    def __init__(self, history: History) -> None:
        super().__init__(compact=True, select_on_focus=False)
        self.history = history

    async def _on_key(self, event: events.Key) -> None:
        if event.key in ("up", "down"):
            event.stop()
            self.value = self.history.move(-1 if event.key == "up" else 1)
            self.cursor_position = len(self.value)
            return
        await super()._on_key(event)


class _Bar(Horizontal):
    """A sign, a line that is typed into, and something at its right.

    Attributes:
        is_wrong: whether what stands at the right says that what is typed is wrong.
    """

    DEFAULT_CSS = """
    _Bar { height: 1; display: none; background: $panel; }
    _Bar .sign { width: auto; color: $accent; text-style: bold; }
    _Bar .aside {
        width: auto; height: 1; max-width: 70%; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis;
    }
    """
    sign = ""

    def __init__(self, history: History) -> None:
        super().__init__()
        self.is_wrong = False
        self.line = _Line(history)
        self._aside = Static("", classes="aside", markup=False)

    def compose(self) -> ComposeResult:
        """The three of them."""
        yield Static(self.sign, classes="sign", markup=False)
        yield self.line
        yield self._aside

    def tell(self, text: str, role: Role = Role.MUTED) -> None:
        """Shows something at the right."""
        self.is_wrong = role is Role.BAD
        self._aside.update(Text(f" {printable(text)} ", style_of(self.app, role)))

    def open(self, text: str = "") -> None:
        """Shows the line and gives it the focus."""
        self.display = True
        self.line.value = text
        self.line.cursor_position = len(text)
        self.tell("")
        # At once: what is typed behind the key that opened it is meant for it.
        self.screen.set_focus(self.line)

    def close(self) -> None:
        """Takes the line away."""
        self.display = False


class CommandBar(_Bar):
    """What is typed behind `:`.

    Args:
        history: what was typed before.
        complete: what a line could become.
    """

    @dataclass
    class Typed(Message):
        """A command is to be done."""

        line: str

    class Left(Message):
        """Nothing is to be done."""

    sign = ":"

    def __init__(self, history: History, complete: Callable[[str], Sequence[str]]) -> None:
        super().__init__(history)
        self._complete = complete
        self._candidates: Sequence[str] = ()

    @on(Input.Changed)
    def _show_candidates(self, event: Input.Changed) -> None:
        event.stop()
        self._candidates = self._complete(event.value)
        shown = [each.rpartition(" ")[2] for each in self._candidates[:_MOST_SHOWN]]
        more = len(self._candidates) - len(shown)
        self.tell("  ".join(shown) + (f"  +{more}" if more else ""))

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        event.stop()
        if line := event.value.strip():
            self.line.history.add(line)
        self.post_message(self.Typed(line) if line else self.Left())

    def on_key(self, event: events.Key) -> None:
        """Completes, or leaves."""
        if event.key == "tab" and self._candidates:
            event.stop()
            self.line.value = self._candidates[0] + ("" if " " in self.line.value else " ")
            self.line.cursor_position = len(self.line.value)
        elif event.key == "escape" or (event.key == "backspace" and not self.line.value):
            event.stop()
            self.post_message(self.Left())


class FilterBar(_Bar):
    """What is typed behind `/`."""

    @dataclass
    class Changed(Message):
        """The list is to show what matches this."""

        text: str

    @dataclass
    class Left(Message):
        """It is typed.

        Attributes:
            is_kept: whether the filter stays.
        """

        is_kept: bool

    sign = "/"

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _keep(self, event: Input.Submitted) -> None:
        event.stop()
        if text := event.value.strip():
            self.line.history.add(text)
        self.post_message(self.Left(is_kept=bool(text)))

    def gives_way(self, left: Left) -> bool:
        """Takes the line away, unless what would be kept is wrong: what is shown is by what was typed before."""
        if not (stays := left.is_kept and self.is_wrong):
            self.close()
        return not stays

    def on_key(self, event: events.Key) -> None:
        """Leaves, and takes the filter away."""
        if event.key == "escape":
            event.stop()
            self.post_message(self.Left(is_kept=False))


def is_end_of_line(key: events.Key, focused: Widget | None) -> bool:
    """Whether a key ends what is typed into one of these lines, so that `Typed` or `Left` is to come."""
    return isinstance(focused, _Line) and key.key in ("enter", "escape")
