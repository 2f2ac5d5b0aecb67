"""How a person is asked whether a console's program may have something copied, and told that it was. Pure.

Rule: the program's text is the last thing in each line, made printable and cut, so that it passes for nothing else.
"""

from __future__ import annotations

from cloche.printable import printable
from cloche_tui.model.clipboard import CopyRequest
from cloche_tui.model.figures import count, cut
from cloche_tui.model.roles import Line, Role, Span

_SEEN = 24
"""Characters of the text that are shown."""


def ways_to_ask(request: CopyRequest, console: str, key: str) -> tuple[Line, ...]:
    """The same question in ever fewer words.

    Args:
        request: what is wanted.
        console: how people name the console.
        key: which lets it.
    """
    if request.refusal:
        why = f"refused: {request.refusal}"
        return (
            (Span(f"{console} wanted to copy to your clipboard, {why}", Role.WARNING),),
            (Span(f"wanted to copy, {why}", Role.WARNING),),
        )
    amount = count(len(request.text), "character")
    lets = (Span(": "), Span(key, Role.ACCENT), Span(" lets it"))
    long = (Span(f"{console} wants to copy {amount} to your clipboard", Role.WARNING), *lets)
    short = (Span(f"wants to copy {amount}", Role.WARNING), *lets)
    beginning = Span(f" ({_beginning(request)})", Role.MUTED)
    return ((*long, beginning), (*short, beginning), long, short)


def asked(request: CopyRequest, console: str, key: str) -> str:
    """The question in one line, where it was not seen before."""
    amount = count(len(request.text), "character")
    return f"{console} wants to copy {amount}: {key} again lets it ({_beginning(request)})"


def copied(request: CopyRequest, console: str) -> str:
    """That it was copied."""
    return f"copied {count(len(request.text), 'character')} of {console}: {_beginning(request)}"


def missed(request: CopyRequest) -> str:
    """That it is too late to have it copied, since nobody saw the question."""
    amount = count(len(request.text), "character")
    return f"not copied: while this was hidden its program asked to copy {amount}"


def _beginning(request: CopyRequest) -> str:
    return cut(printable(request.text[: _SEEN + 1]), _SEEN)
