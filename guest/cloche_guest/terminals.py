"""Pseudo terminals: opening one with a program that leads its session, and reading what is to be shown on it.

Rules:
- The terminal is the user's: it is opened with the user's identity on, so the kernel makes its file the user's; group
  and mode come from how /dev/pts is mounted.
- It becomes the program's controlling terminal without code between fork and exec: a session leader that has none and
  opens one gets it, and `posix_spawn` makes the session before it opens files. Source: Linux tty_open_proc_set_tty.
- What a person types is answered at once. Only a program that goes on writing without being typed to is read every
  two milliseconds, unless it writes faster than a terminal holds: waking the agent for each line, or for each of the small
  blocks in which a slow machine's terminal passes a flood on, would cost the program most of its processor.
- What a flood shows is gathered until it fills half a frame: in a slow machine a frame costs more than its bytes. It
  waits for so many reads at most, and leaves at once where less comes than a flood brings, or something was typed.
- Back-pressure reaches the program: without credit the terminal is not read, and its writers wait. Nothing else waits
  for acknowledgements: while there is credit, what is shown leaves as if they came at once.
- Our own hold on the program's side keeps the terminal from hanging up before its program has ended.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from cloche_guest import spawn
from cloche_guest.backlog import Outlet
from cloche_guest.loop import Scope, Timer
from cloche_guest.messages import TerminalSize
from cloche_guest.pipes import GATHER_S, READ_SIZE
from cloche_wire.errors import CommandNotStarted

FOREGROUND_SIGNALS = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP})
"""Those that keys make; the terminal sends them to its foreground itself, and no others."""

# Numbers of <asm-generic/ioctls.h>; the module `termios` would cost the agent its memory.
_TCGETS, _TCSETS, _TIOCSWINSZ = 0x5401, 0x5402, 0x5414
_TIOCGPTN, _TIOCSPTLCK, _TIOCSIG, _TIOCGPTPEER = 0x80045430, 0x40045431, 0x40045436, 0x5441
_TERMIOS_SIZE = 36
# Input is UTF-8: erasing a character in a line being edited erases all of its bytes.
_IUTF8 = 0x4000

# A read of so many bytes is part of a block: more of it is worth another read at once.
_BLOCK = 512
# Reads after something was typed that are not gathered: what a key press makes a program show.
_PROMPT_READS = 16
# What a terminal holds at least: gathering would hold up whoever writes more than this in the meantime.
_LEAST_HELD = 8192
# A read of so many bytes in the middle of a stream of output is part of a flood, which fills a terminal soon again.
_FLOOD = 2048
_FLOOD_GATHER_S = 0.001
# What of a flood is worth a frame of its own: so many bytes, or so many reads.
_FRAME = 32 << 10
_FRAME_READS = 4
# More than a terminal holds: 8 KiB between the two sides with what the kernel adds for its bookkeeping, and a line buffer.
_HELD = 64 << 10


@dataclass(frozen=True, slots=True)
class Started:
    """A running program and our ends of its terminal, which do not block."""

    pid: int
    reader: int
    writer: int
    """The same terminal: a second descriptor, to be watched apart."""
    hold: int
    """The program's side."""


def start(command: spawn.Command, size: TerminalSize) -> Started:
    """Starts a command as the leader of a session with a terminal of its own.

    Raises:
        CommandNotStarted: it can not run, or there is no terminal for it.
    """
    ours: list[int] = []

    def connect() -> spawn.FileActions:
        path = _open(ours, size)
        # SAFETY: a name the kernel has just given; nobody can put another file there.
        return [
            (os.POSIX_SPAWN_OPEN, 0, path, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, 0, 2),
        ]

    try:
        pid = spawn.start_with(command, connect)
    except BaseException:
        for fd in ours:
            os.close(fd)
        raise
    reader, writer, hold = ours
    return Started(pid, reader, writer, hold)


def resize(fd: int, size: TerminalSize) -> None:
    """Gives a terminal another size; its foreground gets SIGWINCH if it is another one."""
    fcntl.ioctl(fd, _TIOCSWINSZ, struct.pack("HHHH", size.rows, size.cols, 0, 0))


def signal_foreground(fd: int, number: int) -> None:
    """Signals whom a terminal's keys reach; for FOREGROUND_SIGNALS."""
    fcntl.ioctl(fd, _TIOCSIG, number)


def _open(ours: list[int], size: TerminalSize) -> str:
    """Opens a terminal, appends our three descriptors and returns the name of its file."""
    try:
        master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        ours.append(master)
        fcntl.ioctl(master, _TIOCSPTLCK, bytes(4))
        (number,) = struct.unpack("I", fcntl.ioctl(master, _TIOCGPTN, bytes(4)))
        resize(master, size)
        _accept_utf8(master)
        ours.append(os.dup(master))
        ours.append(fcntl.ioctl(master, _TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError as error:
        raise CommandNotStarted(
            f"no terminal can be opened: {error.strerror}", reason="no_terminal"
        ) from None
    return f"/dev/pts/{number}"


def _accept_utf8(fd: int) -> None:
    settings = fcntl.ioctl(fd, _TCGETS, bytes(_TERMIOS_SIZE))
    (input_flags,) = struct.unpack_from("I", settings)
    fcntl.ioctl(fd, _TCSETS, struct.pack("I", input_flags | _IUTF8) + settings[4:])


class Display:
    """What is to be shown on a terminal, and the stream it goes out on.

    Args:
        loop: watches the terminal.
        outlet: takes the stream.
        channel: the console's.
        stream: the stream's number.
        fd: our end of the terminal, non-blocking; closed by this object.
        on_progress: called when something was read and when the terminal has ended.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        loop: Scope,
        outlet: Outlet,
        *,
        channel: int,
        stream: int,
        fd: int,
        on_progress: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._loop, self._outlet = loop, outlet
        self._channel, self._stream, self._fd = channel, stream, fd
        self._on_progress, self._clock = on_progress, clock
        self._gathering: Timer | None = None
        self._reads_since_typing = 0
        self._waiting_bytes = self._waiting_reads = 0
        self._last_read_at = self._ready_at = -1.0
        self._is_hung_up = self._has_program_ended = False
        self.has_ended = False
        self.is_paused = True
        """Whether it waits for credit."""
        self.owed = 0
        """Bytes that may have to be read before the program's output is complete; known when it has ended."""

    def resume(self) -> None:
        """Reads on if there is credit. To be called once to begin."""
        if self.is_paused and not self.has_ended and self._outlet.credit(self._channel, self._stream) > 0:
            self.is_paused = False
            self._watch()
            if self.owed:
                # It may be all there was; then no event would say so.
                self._on_readable(0)

    def move(self, outlet: Outlet, channel: int) -> None:
        """What is read from now on goes out elsewhere: whoever has the old outlet has all that was read before.

        To be followed by `resume`: there may be credit again.
        """
        self._outlet, self._channel = outlet, channel
        self._waiting_bytes = self._waiting_reads = 0

    def typed(self) -> None:
        """Something was typed: the answer is not to be gathered."""
        self._reads_since_typing = 0
        if self._gathering is not None:
            self._on_gathered()

    def program_ended(self) -> None:
        """What is held now is the program's; what comes later is somebody's whom it left behind."""
        self._has_program_ended = True
        if self.has_ended:
            return
        self.owed = _HELD
        if self.is_paused:
            self._look()
            return
        self._unwatch()
        self._watch()
        self._on_readable(0)

    def close(self) -> None:
        """Closes the terminal, which hangs up for whoever has it open. Idempotent."""
        if not self.has_ended:
            self._end()

    def _on_readable(self, _events: int) -> None:
        room = min(READ_SIZE, self._outlet.credit(self._channel, self._stream))
        if room <= 0:
            self._pause()
            return
        data, has_hung_up = self._read(room)
        if data:
            self._send(data)
        if has_hung_up:
            self._hung_up()
        elif data:
            self._pace(len(data), is_full=len(data) == room)
        # It waits only while a timer comes to look for more.
        if self._gathering is None or len(data) < _FLOOD or self._is_worth_a_frame():
            self._let_go()
        self._on_progress()

    def _send(self, data: bytes) -> None:
        waits = len(data) >= _FLOOD
        self._outlet.send(self._channel, self._stream, data, waits=waits)
        if waits:
            self._waiting_bytes += len(data)
            self._waiting_reads += 1

    def _read(self, room: int) -> tuple[bytes, bool]:
        """What is there, up to a bound, and whether the terminal has hung up behind it."""
        pieces = []
        has_hung_up = False
        while room:
            try:
                piece = os.read(self._fd, room)
            except BlockingIOError:
                self.owed = 0
                break
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                has_hung_up = True
                break
            pieces.append(piece)
            room -= len(piece)
            self.owed = max(0, self.owed - len(piece))
            # A key's echo leaves without asking the kernel again; the last of a program is asked for to its end.
            if len(piece) < _BLOCK and not self._has_program_ended:
                break
        return (pieces[0] if len(pieces) == 1 else b"".join(pieces)), has_hung_up

    def _hung_up(self) -> None:
        if self._has_program_ended:
            self._end()
            self._outlet.end(self._channel, self._stream)
        elif not self._is_hung_up:
            # Somebody has hung it up under a program that lives, which may open it again. Until then it would report
            # the hang-up for ever: only a change may wake us.
            self._unwatch()
            self._is_hung_up = True
            self._watch()

    def _pace(self, count: int, *, is_full: bool) -> None:
        """Decides when to read on after so many bytes."""
        now = self._clock()
        follows = now - self._ready_at < 2 * GATHER_S
        gather_s = _FLOOD_GATHER_S if count >= _FLOOD else GATHER_S
        gathering_loses = count * gather_s > _LEAST_HELD * (now - self._last_read_at)
        self._last_read_at = self._ready_at = now
        self._reads_since_typing += 1
        if is_full and self._outlet.credit(self._channel, self._stream) <= 0:
            self._pause()
        elif self._is_hung_up:
            self._unwatch()
            self._watch()
        elif (
            follows
            and not gathering_loses
            and self._reads_since_typing > _PROMPT_READS
            and not self._has_program_ended
        ):
            self._unwatch()
            self._gathering = self._loop.call_later(gather_s, self._on_gathered)

    def _on_gathered(self) -> None:
        self._stop_gathering()
        self._ready_at = self._clock()
        self._watch()
        if self._waiting_bytes:
            # No event would say that nothing more has come.
            self._on_readable(0)

    def _is_worth_a_frame(self) -> bool:
        return self._waiting_bytes >= _FRAME or self._waiting_reads >= _FRAME_READS

    def _let_go(self) -> None:
        """Sends what has waited for more."""
        if self._waiting_bytes:
            self._waiting_bytes = self._waiting_reads = 0
            self._outlet.hurry(self._channel)

    def _pause(self) -> None:
        self.is_paused = True
        # Not watched at all: a hang-up would be reported on and on.
        self._unwatch()

    def _look(self) -> None:
        """Finds out without reading whether anything is held."""
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        happened = dict(poll.poll(0)).get(self._fd, 0)
        if not happened & select.POLLIN:
            self.owed = 0
            if happened & select.POLLHUP:
                self._hung_up()

    def _watch(self) -> None:
        edge = select.EPOLLET if self._is_hung_up else 0
        self._loop.watch(self._fd, select.EPOLLIN | edge, self._on_readable)

    def _unwatch(self) -> None:
        self._stop_gathering()
        self._is_hung_up = False
        self._loop.forget(self._fd)

    def _stop_gathering(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None

    def _end(self) -> None:
        self.has_ended = True
        self.owed = 0
        self._unwatch()
        os.close(self._fd)
