"""How the hub logs: structlog to standard error, for people or for programs."""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.typing import Processor


def configure_logging(*, level: str, form: str) -> None:
    """Sets up logging for this process.

    Args:
        level: debug, info, warning or error.
        form: `console` for people, `json` for one object a line.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if form == "json":
        shared += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        shared += [
            # Plain: the pretty form prints local variables, and with them users' secrets.
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        ]
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    # Libraries log through the standard module: what they have to say is of interest only when it is serious.
    logging.basicConfig(
        level=max(threshold, logging.WARNING), stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("websockets").setLevel(logging.ERROR)
