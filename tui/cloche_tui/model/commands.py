"""What is typed behind `:`, read and completed. Pure.

`:destroy box` is a command's name, then its argument; `:des box` will do, where that begins one name only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cloche.errors import BadRequest

MOST_REMEMBERED = 50


def read_command(text: str, commands: Iterable[str]) -> tuple[str, str]:
    """The command that is meant, and its argument.

    Args:
        text: what was typed, without the colon.
        commands: the names there are.

    Raises:
        BadRequest: there is no such command, or it could be several.
    """
    word, _, argument = text.strip().partition(" ")
    meant = sorted(name for name in commands if name.startswith(word))
    if not word or not meant:
        raise BadRequest(f"there is no command {word!r}; ? shows what there is")
    if word in meant:
        return word, argument.strip()
    if len(meant) > 1:
        raise BadRequest(f"{word!r} could be {', '.join(meant[:-1])} or {meant[-1]}")
    return meant[0], argument.strip()


def complete(text: str, commands: Iterable[str], arguments: Iterable[str]) -> list[str]:
    """What the whole line could become, the likeliest first.

    Args:
        text: what was typed so far, without the colon.
        commands: the names there are.
        arguments: what the command that is typed takes, if a blank was typed behind it.
    """
    word, blank, argument = text.lstrip().partition(" ")
    if not blank:
        return sorted(name for name in commands if name.startswith(word))
    return [f"{word} {each}" for each in _matching(argument.strip(), arguments)]


def _matching(typed: str, candidates: Iterable[str]) -> list[str]:
    """Those that begin so, then those that have it anywhere."""
    wanted = typed.casefold()
    found = [each for each in candidates if wanted in each.casefold()]
    return sorted(found, key=lambda each: (not each.casefold().startswith(wanted), each.casefold()))


class History:
    """What was typed before, for the up and down keys.

    Args:
        lines: from earlier, the oldest first.
    """

    def __init__(self, lines: Sequence[str] = ()) -> None:
        self._lines = list(lines[-MOST_REMEMBERED:])
        self._at = len(self._lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """The oldest first."""
        return tuple(self._lines)

    def add(self, line: str) -> None:
        """A line was typed. One that was typed before moves to the end."""
        if line in self._lines:
            self._lines.remove(line)
        self._lines = [*self._lines, line][-MOST_REMEMBERED:]
        self._at = len(self._lines)

    def move(self, steps: int) -> str:
        """The line so many steps further: back where negative; empty behind the newest."""
        self._at = max(0, min(len(self._lines), self._at + steps))
        return self._lines[self._at] if self._at < len(self._lines) else ""
