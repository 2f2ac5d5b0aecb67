"""What a client asks for with `console.open`, parsed and checked.

Rule: as with commands, an environment's values never reach the audit or a log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cloche_hub.domain.audit import Json
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.paths import parse_folder
from cloche_hub.domain.references import check_reference
from cloche_hub.domain.requests import check_together, parse_argv, parse_env, parse_user, program_detail
from cloche_hub.errors import BadRequest

MAX_SIZE = 1000
"""Rows or columns."""
DEFAULT_ROWS, DEFAULT_COLS = 24, 80
DEFAULT_TERM = "xterm-256color"

_TERM = re.compile(r"[!-~]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ConsoleRequest:
    """A checked `console.open`."""

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

    def audit_detail(self) -> dict[str, Json]:
        """What `console.opened` says; without `argv` it is a shell."""
        detail = program_detail(self.argv or (), self.env, cwd=self.cwd, user=self.user)
        if self.argv is None:
            del detail["argv"]
        return {**detail, "rows": self.rows, "cols": self.cols}


def parse_console(params: object) -> ConsoleRequest:
    """A `console.open` from its parameters.

    Raises:
        BadRequest: names the field.
    """
    fields = Fields.of(params, ("sandbox", "argv", "env", "cwd", "user", "rows", "cols", "term"))
    argv = None if fields.values.get("argv") is None else parse_argv(fields)
    env = {"TERM": DEFAULT_TERM, **parse_env(fields)}
    term = fields.optional_text("term")
    if term is not None:
        if not _TERM.fullmatch(term):
            raise BadRequest(f"term must be 1 to 64 printable characters without spaces, not {term[:64]!r}")
        env["TERM"] = term
    check_together(argv or (), env)
    return ConsoleRequest(
        sandbox=check_reference(fields.text("sandbox")),
        argv=argv,
        env=env,
        cwd=parse_folder(fields, "cwd"),
        user=parse_user(fields),
        rows=fields.whole("rows", default=DEFAULT_ROWS, least=1, most=MAX_SIZE),
        cols=fields.whole("cols", default=DEFAULT_COLS, least=1, most=MAX_SIZE),
    )
