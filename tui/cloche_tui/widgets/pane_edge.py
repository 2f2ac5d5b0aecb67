"""The edge of a console's pane: how we stand to it, by the border's form, its colour, a heading and a last line."""

from __future__ import annotations

from textual.widget import Widget

from cloche_tui.model.console_status import ConsoleStatus, Keys, Phase, Size, foot, heading
from cloche_tui.model.roles import Role
from cloche_tui.widgets.styles import text_of

EDGE_CSS = """
    ConsolePane {
        width: 1fr;
        height: 1fr;
        border: round $primary 50%;
        border-title-align: left;
        border-subtitle-align: left;
        border-title-color: $foreground;
        border-subtitle-color: $foreground;
    }
    ConsolePane:focus-within { border: round $primary; }
    ConsolePane.-driving, ConsolePane.-driving:focus-within { border: heavy $warning; }
    ConsolePane.-bad, ConsolePane.-bad:focus-within { border: heavy $error; }
    ConsolePane.-over, ConsolePane.-over:focus-within { border: dashed $foreground-muted; }
    ConsolePane.-alone { border-left: none; border-right: none; }
    ConsolePane.-away TerminalView { text-opacity: 45%; }
    """
_CLASSES = {Role.DRIVING: "-driving", Role.WATCHING: "-watching", Role.BAD: "-bad", Role.MUTED: "-over"}


def show_edge(
    pane: Widget, status: ConsoleStatus, name: str, *, window: Size, keys: Keys, notice: str
) -> None:
    """Shows how we stand to a console.

    Args:
        pane: whose edge it is.
        status: how it is.
        name: what to call it as long as it is not known.
        window: the size of the pane.
        keys: what the keys are called.
        notice: something that is told for a moment; empty: nothing.
    """
    pane.border_title = text_of(pane.app, heading(status, name))
    pane.border_subtitle = text_of(pane.app, foot(status, window, keys, notice=notice))
    for role, css_class in _CLASSES.items():
        pane.set_class(status.role is role, css_class)
    pane.set_class(status.phase is Phase.AWAY, "-away")
