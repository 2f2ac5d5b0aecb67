"""A console that a person can type into, point at and copy from.

    view.attach(terminal), view.touch()      show this one; it may look different
    view.drive()                             keys go into it, until `Released`

What is to be typed comes out as `Typed`; who sends it, and whether anybody may drive, is others' to know. While nobody
drives, keys are not taken here: the dashboard's actions scroll, search and copy by calling what is below.

Rules:
- What is typed keeps its order, also where the terminal has to be asked what a key, a paste or the mouse types.
- Who drives has the focus: when another widget or screen gets it, nobody drives any more.
- SAFETY: only what a person has selected gets to the operator's clipboard, and a link is never opened from here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Offset
from textual.message import Message
from textual.timer import Timer

from cloche.printable import printable
from cloche_term import Key, TerminalError, key_named
from cloche_term.terminal import CursorShape, Mouse, MouseAction
from cloche_tui.model.selection import Place
from cloche_tui.widgets.terminal_driving import WAY_OUT, WAY_OUT_KEY, Driving
from cloche_tui.widgets.terminal_mouse import LINES_A_TURN, hears, keys_of_wheel, mouse_of
from cloche_tui.widgets.terminal_reader import TerminalReader
from cloche_tui.widgets.terminal_strips import Mark

if TYPE_CHECKING:
    from cloche_term.apart.terminals import ApartTerminal

_DRAG_EVERY_S = 0.05
"""From one line to the next, while the pointer is dragged beyond the view."""
_LEFT = 1
_CURSORS = {
    CursorShape.BLOCK: Mark.CURSOR_BLOCK,
    CursorShape.UNDERLINE: Mark.CURSOR_UNDERLINE,
    CursorShape.BAR: Mark.CURSOR_BAR,
}


class TerminalView(TerminalReader, can_focus=True):
    """A console, with a person in front of it."""

    @dataclass
    class Typed(Message):
        """This is to be typed into the console."""

        data: bytes

    class Released(Message):
        """Nobody drives any more: the person has taken the way out, or the focus has gone elsewhere."""

    class DriveAgain(Message):
        """The way out was taken twice at once: its key has been typed, and keys go into the console again."""

    @dataclass
    class Copied(Message):
        """This was put on the operator's clipboard."""

        text: str

    @dataclass
    class LinkAsked(Message):
        """A link was put on the operator's clipboard, since the person has pressed ctrl and the button on it."""

        url: str

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's word
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._driving = Driving(self)
        self.is_leaving = False
        """Whether the person has taken the way out, and whoever hears of `Released` has not yet: set back by them."""
        self._drag_at = Offset()
        self._drag_timer: Timer | None = None
        self._held: Mouse | None = None
        """The button the program was told of that is still down."""
        self._told: Mouse | None = None
        """The move the program was told of last."""
        self._pointed: tuple[int, int] | None = None

    # Driving.

    @property
    def is_driving(self) -> bool:
        """Whether what is typed goes into the console."""
        return self._driving.is_on

    def drive(self) -> None:
        """Has what is typed go into the console from now on. Idempotent."""
        if self.is_driving:
            return
        self.focus()
        self._driving.begin(self.app._driver, self.picture.modes)  # noqa: SLF001 - there is no other way to it
        self.scroll_to_newest()
        self._tell_focus(has_focus=True)
        self.draw_cursor()

    def release(self) -> None:
        """Has keys mean what they mean to the dashboard. Idempotent, and `Released` is not told."""
        if self.is_driving:
            self._tell_focus(has_focus=False)
            self._driving.end()
            self.draw_cursor()

    def copy(self) -> None:
        """Copies what is selected, else what is shown; `Copied` tells."""
        self.errands.add(self._copy)

    # What was painted.

    def painted(self) -> None:
        """Follows what the program has switched, and the pointer on text that moves."""
        self._driving.follow(self.picture.modes)
        if self.pointing.is_dragging:
            self._extend()
        if self.is_driving and (y := self.window.y_of(self.picture.cursor.row)) is not None:
            # Where a person's input method shows what is being composed.
            place = self.content_region.offset + Offset(self.picture.cursor.col - self.window.left, y)
            self.app.cursor_position = place

    def cursor_mark(self) -> Mark:
        """As the program wants it while somebody drives; else a line that shows where it is."""
        return _CURSORS[self.picture.cursor.shape] if self.is_driving else Mark.CURSOR_IDLE

    # Keys.

    def on_key(self, event: events.Key) -> None:
        """Types it where keys come as events; watches for the second half of the way out."""
        if self._driving.takes_keys:
            event.stop()
            event.prevent_default()
            if event.key == WAY_OUT_KEY:
                self.left()
            elif (key := key_named(event.key, event.character)) is not None:
                self._type_key(key)
        elif self._driving.wants_back(event.key, monotonic()):
            event.stop()
            event.prevent_default()
            self.drive()
            self.take_bytes(WAY_OUT)
            self.post_message(self.DriveAgain())

    def on_paste(self, event: events.Paste) -> None:
        """Types what was pasted."""
        if self.is_driving:
            event.stop()
            self.take_paste(event.text)

    def take_bytes(self, data: bytes) -> None:
        """Types bytes as they are, where keys come from the driver."""
        if not self.is_driving:
            # Typed in the very moment in which somebody else got the focus.
            return
        if self.errands.is_idle:
            self.post_message(self.Typed(data))
        else:
            self.errands.add(lambda: self._post_typed(data))
        if not self.is_at_end:
            self.scroll_to_newest()

    def take_paste(self, text: str) -> None:
        """Types what was pasted, marked as the program wants it."""
        if self.is_driving:
            self._ask(lambda terminal: terminal.encode_paste(text))
            self.scroll_to_newest()

    def left(self) -> None:
        """The person has taken the way out."""
        if self.is_driving:
            self._tell_focus(has_focus=False)
            self._driving.leave(monotonic())
            self.is_leaving = True
            self.draw_cursor()
            self.post_message(self.Released())

    def _type_key(self, key: Key) -> None:
        self._ask(lambda terminal: terminal.encode_key(key))
        if not self.is_at_end:
            self.scroll_to_newest()

    def _lose(self) -> None:
        """Somebody else has the focus."""
        if self.is_driving:
            self.release()
            self.post_message(self.Released())

    # Asking the terminal what something types.

    def _ask(self, encode: Callable[[ApartTerminal], Awaitable[bytes]], *, instead_of: str = "") -> None:
        async def errand() -> None:
            if self.terminal is not None and (data := await encode(self.terminal)):
                self.post_message(self.Typed(data))

        self.errands.add(errand, instead_of=instead_of)

    async def _post_typed(self, data: bytes) -> None:
        self.post_message(self.Typed(data))

    def _tell_focus(self, *, has_focus: bool) -> None:
        if self.picture.modes.focus_events:
            self._ask(lambda terminal: terminal.encode_focus(has_focus=has_focus))

    # The focus.

    def on_focus(self) -> None:
        """It has the focus, maybe since the whole program has it again."""
        if self.is_driving:
            self._tell_focus(has_focus=True)
        self.draw_cursor()

    def on_blur(self) -> None:
        """It has lost the focus: to another widget, or the whole program to another one."""
        if self.app.app_focus:
            self._lose()
        elif self.is_driving:
            self._tell_focus(has_focus=False)
        self.draw_cursor()

    def on_hide(self) -> None:
        """It is not seen: nobody is to type into what they do not see."""
        self._lose()

    def on_unmount(self) -> None:
        """Nobody can drive what is not there."""
        self._driving.end()

    def _stack_changed(self) -> None:
        super()._stack_changed()
        if not self.screen.is_active:
            self._lose()

    # The mouse.

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Is the program's, asks for a link, or begins a selection."""
        event.stop()
        x, y = self._place(event)
        cell = self.window.cell_at(x, y)
        if cell is not None and event.ctrl and event.button == _LEFT and self.picture.has_link(*cell):
            self.errands.add(lambda: self._copy_link(*cell))
        elif self._tell_mouse(event):
            self.capture_mouse()
        elif event.button == _LEFT:
            self.capture_mouse()
            place = self._text_place(x, y)
            self.pointing.pressed(place, self.picture.glyphs_of_line(place.line), event.time)
            self.draw_all()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Is the program's, drags a selection, or shows where a link leads."""
        event.stop()
        x, y = self._place(event)
        if self.pointing.is_dragging:
            self._drag_at = Offset(x, y)
            self._extend()
            self._drag_on_if_outside()
        elif not self._tell_mouse(event):
            self._point_at(self.window.cell_at(x, y))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Is the program's, or ends a selection, which is copied."""
        event.stop()
        self.release_mouse()
        self._stop_dragging_on()
        if self.pointing.is_dragging:
            if self.pointing.released():
                self.copy()
            self.draw_all()
        else:
            self._tell_mouse(event)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Is the program's, or shows older lines."""
        self._turn(event, -LINES_A_TURN)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Is the program's, or shows newer lines."""
        self._turn(event, LINES_A_TURN)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        """Is the program's."""
        self._turn(event, 0)

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        """Is the program's."""
        self._turn(event, 0)

    def on_leave(self) -> None:
        """The pointer is elsewhere."""
        self._point_at(None)

    def _place(self, event: events.MouseEvent) -> tuple[int, int]:
        """Where it is in the content, or beside it."""
        return event.x - self.gutter.left, event.y - self.gutter.top

    def _text_place(self, x: int, y: int) -> Place:
        row, col = self.window.nearest_cell(x, y)
        return Place(self.picture.view_line + row, col)

    def _tell_mouse(self, event: events.MouseEvent) -> bool:
        """Tells the program, if it wants to hear of it from who drives; with shift nothing is the program's."""
        modes = self.picture.modes
        mouse = mouse_of(event, *self.window.nearest_cell(*self._place(event)))
        if mouse is None or not self.is_driving:
            return False
        is_ours = event.shift or self.window.cell_at(*self._place(event)) is None
        if not hears(modes, mouse) or (is_ours and self._held is None):
            return False
        if mouse.action is not MouseAction.MOVE:
            self._held = mouse if mouse.action is MouseAction.PRESS and event.button else None
        if mouse == self._told:
            # It has moved within a cell.
            return True
        self._told = mouse if mouse.action is MouseAction.MOVE else None
        moves = "move" if mouse.action is MouseAction.MOVE else ""
        self._ask(lambda terminal: terminal.encode_mouse(mouse), instead_of=moves)
        return True

    def _turn(self, event: events.MouseEvent, lines: int) -> None:
        event.stop()
        if self._tell_mouse(event):
            return
        if self.is_driving and lines and keys_of_wheel(self.picture.modes):
            for _ in range(abs(lines)):
                self._type_key(Key("up" if lines < 0 else "down"))
        elif lines:
            self.scroll_console(lines)

    # Selecting.

    def _extend(self) -> None:
        """What is selected reaches to the pointer."""
        place = self._text_place(*self._drag_at)
        if self.pointing.moved(place, self.picture.glyphs_of_line(place.line)):
            self.draw_all()

    def _drag_on_if_outside(self) -> None:
        if 0 <= self._drag_at.y < self.size.height:
            self._stop_dragging_on()
        elif self._drag_timer is None:
            self._drag_timer = self.set_interval(_DRAG_EVERY_S, self._drag_on)

    def _drag_on(self) -> None:
        self.scroll_console(-1 if self._drag_at.y < 0 else 1)

    def _stop_dragging_on(self) -> None:
        if self._drag_timer is not None:
            self._drag_timer.stop()
            self._drag_timer = None

    async def _copy(self) -> None:
        text = await self.text_of_selection()
        if text:
            self.app.copy_to_clipboard(text)
            self.post_message(self.Copied(text))

    # Links.

    def _point_at(self, cell: tuple[int, int] | None) -> None:
        """Shows where the link under the pointer leads."""
        if cell is not None and not self.picture.has_link(*cell):
            cell = None
        if cell == self._pointed:
            return
        self._pointed = cell
        if cell is None:
            self.say_below("")
        else:
            self.errands.add(self._show_link, instead_of="link")

    async def _show_link(self) -> None:
        if self.terminal is None or (cell := self._pointed) is None:
            return
        try:
            url = await self.terminal.link(*cell)
        except TerminalError:
            url = ""
        if cell == self._pointed:
            self.say_below(printable(url))

    async def _copy_link(self, row: int, col: int) -> None:
        if self.terminal is not None and (url := await self.terminal.link(row, col)):
            self.app.copy_to_clipboard(url)
            self.post_message(self.LinkAsked(url))
