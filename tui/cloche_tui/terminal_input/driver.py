"""Textual's driver for a terminal, which can give the keyboard to a console.

    grab = driver.grab(taker, modes)    from now on keys are the program's, verbatim and at once
    grab.follow(modes)                  the program has switched something
    grab.release()                      keys are Textual's again; the way out does the same

What is whose is decided in `grab`; this reads, asks it, and passes on. Where there is no such driver (in a browser, in
tests without a terminal) nobody can grab, and keys are encoded from Textual's events instead.

Rules:
- The person's terminal is put back by `stop_application_mode`, whatever has happened: while a console has the keyboard
  the depth of the terminal's stack of keyboard modes is as Textual has made it; only the topmost entry is changed.
- Input is read by a thread; what it has read is told in the loop, in order, in the context of the program.
- A terminal that is gone ends the program: nobody could type anything any more, and reading would spin.
"""

from __future__ import annotations

import codecs
import contextlib
import contextvars
import os
import selectors
import signal
import threading
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any, Protocol

from textual import constants, events
from textual.app import App
from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size
from textual.message import Message

from cloche_term.terminal import Modes
from cloche_tui.terminal_input.grab import ForProgram, ForTextual, Pasted, Piece, Splitter
from cloche_tui.terminal_input.key_forms import without_events
from cloche_tui.terminal_input.prompt_parser import PromptParser

TEXTUALS_KEYS = (
    linux_driver.KITTY_DISAMBIGUATE_ESCAPE_CODES
    | linux_driver.KITTY_REPORT_ALL_KEYS
    | linux_driver.KITTY_REPORT_ASSOCIATED_TEXT
)
"""The flags of kitty's protocol that Textual asks the terminal for."""
_READ_BYTES = 16 << 10
_LONGEST_WAIT_S = 0.1
"""After which it is seen that the program ends."""


class Taker(Protocol):
    """Who is told what is typed; in the loop, and in order."""

    def take_bytes(self, data: bytes) -> None:
        """Keys; also those that were typed just before the keyboard was released."""

    def take_paste(self, text: str) -> None:
        """Something was pasted; as `take_bytes`."""

    def left(self) -> None:
        """The person has taken the way out: nobody has the keyboard any more."""


class Grab:
    """One console's hold on the keyboard, from `GrabDriver.grab`."""

    def __init__(self, driver: GrabDriver, taker: Taker, modes: Modes) -> None:
        self._driver, self.taker = driver, taker
        self.context = contextvars.copy_context()
        self.splitter = Splitter(modes)

    def follow(self, modes: Modes) -> None:
        """The program's terminal has other modes now."""
        if self.splitter.modes != modes:
            self.splitter.modes = modes
            self._driver.switch_keyboard_of(self)

    def release(self) -> None:
        """Gives the keyboard back, without telling the taker; to nobody's harm if it is another's by now."""
        self._driver.take_back(self)


class GrabDriver(LinuxDriver):
    """A driver whose keyboard a console can have."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        if self._size is None:
            self._size = self._get_terminal_size()
        self._grabbed: Grab | None = None
        self._grabbing = threading.Lock()
        self._is_on = self._is_gone = False
        self._own_context = contextvars.copy_context()

    @property
    def is_grabbed(self) -> bool:
        """Whether a console has the keyboard."""
        return self._grabbed is not None

    def grab(self, taker: Taker, modes: Modes) -> Grab:
        """Gives the keyboard to a console, also if another one has it, which is not told.

        Args:
            taker: is told what is typed.
            modes: of the program's terminal.
        """
        grab = Grab(self, taker, modes)
        with self._grabbing:
            self._grabbed = grab
            self._switch_keyboard(modes)
        return grab

    def switch_keyboard_of(self, grab: Grab) -> None:
        """Has the terminal send keys as this console's program wants them, if that console has the keyboard."""
        with self._grabbing:
            if self._grabbed is grab:
                self._switch_keyboard(grab.splitter.modes)

    def take_back(self, grab: Grab) -> None:
        """Ends this grab, if it lasts. From any thread."""
        with self._grabbing:
            if self._grabbed is grab:
                self._grabbed = None
                self._switch_keyboard(None)

    def write(self, data: str) -> None:
        """Writes to the terminal, while there is one."""
        # Nobody writes any more for who has asked Textual's writer too often to write to nothing.
        if not self._is_gone:
            super().write(data)

    def start_application_mode(self) -> None:
        """Begins, or goes on after a suspension; who had the keyboard then has it again."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        # In Textual's own handler a signal that comes while it runs tells the new size, and then it the old one.
        signal.signal(signal.SIGWINCH, lambda *_: self._in_loop(self._tell_size, context=self._own_context))
        with self._grabbing:
            # It does not begin where it may not write: in the background.
            self._is_on = self._writer_thread is not None and self._writer_thread.is_alive()
            if self._grabbed is not None:
                self._switch_keyboard(self._grabbed.splitter.modes)

    def stop_application_mode(self) -> None:
        """Puts the person's terminal back."""
        with self._grabbing:
            if self._grabbed is not None:
                self._switch_keyboard(None)
            self._is_on = False
        super().stop_application_mode()

    def run_input_thread(self) -> None:
        """Reads until the program ends, or the terminal is gone."""
        reader = _TextualReader(self.process_message, debug=self._debug)
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(self._wait_s(reader)):
                    data = _read(self.fileno)
                    if not data:
                        self._is_gone = True
                        self._in_loop(self._app.exit, context=self._own_context)
                        break
                    self._take(data, reader)
                self._let_time_pass(reader)
        reader.close()

    def _wait_s(self, reader: _TextualReader) -> float:
        grab = self._grabbed
        deadlines = [reader.deadline, grab.splitter.deadline if grab is not None else None]
        waits = [at - monotonic() for at in deadlines if at is not None]
        return max(min([*waits, _LONGEST_WAIT_S]), 0)

    def _take(self, data: bytes, reader: _TextualReader) -> None:
        grab = self._grabbed
        if grab is None:
            reader.feed(without_events(data))
            return
        is_cut = len(data) == _READ_BYTES
        self._pass_on(grab.splitter.split(data, monotonic(), is_cut=is_cut), grab, reader)

    def _tell_size(self) -> None:
        size = Size(*self._get_terminal_size())
        self._app.post_message(events.Resize(size, size))

    def _query_in_band_window_resize(self) -> None:
        """Does not ask for sizes among the keys, which a console may have: the signal tells everywhere."""

    def _get_terminal_size(self) -> tuple[int, int]:
        # Before COLUMNS and LINES, which Textual believes first: they are another terminal's, and stay as they are.
        with contextlib.suppress(OSError):
            size = os.get_terminal_size(self.fileno)
            if size.columns and size.lines:
                return size.columns, size.lines
        return super()._get_terminal_size()

    def _let_time_pass(self, reader: _TextualReader) -> None:
        if (grab := self._grabbed) is not None:
            self._pass_on(grab.splitter.time_is_up(monotonic()), grab, reader)
        reader.let_time_pass()

    def _pass_on(self, pieces: Iterable[Piece], grab: Grab, reader: _TextualReader) -> None:
        for piece in pieces:
            if isinstance(piece, ForProgram):
                self._in_loop(grab.taker.take_bytes, piece.data, context=grab.context)
            elif isinstance(piece, Pasted):
                text = piece.data.decode(errors="replace")
                self._in_loop(grab.taker.take_paste, text, context=grab.context)
            elif isinstance(piece, ForTextual):
                reader.feed(piece.data)
            else:
                self.take_back(grab)
                self._in_loop(grab.taker.left, context=grab.context)
                reader.feed(piece.rest)

    def _in_loop(self, call: Callable[..., object], *arguments: object, context: contextvars.Context) -> None:
        # Textual finds its app in the context.
        self._loop.call_soon_threadsafe(call, *arguments, context=context)

    def _switch_keyboard(self, modes: Modes | None) -> None:
        """Has the terminal send keys as a program wants them, or as Textual does."""
        if not self._is_on:
            return
        # The keypad says nothing that could be told apart from digits, unless the terminal is in that mode itself.
        keypad = "\x1b=" if modes is not None and modes.application_keypad else "\x1b>"
        flags = TEXTUALS_KEYS if modes is None else modes.kitty_keyboard
        self.write(keypad if constants.DISABLE_KITTY_KEY else f"{keypad}\x1b[={flags};1u")
        self.flush()


class _TextualReader:
    """Textual's side of the keyboard: bytes in, messages out."""

    def __init__(self, tell: Callable[[Message], None], *, debug: bool) -> None:
        self._tell = tell
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parser = PromptParser(debug)

    @property
    def deadline(self) -> float | None:
        """When `let_time_pass` is to be called, if nothing is read before."""
        return self._parser.deadline

    def feed(self, data: bytes) -> None:
        """Reads what was typed."""
        text = self._decoder.decode(data)
        is_plain = "\x1b" not in text and self._parser.deadline is None
        # One by one, so that what cannot be read costs nothing that comes behind it. To the parser, no text is the end.
        for piece in filter(None, [text] if is_plain else text):
            try:
                for message in self._parser.feed(piece):
                    self._tell(message)
            except ValueError:
                # It takes a key apart that has more parts than Textual knows of, and is of no use after that.
                self._parser = self._parser.renewed()

    def let_time_pass(self) -> None:
        """Tells keys that are whole only because nothing has followed."""
        for message in self._parser.tick():
            self._tell(message)

    def close(self) -> None:
        """Nothing more is read."""
        for _ in self._parser.feed(""):
            pass


def _read(descriptor: int) -> bytes:
    """What has been typed; nothing if the terminal is gone."""
    try:
        return os.read(descriptor, _READ_BYTES)
    except OSError:
        return b""
