"""One console of a hub without machines: a real program in a real terminal, right here, and who looks at it.

Who drives is decided by the hub's own rules; the screen is that of the hub's own emulator. Nothing of it is stored, and
a viewer that reads slowly is told everything all the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import pty
import signal
import struct
import termios
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from cloche_hub.domain import driving
from cloche_hub.domain.console import Console, Viewer, ViewerMode, console_fields, ended
from cloche_hub.domain.driving import AttachMode, Step
from cloche_term import open_terminal
from cloche_wire.aio import Channel
from cloche_wire.errors import BadRequest, CommandNotStarted
from tests.support.local_recordings import LocalRecording
from tests.support.processes import end_process

Told = dict[str, Any]


class LocalConsole:
    """A console, and its program once `start` has been called; `live` leads it.

    Attributes:
        state: what the hub's clients are told of it.
        result: how its program ended; None while it runs.
        recording: what is kept of it; None if nothing is.
        attached: the channel of each viewer.
    """

    def __init__(self, state: Console, recording: LocalRecording | None = None) -> None:
        self.state, self.recording = state, recording
        self.result: dict[str, Any] | None = None
        self.attached: dict[str, Channel] = {}
        self.over = asyncio.Event()
        self._terminal = open_terminal(state.rows, state.cols)
        self._offset = self._came = 0
        self._told: dict[str, asyncio.Queue[Told | None]] = {}
        self._news = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._ours = -1

    @property
    def fields(self) -> dict[str, Any]:
        """As clients are told of it."""
        return console_fields(self.state)

    # Its program.

    async def start(self, environ: Mapping[str, str], cwd: str | None) -> None:
        """Starts the program.

        Raises:
            CommandNotStarted: there is none.
        """
        self._ours, theirs = pty.openpty()
        try:
            _set_size(self._ours, self.state.rows, self.state.cols)
            self._process = await asyncio.create_subprocess_exec(
                *(self.state.command or ("/bin/sh",)),
                env={**os.environ, **environ},
                cwd=cwd,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
            )
        except OSError as error:
            os.close(self._ours)
            raise CommandNotStarted(f"cannot run it: {error.strerror}", reason="not_found") from None
        finally:
            os.close(theirs)
        os.set_blocking(self._ours, False)

    async def live(self) -> None:
        """Leads the program to its end."""
        assert self._process is not None
        began = time.monotonic()
        try:
            while piece := await self._read():
                self.shows(piece)
            code = await self._process.wait()
        finally:
            try:
                await end_process(self._process)
            finally:
                os.close(self._ours)
                self._ours = -1
        ending = {"signal": signal.Signals(-code).name[3:]} if code < 0 else {"exit_code": code}
        self.end(**ending, duration_s=time.monotonic() - began)

    def end(self, **how: Any) -> None:
        """All is over."""
        self.result = how
        self.state = ended(self.state, at=datetime.now(UTC), **how)
        if self.recording is not None:
            self.recording.finish()
        for told in self._told.values():
            told.put_nowait(None)
        self._has_changed()
        self.over.set()

    def close(self) -> None:
        """Gives back what it holds; nothing else may be called afterwards."""
        self._terminal.close()

    def hang_up(self, number: int = signal.SIGKILL) -> None:
        """Sends a signal to all that runs in it."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def shows(self, data: bytes) -> None:
        """The program has written."""
        self._offset += len(data)
        answer = self._terminal.feed(data)
        if self.recording is not None:
            self.recording.output(data)
        self._tell_all({"output": data})
        if answer and self._ours >= 0:
            os.write(self._ours, answer)
        if self._terminal.title != self.state.title:
            self.state = replace(self.state, title=self._terminal.title)
        self._has_changed()

    async def _read(self) -> bytes:
        loop = asyncio.get_running_loop()
        while True:
            readable = asyncio.Event()
            loop.add_reader(self._ours, readable.set)
            try:
                await readable.wait()
                return os.read(self._ours, 65536)
            except BlockingIOError:
                continue
            except OSError as error:
                if error.errno != errno.EIO:  # nobody has the terminal open any more
                    raise
                return b""
            finally:
                loop.remove_reader(self._ours)

    # Who looks at it.

    def join(self, mode: str, rows: int, cols: int, scrollback: int, *, who: str) -> str:
        """Somebody attaches; returns the viewer's id, and `next_told` has the screen first."""
        self._came += 1
        viewer = Viewer(
            f"v{self._came}", f"tok_{who}", who, ViewerMode.WATCHING, rows, cols, datetime.now(UTC)
        )
        self._told[viewer.id] = asyncio.Queue()
        self._tell_screen(viewer.id, scrollback)
        if self.result is not None:
            self._told[viewer.id].put_nowait(None)
        else:
            self._take_step(viewer.id, driving.attach(self.state, viewer, AttachMode(mode)))
        return viewer.id

    def leave(self, viewer: str) -> None:
        """A viewer has detached. Idempotent."""
        self.attached.pop(viewer, None)
        if self._told.pop(viewer, None) is None:
            return
        self._take_step(viewer, driving.detach(self.state, viewer))

    async def next_told(self, viewer: str) -> Told | None:
        """What a viewer is told next; None at the end."""
        return await self._told[viewer].get()

    def typed(self, viewer: str, data: bytes) -> None:
        """A viewer types."""
        if viewer != self.state.driver:
            self._told[viewer].put_nowait({"notice": "you only watch: what you type goes nowhere"})
        elif self._ours >= 0:
            os.write(self._ours, data)

    def obey(self, viewer: str, message: Any) -> None:
        """A viewer's message.

        Raises:
            BadRequest: it is none.
        """
        match message:
            case {"resize": {"rows": rows, "cols": cols}}:
                _check_size(rows, cols)
                self._take_step(viewer, driving.resize(self.state, viewer, rows=rows, cols=cols))
            case {"signal": name}:
                if viewer == self.state.driver:
                    self.hang_up(signal.Signals[f"SIG{name}"])
            case {"ask": True}:
                self._take_step(viewer, driving.ask(self.state, viewer))
            case {"give": other}:
                self._take_step(viewer, driving.give(self.state, viewer, other))
            case {"take": True}:
                self._take_step(viewer, driving.take(self.state, viewer))
            case {"refresh": True}:
                self._tell_screen(viewer, 0)
            case _:
                raise BadRequest(f"no message of a viewer: {message!r}")

    def _take_step(self, viewer: str, step: Step) -> None:
        if self.result is not None:
            return
        self.state = step.console
        if step.is_resized:
            rows, cols = self.state.rows, self.state.cols
            self._terminal.resize(rows, cols)
            if self._ours >= 0:
                _set_size(self._ours, rows, cols)
            if self.recording is not None:
                self.recording.resize(rows, cols)
            self._tell_all({"resize": {"rows": rows, "cols": cols}})
        self._tell_all({"viewers": self.fields["viewers"], "driver": self.state.driver})
        if step.hand_over is not None:
            self._tell_all({"notice": step.hand_over.notice})
        if step.asked is not None and self.state.driver is not None:
            self._told[self.state.driver].put_nowait({"asked": step.asked.fields()})
        if step.refusal is not None:
            self._told[viewer].put_nowait({"notice": step.refusal})
        self._has_changed()

    def _tell_screen(self, viewer: str, scrollback: int) -> None:
        size = {"rows": self.state.rows, "cols": self.state.cols, "lost_bytes": 0}
        for message in (
            {"screen": size},
            {"output": self._terminal.dump(scrollback_lines=scrollback)},
            {"live": self._offset},
        ):
            self._told[viewer].put_nowait(message)

    def _tell_all(self, message: Told) -> None:
        for told in self._told.values():
            told.put_nowait(message)

    # Its screen.

    def screen(self) -> tuple[Told, asyncio.Event]:
        """The screen as it is now, and what is set when it is another."""
        cursor = self._terminal.cursor
        return {
            "rows": self.state.rows,
            "cols": self.state.cols,
            "lines": list(self._terminal.text()),
            "cursor": {"row": cursor.row, "col": cursor.col, "is_visible": cursor.is_visible},
            "title": self._terminal.title,
            "is_alternate": self._terminal.modes.is_alternate,
            "first_line": self._terminal.first_line,
            "offset": self._offset,
            "state": str(self.state.state),
            "driver": self.state.driver,
        }, self._news

    def _has_changed(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def _check_size(rows: Any, cols: Any) -> None:
    if not (type(rows) is int and type(cols) is int and 1 <= rows <= 1000 and 1 <= cols <= 1000):
        raise BadRequest(f"rows and cols must be from 1 to 1000, not {rows!r} and {cols!r}")


def _set_size(ours: int, rows: int, cols: int) -> None:
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
