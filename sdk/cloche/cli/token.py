"""`cloche token create | ls | revoke`: who may use the hub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cloche.cli import options
from cloche.cli.complete import complete_scopes, complete_tokens
from cloche.cli.output import age, say, show, show_json, show_table

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.cli.session import Interrupts


def add_to(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help="Say who may use the hub, and no longer.", no_args_is_help=True)
    group.command("create")(create)
    group.command("ls")(ls)
    group.command("revoke")(revoke)
    app.add_typer(group, name="token")


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.", show_default=False)],
    owner: Annotated[
        str | None,
        typer.Option("--owner", metavar="WHO", help="Whose sandboxes it makes; yours if not given."),
    ] = None,
    scope: Annotated[
        str,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="owner (its owner's sandboxes), operator (everybody's), or admin (everything).",
            autocompletion=complete_scopes,
        ),
    ] = "owner",
    json: options.JsonOption = False,
) -> int:
    """Make a token, and write its text to standard output.

    The text is told this once: the hub keeps only its hash.

    \b
    Examples:
      cloche token create laptop
      cloche token create ci --owner ci > ci.token
      CLOCHE_TOKEN=$(cloche token create night --scope operator) cloche ls
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        made, text = await hub.tokens.create(name, owner=owner, scope=scope)
        if json:
            show_json({"token": made, "text": text})
            return
        show(text)
        say(
            f"that is {made.name} ({made.id}) of {made.owner}, scope {made.scope}, told this once; "
            f"whoever sets CLOCHE_TOKEN to it is that; to end it: cloche token revoke {made.id}"
        )

    return with_hub(work)


def ls(
    all_: Annotated[bool, typer.Option("--all", "-a", help="Also those that were revoked.")] = False,
    json: options.JsonOption = False,
) -> int:
    """List tokens, newest first.

    \b
    Examples:
      cloche token ls
      cloche token ls --all --json
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        tokens = [token for token in await hub.tokens.list() if all_ or token.revoked_at is None]
        if json:
            show_json(tokens)
            return
        rows = [
            (
                token.id,
                token.name,
                token.owner,
                token.scope,
                age(token.created_at),
                "good" if token.revoked_at is None else f"revoked {age(token.revoked_at)}",
            )
            for token in tokens
        ]
        headings = ("ID", "NAME", "OWNER", "SCOPE", "CREATED", "STATE")
        show_table(
            headings,
            rows,
            free=("NAME", "OWNER", "STATE"),
            if_empty="no tokens; to make one: cloche token create NAME",
        )

    return with_hub(work)


def revoke(
    token: Annotated[
        str,
        typer.Argument(
            metavar="TOKEN",
            help="An id, a name, or the beginning of one.",
            autocompletion=complete_tokens,
            show_default=False,
        ),
    ],
    json: options.JsonOption = False,
) -> int:
    """End a token for good, its connections and what runs over them.

    The last good admin token stays. Sandboxes stay, too: they are their owner's.

    \b
    Examples:
      cloche token revoke laptop
      cloche token revoke tok_7k2m
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        revoked = await hub.tokens.revoke(token)
        if json:
            show_json(revoked)
        else:
            show(revoked.id)

    return with_hub(work)
