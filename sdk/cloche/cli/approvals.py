"""`cloche approvals ls | show | approve | deny | watch`: calls that wait for a person, and the person's word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloche.cli import options
from cloche.cli.complete import complete_approvals
from cloche.cli.json_text import read_json
from cloche.cli.output import age, clean_line, properties, say, show, show_json, show_table
from cloche.errors import BadRequest
from cloche.json_text import brief_json, parse_json, shown_json

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.approval_messages import ApprovalInfo
    from cloche.cli.session import Interrupts

STATES = ("pending", "approved", "edited", "denied", "expired", "abandoned")
_HEADINGS = ("ID", "STATE", "SANDBOX", "METHOD", "PARAMS", "ASKED", "DECISION")
_FREE = ("PARAMS", "OWNER", "SANDBOX", "METHOD", "DECISION")
_MOST = 200
_OUTCOMES = {"let_through": "let through", "refused": "refused"}
"""Characters of the parameters."""

ApprovalArgument = Annotated[
    str,
    typer.Argument(
        metavar="APPROVAL",
        help="An id, or the beginning of one.",
        autocompletion=complete_approvals,
        show_default=False,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help="See what programs in sandboxes ask for, and decide.", no_args_is_help=True)
    for name, command in (
        ("ls", ls),
        ("show", show_),
        ("approve", approve),
        ("deny", deny),
        ("watch", watch),
    ):
        group.command(name)(command)
    app.add_typer(group, name="approvals")


def ls(
    all_: Annotated[bool, typer.Option("--all", "-a", help="Also those that are decided.")] = False,
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help=f"Only those: {', '.join(STATES)}. Repeatable.",
            autocompletion=lambda: [*STATES],
        ),
    ] = None,
    sandbox: options.SandboxOption = None,
    lines: Annotated[int, typer.Option("--lines", "-n", help="How many at most.", min=1, max=200)] = 50,
    json: options.JsonOption = False,
) -> int:
    """List what waits for a decision, newest first.

    \b
    Examples:
      cloche approvals ls
      cloche approvals ls --all --sandbox box
      cloche approvals ls --state denied --json | jq -r '.[].reason'
    """  # fmt: skip
    from cloche.cli.session import with_hub

    states = tuple(state or (STATES if all_ else STATES[:1]))
    if unknown := set(states) - {*STATES}:
        raise typer.BadParameter(f"there is no {', '.join(unknown)!r}; give one of: {', '.join(STATES)}")

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        found = await hub.approvals.list(states=states, sandbox=sandbox, limit=lines)
        if json:
            show_json(found)
        else:
            headings, rows = _table(found)
            show_table(headings, rows, free=_FREE, if_empty="nothing waits for a decision")
        if found.omitted:
            say(f"… {found.omitted} more; narrow with --sandbox")

    return with_hub(work, tells_waiting=False)


def show_(approval: ApprovalArgument, json: options.JsonOption = False) -> int:
    """Show all of an approval: who asks for what, until when, and what became of it.

    \b
    Examples:
      cloche approvals show apr_7kq
      cloche approvals show apr_7kq --json | jq .params
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        found = await hub.approvals.get(approval)
        if json:
            show_json(found)
        else:
            show(_told(found))

    return with_hub(work, tells_waiting=False)


def approve(
    approval: ApprovalArgument,
    params: Annotated[
        str | None,
        typer.Option("--params", metavar="JSON|@FILE|-", help="Let it pass with these parameters instead."),
    ] = None,
    edit: Annotated[
        bool, typer.Option("--edit", "-e", help="Change its parameters in $EDITOR first.")
    ] = False,
    json: options.JsonOption = False,
) -> int:
    """Let a call pass, as it was asked or with other parameters.

    The first decision stands: who comes second is told who was first.

    \b
    Examples:
      cloche approvals approve apr_7kq
      cloche approvals approve apr_7kq --params '{"amount": 20, "to": "alice"}'
      cloche approvals approve apr_7kq --edit
    """
    from cloche.cli.session import with_hub

    if edit and params is not None:
        raise typer.BadParameter("give --params or --edit, not both")
    value = None if params is None else _read(params)

    async def work(hub: Hub, interrupts: Interrupts) -> None:
        changed = await _edited(await hub.approvals.get(approval), interrupts) if edit else value
        decided = await hub.approvals.approve(approval, params=changed)
        if json:
            show_json(decided)
        else:
            show("\n".join([_line(decided), *map(clean_line, decided.diff)]))

    return with_hub(work, tells_waiting=False)


def deny(
    approval: ApprovalArgument,
    reason: Annotated[
        str,
        typer.Option(
            "--reason",
            "-r",
            metavar="TEXT",
            help="Why; the program gets it, and the audit.",
            show_default=False,
        ),
    ],
    json: options.JsonOption = False,
) -> int:
    """Refuse a call.

    \b
    Examples:
      cloche approvals deny apr_7kq --reason 'not on a Sunday'
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        decided = await hub.approvals.deny(approval, reason)
        if json:
            show_json(decided)
        else:
            show(_line(decided))

    return with_hub(work, tells_waiting=False)


def watch(
    sandbox: options.SandboxOption = None,
    json: Annotated[bool, typer.Option("--json", help="Answer in JSON, one approval a line.")] = False,
) -> int:
    """Show what waits for a decision, and what comes, until Ctrl-C.

    Each is shown with the commands that decide it, and again in a line once it is decided.

    \b
    Examples:
      cloche approvals watch
      cloche approvals watch --json | jq -r 'select(.state == "pending").id'
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        async for approval in hub.approvals.watch(sandbox=sandbox):
            if json:
                show_json(approval, one_line=True)
            else:
                show(_waiting(approval) if approval.is_pending else _line(approval))

    return with_hub(work, tells_waiting=False)


# How an approval looks.


def _table(approvals: Sequence[ApprovalInfo]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Headings and rows; whose sandboxes they are is told only where that says something."""
    rows = [_row(one) for one in approvals]
    if len({one.owner for one in approvals}) < 2:
        return _HEADINGS, rows
    place = _HEADINGS.index("SANDBOX")
    owned = [(*row[:place], one.owner, *row[place:]) for row, one in zip(rows, approvals, strict=True)]
    return (*_HEADINGS[:place], "OWNER", *_HEADINGS[place:]), owned


def _row(approval: ApprovalInfo) -> tuple[str, ...]:
    params = _brief(approval)
    asked, decision = age(approval.created_at), _decision(approval)
    return approval.id, state_of(approval), approval.sandbox_name, approval.method, params, asked, decision


def _decision(approval: ApprovalInfo) -> str:
    if approval.is_pending:
        return f"{age(approval.deadline_at)}: {approval.on_deadline}"
    return f"{age(approval.decided_at)} by {_decider(approval)}"


def state_of(approval: ApprovalInfo) -> str:
    """The state, and what it came to where the state alone does not say."""
    outcome = _OUTCOMES.get(approval.outcome or "") if approval.state == "expired" else None
    return f"{approval.state}, {outcome}" if outcome else approval.state


def _decider(approval: ApprovalInfo) -> str:
    by, name = approval.decided_by or "-", approval.decided_by_name
    return f"{name} ({by})" if name and name != by else by


def _line(approval: ApprovalInfo) -> str:
    by = f" by {_decider(approval)}" if approval.decided_by else ""
    what = f"{approval.method} of {approval.sandbox_name}{_why(approval)}"
    return clean_line(f"{approval.id}  {state_of(approval)}{by}  {what}")


def _why(approval: ApprovalInfo) -> str:
    why = approval.reason or (approval.rule_reason if approval.is_pending else None)
    return f": {why}" if why else ""


def _waiting(approval: ApprovalInfo) -> str:
    about = f"{approval.id}  {approval.method} of {approval.sandbox_name} ({approval.owner})"
    params = _brief(approval)
    return "\n".join(
        [
            clean_line(f"{about}, rule {approval.rule!r}{_why(approval)}, {_decision(approval)}"),
            f"  {params}",
            *(f"  {command}" for command in _commands(approval)),
        ]
    )


def _brief(approval: ApprovalInfo) -> str:
    return brief_json(approval.params, most=_MOST) if approval.has_params else _size(approval)


def _size(approval: ApprovalInfo) -> str:
    return f"({approval.params_bytes} bytes of JSON)"


def _commands(approval: ApprovalInfo) -> tuple[str, ...]:
    name = clean_line(approval.id)
    return f"cloche approvals approve {name}", f"cloche approvals deny {name} --reason TEXT"


def _told(approval: ApprovalInfo) -> str:
    pairs = [
        ("id", approval.id),
        ("state", state_of(approval)),
        ("sandbox", f"{approval.sandbox_name} ({approval.sandbox})"),
        ("owner", approval.owner),
        ("labels", " ".join(f"{key}={value}" for key, value in approval.labels.items()) or "-"),
        ("method", approval.method),
        ("caller", _caller(approval)),
        ("rule", approval.rule + (f": {approval.rule_reason}" if approval.rule_reason else "")),
        ("asked", age(approval.created_at)),
    ]
    if approval.is_pending:
        pairs.append(("deadline", f"{age(approval.deadline_at)}, then {approval.on_deadline}"))
    else:
        pairs.append(("decided", _decision(approval)))
    pairs.append(("reason", approval.reason or "-"))
    parts = [properties(pairs), shown_json(approval.params) if approval.has_params else _size(approval)]
    if approval.diff:
        parts.append("\n".join(map(clean_line, approval.diff)))
    if approval.is_pending:
        parts.append("\n".join(_commands(approval)))
    return "\n\n".join(parts)


def _caller(approval: ApprovalInfo) -> str:
    said = approval.caller
    if not said:
        return "-"
    return f"{said.get('program')} (pid {said.get('pid')}, uid {said.get('uid')}), as the guest says"


# Other parameters.


def _read(argument: str) -> Any:
    try:
        return _not_null(read_json(argument))
    except ValueError as error:
        raise typer.BadParameter(f"that is no good JSON: {error}", param_hint="--params") from None


async def _edited(approval: ApprovalInfo, interrupts: Interrupts) -> Any:
    """The parameters as the user has changed them."""
    from cloche.cli.asking import can_ask, confirm
    from cloche.cli.editor import edit_again, edit_text

    before = shown_json(approval.params) + "\n"
    text, path = await edit_text(before, interrupts, suffix=".json")
    if text == before:
        path.unlink()
        # Whoever leaves an editor like this may just have thought better of it.
        raise BadRequest(
            f"nothing was changed, and nothing is decided; to let it pass as it is: {_commands(approval)[0]}"
        )
    while True:
        try:
            value = _not_null(parse_json(text))
        except ValueError as error:
            wrong = f"that is no good JSON: {error}"
        else:
            path.unlink()
            return value
        if not (can_ask() and await confirm(f"{wrong}; edit again", default=True)):
            break
        text = await edit_again(path, interrupts)
    raise BadRequest(
        f"{wrong}; nothing is decided, and your text is in {path}; "
        f"once it is good: {_commands(approval)[0]} --params @{path}"
    )


def _not_null(value: Any) -> Any:
    if value is None:
        raise ValueError("null stands for the parameters that were asked; leave them out to let those pass")
    return value
