"""A question to whoever sits in front of this terminal.

Rule: no answer (the end of the input, an empty standard input) is a no, whatever Enter alone would mean.
"""

from __future__ import annotations

import os

from cloche.cli.output import prompt

_YES = {"y", "yes"}
_NO = {"n", "no"}


def can_ask() -> bool:
    """Whether somebody is there who sees a question and can answer it."""
    return os.isatty(0) and os.isatty(2)


async def confirm(question: str, *, default: bool) -> bool:
    """Asks for a yes or a no. The loop goes on meanwhile; cancelling takes the question back.

    Args:
        question: without its question mark.
        default: what Enter alone means.
    """
    from cloche.cli.streams import STDIN, Worker, read

    keyboard = Worker("answer")
    while True:
        prompt(f"{question}? [{'Y/n' if default else 'y/N'}] ")
        typed = await keyboard.do(lambda: read(STDIN))
        answer = typed.decode(errors="replace").strip().lower()
        if not typed or answer in _NO:
            return False
        if answer in _YES or not answer:
            return default or answer in _YES
