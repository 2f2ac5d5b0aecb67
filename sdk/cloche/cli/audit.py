"""`cloche audit tail | export | verify`: what happened, and proof that nothing of it was changed."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloche.cli import options
from cloche.cli.complete import complete_sandboxes
from cloche.cli.handover import hand_over
from cloche.cli.output import clean_line, replacing, show, show_json
from cloche.messages import as_json

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.cli.session import Interrupts
    from cloche.messages import AuditEvent


def add_to(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help="See what happened, and prove it.", no_args_is_help=True)
    group.command("tail")(tail)
    group.command("export")(export)
    group.command("verify")(verify)
    app.add_typer(group, name="audit")


def tail(
    lines: Annotated[
        int, typer.Option("--lines", "-n", help="How many events of the past.", min=1, max=500)
    ] = 50,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what happens from now on.")
    ] = False,
    sandbox: Annotated[
        str | None,
        typer.Option("--sandbox", help="Only those of this sandbox.", autocompletion=complete_sandboxes),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Answer in JSON, one event a line.")] = False,
) -> int:
    """Show the newest events of the audit.

    \b
    Examples:
      cloche audit tail
      cloche audit tail -f --sandbox box
      cloche audit tail -n 500 --json | jq -r .event
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        async for event in hub.audit(sandbox=sandbox, limit=lines, follow=follow):
            if json:
                show_json(event, one_line=True)
            else:
                show(_line(event))

    return with_hub(work)


def export(
    file: Annotated[
        str,
        typer.Argument(metavar="[FILE]", help="Where to write; `-` is standard output.", show_default=False),
    ] = "-",
) -> int:
    """Write the whole audit chain, one event a line of JSON, its head last.

    The hub verifies what it sends, and goes on working meanwhile. FILE appears when all of it is there.

    \b
    Examples:
      cloche audit export audit.jsonl
      cloche audit verify audit.jsonl
      cloche audit export | gzip > audit.jsonl.gz
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        with replacing(file) as write:
            async for line in hub.export_audit():
                write(line.encode() + b"\n")

    return with_hub(work)


def verify(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="A hub's database or an export; without it, the hub verifies its own."
        ),
    ] = None,
    json: options.JsonOption = False,
) -> int:
    """Verify the audit chain.

    Every event is bound to the one before it. With FILE no hub is needed: the chain is walked offline.

    \b
    Examples:
      cloche audit verify
      cloche audit verify audit.jsonl
      cloche audit verify /var/lib/cloche/hub.db
    """
    if file is not None:
        return hand_over("verify", *(["--json"] if json else []), files=[str(file)])

    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        verified = await hub.verify_audit()
        if json:
            show_json(verified)
        else:
            show(f"the chain holds: {verified.events} events, head {verified.head}")

    return with_hub(work)


def _line(event: AuditEvent) -> str:
    when = event.at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    detail = json_.dumps(as_json(event.detail), ensure_ascii=False) if event.detail else ""
    about = event.sandbox or "-"
    return clean_line(
        f"{event.seq:>6}  {when}  {event.event:<19}  {event.actor:<16}  {about:<15}  {detail}".rstrip()
    )
