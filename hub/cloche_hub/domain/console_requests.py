"""What clients ask of consoles, and what viewers say to those they are attached to: parsed and checked.

Rule: as with commands, an environment's values never reach the audit or a log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cloche_hub.domain.audit import Json
from cloche_hub.domain.console import check_console_name, check_console_reference
from cloche_hub.domain.driving import AttachMode
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.paths import parse_folder
from cloche_hub.domain.references import check_reference
from cloche_hub.domain.requests import check_together, parse_argv, parse_env, parse_user, program_detail
from cloche_hub.errors import BadRequest

MAX_SIZE = 1000
"""Rows or columns."""
MAX_CELLS = 50_000
"""Rows times columns: what a guest can have the emulator do, and hold, grows with it."""
MAX_SCROLLBACK = 10_000
"""Lines."""
DEFAULT_ROWS, DEFAULT_COLS = 24, 80
DEFAULT_TERM = "xterm-256color"

_OF_CREATE = ("sandbox", "name", "argv", "env", "cwd", "user", "rows", "cols", "term", "record")
_TERM = re.compile(r"[!-~]{1,64}", re.ASCII)
_SIGNAL = re.compile(r"[A-Z0-9][A-Z0-9+-]{0,19}", re.ASCII)
_LAST_SIGNAL = 64
_LONGEST_VIEWER = 20


@dataclass(frozen=True, slots=True)
class ConsoleRequest:
    """A checked `console.create`."""

    sandbox: str
    """A reference, not yet resolved."""
    argv: tuple[str, ...] | None
    """None: the user's shell."""
    env: Mapping[str, str]
    """With TERM."""
    cwd: str | None
    user: str | None
    rows: int
    cols: int
    name: str | None = None
    """None: the lowest number that is free."""
    record: bool = True

    def audit_detail(self) -> dict[str, Json]:
        """What `console.opened` says; without `argv` it is a shell."""
        detail = program_detail(self.argv or (), self.env, cwd=self.cwd, user=self.user)
        if self.argv is None:
            del detail["argv"]
        return {**detail, "rows": self.rows, "cols": self.cols}


@dataclass(frozen=True, slots=True)
class AttachRequest:
    """A checked `console.attach`."""

    console: str | None
    """A reference, not yet resolved; None: the newest open one."""
    mode: AttachMode
    rows: int
    cols: int
    scrollback: int
    """Lines of what has left the screen already."""


def parse_create_console(params: object) -> ConsoleRequest:
    """A `console.create` from its parameters.

    Raises:
        BadRequest: names the field.
    """
    fields = Fields.of(params, _OF_CREATE)
    name = fields.optional_text("name")
    argv = None if fields.values.get("argv") is None else parse_argv(fields)
    env = {"TERM": DEFAULT_TERM, **parse_env(fields)}
    term = fields.optional_text("term")
    if term is not None:
        if not _TERM.fullmatch(term):
            raise BadRequest(f"term must be 1 to 64 printable characters without spaces, not {term[:64]!r}")
        env["TERM"] = term
    check_together(argv or (), env)
    rows, cols = _parse_size(fields)
    return ConsoleRequest(
        sandbox=check_reference(fields.text("sandbox")),
        argv=argv,
        env=env,
        cwd=parse_folder(fields, "cwd"),
        user=parse_user(fields),
        rows=rows,
        cols=cols,
        name=None if name is None else check_console_name(name),
        record=fields.flag("record", default=True),
    )


def parse_attach(params: object) -> AttachRequest:
    """A `console.attach` from its parameters; `sandbox` among them is looked at by whoever resolves it.

    Raises:
        BadRequest: names the field.
    """
    fields = Fields.of(params, ("sandbox", "console", "mode", "rows", "cols", "scrollback"))
    mode = fields.text("mode", AttachMode.DRIVE)
    if mode not in list(AttachMode):
        raise BadRequest(f"mode {mode[:40]!r} will not do; there are: {', '.join(AttachMode)}")
    rows, cols = _parse_size(fields)
    return AttachRequest(
        console=parse_console_reference(fields),
        mode=AttachMode(mode),
        rows=rows,
        cols=cols,
        scrollback=fields.whole("scrollback", default=0, least=0, most=MAX_SCROLLBACK),
    )


def parse_console_reference(fields: Fields) -> str | None:
    """The `console` of a request; None: the newest open one of the sandbox.

    Raises:
        BadRequest: no console can be called that.
    """
    reference = fields.optional_text("console")
    return None if reference is None else check_console_reference(reference)


# What viewers say.


@dataclass(frozen=True, slots=True)
class Resize:
    """The viewer's window has another size."""

    rows: int
    cols: int


@dataclass(frozen=True, slots=True)
class SendSignal:
    """A signal for everything that runs on the console."""

    signal: str | int


@dataclass(frozen=True, slots=True)
class Ask:
    """The viewer wants to drive."""


@dataclass(frozen=True, slots=True)
class Take:
    """The viewer drives from now on."""


@dataclass(frozen=True, slots=True)
class Give:
    """The viewer wants another one to drive."""

    viewer: str


@dataclass(frozen=True, slots=True)
class Refresh:
    """The viewer wants the whole screen again."""


ViewerMessage = Resize | SendSignal | Ask | Take | Give | Refresh

_WORDS: Mapping[str, Ask | Take | Refresh] = {"ask": Ask(), "take": Take(), "refresh": Refresh()}
"""What is said by a flag."""


def parse_viewer_message(message: object) -> ViewerMessage:
    """What a viewer says on stream 0: a map with one entry.

    Raises:
        BadRequest: says what is wrong.
    """
    fields = Fields.of(message, ("resize", "signal", "ask", "take", "give", "refresh"))
    if len(fields.values) != 1:
        raise BadRequest("a message to a console has one entry")
    match next(iter(fields.values)):
        case "resize":
            size = Fields.of(fields.values["resize"], ("rows", "cols"))
            return Resize(*_parse_size(size))
        case "signal":
            return SendSignal(_parse_signal(fields.values["signal"]))
        case "give":
            viewer = fields.text("give")
            if len(viewer) > _LONGEST_VIEWER:
                raise BadRequest("give must be a viewer's id, such as v2")
            return Give(viewer)
        case word:
            if not fields.flag(word, default=False):
                raise BadRequest(f"{word} must be true")
    return _WORDS[word]


def _parse_size(fields: Fields) -> tuple[int, int]:
    rows = fields.whole("rows", default=DEFAULT_ROWS, least=1, most=MAX_SIZE)
    cols = fields.whole("cols", default=DEFAULT_COLS, least=1, most=MAX_SIZE)
    if rows * cols > MAX_CELLS:
        raise BadRequest(
            f"a console of {rows} rows and {cols} columns is too large: {MAX_CELLS} cells at most"
        )
    return rows, cols


def _parse_signal(value: object) -> str | int:
    if isinstance(value, str) and _SIGNAL.fullmatch(value):
        return value
    if type(value) is int and 0 < value <= _LAST_SIGNAL:
        return value
    raise BadRequest(
        f"signal must be a name such as TERM or a number to {_LAST_SIGNAL}, not {str(value)[:40]!r}"
    )
