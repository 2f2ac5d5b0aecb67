"""How a build's progress reaches the other processes that wait for it: one small file, replaced at each step.

Rule: it is a courtesy: whatever goes wrong with the file, the build and the waiting go on.
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cloche_hub.ports import Progress

if TYPE_CHECKING:
    from cloche_hub.ports import OnProgress

_WAITING = Progress("wait", "another process is building it")


class ProgressFile:
    """The file; the builder writes it, those who wait pass it on. A context manager that removes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._passed: Progress | None = None

    def write(self, step: Progress) -> None:
        """Publishes a step."""
        draft = self._path.with_suffix(f".{secrets.token_hex(4)}")
        with suppress(OSError):
            draft.write_text(json.dumps(asdict(step)))
            draft.replace(self._path)

    def pass_on(self, progress: OnProgress) -> None:
        """Reports the builder's latest step, if it is a new one."""
        step = self._read() or _WAITING
        if step != self._passed:
            self._passed = step
            progress(step)

    def _read(self) -> Progress | None:
        try:
            values = json.loads(self._path.read_text())
            fraction = values["fraction"]
            return Progress(
                str(values["step"]), str(values["message"]), None if fraction is None else float(fraction)
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._path.unlink()
