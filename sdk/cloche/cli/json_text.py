"""JSON as an option or an argument gives it. What is good JSON says `cloche.json_text`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from cloche.errors import BadRequest
from cloche.json_text import parse_json

MAX_TEXT = 1 << 20
"""Characters; more than any hub takes."""


def read_json(argument: str) -> Any:
    """A value from an option: JSON, `@FILE`, or `-` for standard input.

    Raises:
        ValueError: it is no good JSON.
        OSError: the file cannot be read.
    """
    if argument == "-":
        return parse_json(sys.stdin.read(MAX_TEXT))
    if not argument.startswith("@"):
        return parse_json(argument)
    try:
        with Path(argument[1:]).open(encoding="utf-8") as opened:
            return parse_json(opened.read(MAX_TEXT))
    except UnicodeDecodeError:
        raise BadRequest(f"{argument[1:]} is no text in UTF-8") from None
