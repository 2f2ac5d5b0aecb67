"""How the hub logs: structlog to standard error, for people or for programs.

Rules:
- Logging never fails: the hub goes on without its log when the disk is full or whoever read it is gone.
- What a guest or a client says is text in a line, never a line of its own or an order to a terminal.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog
from structlog.typing import Processor


def configure_logging(*, level: str, form: str) -> None:
    """Sets up logging for this process.

    Args:
        level: debug, info, warning or error.
        form: `console` for people, `json` for one object a line.
    """
    processors: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        # Plain: the pretty form prints local variables, and with them users' secrets.
        structlog.processors.format_exc_info,
        make_harmless,
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        ),
    ]
    threshold = logging.getLevelNamesMapping()[level.upper()]
    stream = Unfailing(sys.stderr)
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(stream),  # type: ignore[arg-type]  # write and flush are all it uses
    )
    # Libraries log through the standard module: what they have to say is of interest only when it is serious.
    logging.basicConfig(
        level=max(threshold, logging.WARNING),
        stream=stream,
        format="%(levelname)s %(name)s: %(message)s",
        force=True,
    )
    logging.getLogger("websockets").setLevel(logging.ERROR)


def make_harmless(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escapes what is not printable in every text of an event, but for the lines of a traceback.

    A processor of structlog's.
    """
    for key, value in event.items():
        if isinstance(value, str):
            lines = value.split("\n") if key == "exception" else [value]
            event[key] = "\n".join(line if line.isprintable() else _escaped(line) for line in lines)
    return event


def _escaped(text: str) -> str:
    return text.encode("unicode_escape").decode()


class Unfailing:
    """A text stream that swallows its own errors: what it cannot write is lost."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes what can be written."""
        try:
            return self._stream.write(text)
        except (OSError, ValueError):  # the disk is full, nobody reads, or it is closed
            return len(text)

    def flush(self) -> None:
        """Flushes what can be flushed."""
        try:
            self._stream.flush()
        except (OSError, ValueError):
            return
