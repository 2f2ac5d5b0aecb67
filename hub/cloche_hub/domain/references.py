"""Which sandbox a user means: an id, a name, or the unambiguous beginning of one.

Pure. The store preselects candidates with SQL; the decision is here alone.

Rule: the first of these steps that matches anything decides, and one match is an answer, several are not:
an id in full; the caller's own live sandbox of that name; anybody's; a live one whose id or name begins so;
an ended one whose id begins so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.errors import BadRequest, NotFound

MAX_REFERENCE = 128
"""Characters: more than any id or name has."""
_LISTED = 8


def resolve(reference: str, sandboxes: Iterable[Sandbox], *, owner: str) -> Sandbox:
    """The sandbox meant.

    Args:
        reference: an id, a name, or how one begins.
        sandboxes: all the caller may see.
        owner: the caller, whose own names come first.

    Raises:
        BadRequest: several are meant (the message lists them), or the reference is empty.
        NotFound: none is.
    """
    check_reference(reference)
    candidates = list(sandboxes)
    for step in _steps(reference, owner):
        matches = [sandbox for sandbox in candidates if step(sandbox)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise _ambiguous(reference, matches)
    raise NotFound(f"no sandbox {reference!r}; `cloche ls` lists them", sandbox=reference)


def gone(reference: str, sandbox: Sandbox) -> NotFound:
    """What to say of a reference that means nothing there is, but a sandbox that was."""
    return NotFound(
        f"{sandbox.label} is gone: {sandbox.end_reason or 'it was removed'}; `cloche show {sandbox.id}` has what is left "
        "of it",
        sandbox=reference,
    )


def check_reference(reference: str) -> str:
    """The reference itself, if it can name a sandbox at all.

    Raises:
        BadRequest: it is empty or longer than anything it could mean.
    """
    if not reference:
        raise BadRequest("sandbox must not be empty: give an id, a name, or the beginning of one")
    if len(reference) > MAX_REFERENCE:
        raise BadRequest(f"sandbox is longer than {MAX_REFERENCE} characters: no id or name is")
    return reference


def _steps(reference: str, owner: str) -> tuple[Callable[[Sandbox], bool], ...]:
    return (
        lambda sandbox: sandbox.id == reference,
        lambda sandbox: sandbox.live and sandbox.name == reference and sandbox.owner == owner,
        lambda sandbox: sandbox.live and sandbox.name == reference,
        lambda sandbox: (
            sandbox.live and (sandbox.id.startswith(reference) or sandbox.name.startswith(reference))
        ),
        lambda sandbox: sandbox.id.startswith(reference),
    )


def _ambiguous(reference: str, matches: list[Sandbox]) -> BadRequest:
    ordered = sorted(matches, key=lambda sandbox: (sandbox.name, sandbox.id))
    listed = ", ".join(f"{sandbox.label} of {sandbox.owner}" for sandbox in ordered[:_LISTED])
    more = f" and {len(ordered) - _LISTED} more" if len(ordered) > _LISTED else ""
    return BadRequest(
        f"{reference!r} could be any of: {listed}{more}; give more of it, or the id",
        candidates=[sandbox.id for sandbox in ordered[:_LISTED]],
    )
