"""What the next start of the dashboard finds again: how it was laid out, sorted, filtered and coloured, for each hub.

    remembered = open_remembered(address)
    remembered.get("sandboxes.sort", "age")
    remembered.set("sandboxes.sort", "cpu")       # written a moment later, with whatever else has changed by then

Rules:
- Only how the dashboard looks: never a token, a call's parameters or what a console shows.
- It is worth no error: what cannot be read counts as forgotten, what cannot be written is not kept; one line says so.
- Several dashboards of one person may run: each writes what was changed in it, and leaves the rest as it finds it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from cloche_tui.own_files import read_own_file

T = TypeVar("T", bool, int, float, str, list[Any], dict[str, Any])

_DELAY_S = 1.0
_LONGEST_FILE = 1 << 20
_LONGEST_VALUE = 16 << 10
"""Characters of a value's JSON."""


class _Handle(Protocol):
    def cancel(self) -> None: ...


Later = Callable[[float, Callable[[], None]], _Handle]
"""Does something after some seconds."""


def _on_loop(seconds: float, action: Callable[[], None]) -> _Handle:
    return asyncio.get_running_loop().call_later(seconds, action)


class Remembered:
    """What is remembered of one hub.

    Args:
        path: the file.
        later: does something after some seconds.

    Attributes:
        problem: one line about why what was remembered could not be read; empty if it could.
        tell: told one line when what is to be remembered cannot be written; once.
    """

    def __init__(self, path: Path, *, later: Later = _on_loop) -> None:
        self.problem = ""
        self.tell: Callable[[str], object] = lambda _line: None
        self._path, self._later = path, later
        self._changed: dict[str, Any] = {}
        self._timer: _Handle | None = None
        self._has_told = False
        try:
            self._values = _read(path)
        except (OSError, ValueError) as error:
            self._values = {}
            reason = getattr(error, "strerror", None) or "it is damaged"
            self.problem = f"what was remembered of this hub cannot be read ({reason}): {path}"

    def get(self, key: str, default: T) -> T:
        """What is remembered; the default if there is nothing, or something of another kind.

        What is in lists and dicts is whatever the file has: take nothing for granted.
        """
        value = self._values.get(key, default)
        if type(default) is float and type(value) is int:
            return float(value)
        return value if type(value) is type(default) else default

    def set(self, key: str, value: T) -> None:
        """Remembers a value that JSON has, soon. One of more than 16 KiB is not kept."""
        text = json.dumps(value)
        if self._values.get(key) == value or len(text) > _LONGEST_VALUE:
            return
        # Of its own: the caller may go on with a list or a dict.
        self._values[key] = self._changed[key] = json.loads(text)
        if self._timer is None:
            self._timer = self._later(_DELAY_S, self.flush)

    def flush(self) -> None:
        """Writes what has changed, now. To be called at the end."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._changed:
            return
        try:
            with contextlib.suppress(ValueError):
                self._values = _read(self._path) | self._changed
            _write(self._path, self._values)
        except OSError as error:
            if not self._has_told:
                self._has_told = True
                self.tell(f"how the dashboard looks will not be remembered: {error.strerror}: {self._path}")
            return
        self._changed = {}


def open_remembered(address: str, environ: Mapping[str, str] | None = None) -> Remembered:
    """What is remembered of the hub at an address, in `$XDG_STATE_HOME/cloche/dashboard`."""
    env = os.environ if environ is None else environ
    state = Path(env.get("XDG_STATE_HOME") or Path(env.get("HOME") or "/") / ".local/state")
    # An address may have any length and any characters; a file's name may not.
    name = hashlib.sha256(address.encode(errors="surrogateescape")).hexdigest()[:16]
    return Remembered(state / "cloche" / "dashboard" / f"{name}.json")


def _read(path: Path) -> dict[str, Any]:
    try:
        content = read_own_file(path, _LONGEST_FILE)
    except FileNotFoundError:
        return {}
    try:
        values = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(values, dict):
        raise ValueError("no object")  # noqa: TRY004 - as everything else that is wrong with what is in the file
    return values


def _write(path: Path, values: Mapping[str, Any]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")  # for this user alone
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump(values, file, indent=1, sort_keys=True)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
