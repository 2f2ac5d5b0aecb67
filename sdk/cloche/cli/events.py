"""`cloche events`: what there is, and what changes from now on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cloche.approval_messages import ApprovalInfo
from cloche.cli.approvals import state_of
from cloche.cli.complete import complete_sandboxes, complete_topics
from cloche.cli.options import parse_labels
from cloche.cli.output import clean_line, show, show_json, size
from cloche.console_messages import ConsoleInfo
from cloche.event_messages import Event, Usage
from cloche.messages import SandboxInfo

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.cli.session import Interrupts


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("events")(events)


def events(
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC",
            help="Only sandbox, console, approval or usage. Repeatable.",
            autocompletion=complete_topics,
        ),
    ] = None,
    sandbox: Annotated[
        str | None,
        typer.Option("--sandbox", help="Only what is about this one.", autocompletion=complete_sandboxes),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label", "-l", metavar="KEY=PATTERN", help="Only sandboxes with such a label. Repeatable."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Answer in JSON, one event a line.")] = False,
) -> int:
    """Show what there is, then what changes, until Ctrl-C.

    A reader that is slow is told the newest state of each thing, and not each step on the way.

    \b
    Examples:
      cloche events
      cloche events --topic usage --sandbox box
      cloche events --label team=ml* --json | jq -r .value.state
    """
    from cloche.cli.session import with_hub

    labels = parse_labels(label)

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        names: dict[str, str] = {}
        async for event in hub.events(topics=topic or (), sandbox=sandbox, labels=labels):
            if json:
                show_json(event, one_line=True)
            elif event.value is not None:
                show(_line(event, names))

    return with_hub(work)


def _line(event: Event, names: dict[str, str]) -> str:
    """One event for a person.

    Args:
        event: to be shown.
        names: of the sandboxes told of so far, by their ids; this one's is added.
    """
    match event.value:
        case SandboxInfo() as box:
            names[box.id] = box.name
            why = f": {box.end_reason}" if box.end_reason else ""
            about = f"{box.name} ({box.id}) of {box.owner}  {box.state}{why}"
        case ConsoleInfo() as console:
            driver = next((one.name for one in console.viewers if one.id == console.driver), None)
            drives = f"{driver} drives" if driver else "nobody drives"
            looks = f"{len(console.viewers)} attached, {drives}" if console.is_open else console.state
            about = f"{console.sandbox_name}/{console.name} ({console.id})  {looks}  {console.title}".rstrip()
        case ApprovalInfo() as call:
            about = f"{call.id}  {call.method} of {call.sandbox_name}  {state_of(call)}"
        case Usage() as usage:
            share = "-" if usage.cpu_percent is None else f"{usage.cpu_percent:.1f} %"
            about = (
                f"{names.get(usage.sandbox, usage.sandbox)}  cpu {share}  memory {size(usage.memory_pss_bytes)}"
                f"  disk {size(usage.disk_bytes)}"
            )
        case _:
            about = ""
    return clean_line(f"{event.topic:<8}  {event.change or '':<7}  {about}")
