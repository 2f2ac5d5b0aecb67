"""What somebody who used the command line wrongly is told: one line, in its own words. Pure.

Rule: the library that reads the command line has phrases of its own, made for programmers; none of them is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_PHRASES = (
    (r"Value error, ", ""),
    (r"Assertion failed, ", ""),
    (r"Input should be greater than or equal to (\S+)", r"give at least \1"),
    (r"Input should be greater than (\S+)", r"give more than \1"),
    (r"Input should be less than or equal to (\S+)", r"give at most \1"),
    (r"Input should be less than (\S+)", r"give less than \1"),
    (r"Input should be a valid integer\b.*", "give a whole number"),
    (r"Input should be a valid number\b.*", "give a number"),
    (r"Input should be ", "give "),
)
_BEFORE_COMMAND: Mapping[str, int] = {
    "cloche run": 0,
    "cloche exec": 1,
    "cloche shell": 1,
    "cloche callbacks serve": 1,
}
"""Commands that take a command of somebody else's, and how many words come before that at least."""
_OF_THE_COMMAND = re.compile(
    r"No such option|Option '.*' (requires|does not take)|.*'?COMMAND|Missing .*'CMD'"
)
"""Errors that come of options of that command, or of its absence."""


def usage_line(message: str, path: str, words: Sequence[str]) -> str:
    """What is wrong, and where it says how it is right.

    Args:
        message: the library's, or ours.
        path: the command, as `cloche image ls`.
        words: what stands behind it.
    """
    said = message.rstrip(".")
    for phrase, ours in _PHRASES:
        said = re.sub(phrase, ours, said)
    if _has_forgotten_dashes(said, path, words):
        said += "; put -- before the command"
    return f"{said}{'' if said.endswith('?') else ';'} see: {path} --help"


def _has_forgotten_dashes(said: str, path: str, words: Sequence[str]) -> bool:
    """Whether an option of the other command may have been taken for one of ours."""
    if path not in _BEFORE_COMMAND or "--" in words:
        return False
    first_option = next((at for at, word in enumerate(words) if word.startswith("-")), 0)
    return first_option > _BEFORE_COMMAND[path] or _OF_THE_COMMAND.match(said) is not None
