"""`cloche consoles [ls] | close | screen`: the consoles of sandboxes, which go on whoever looks at them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from cloche.cli import options
from cloche.cli.output import age, clean_line, say, show, show_json, show_table

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.cli.session import Interrupts
    from cloche.console_messages import ConsoleInfo

_HEADINGS = ("CONSOLE", "STATE", "SIZE", "DRIVES", "WATCH", "CREATED", "COMMAND", "TITLE")


class _ListsByDefault(TyperGroup):
    """`cloche consoles box` is `cloche consoles ls box`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts the command in where none is named, but not for who is being offered commands."""
        is_named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        if not is_named and not ctx.resilient_parsing:
            args = ["ls", *args]
        return super().parse_args(ctx, args)


def add_to(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(
        cls=_ListsByDefault,
        help="See the consoles of sandboxes, and close them. Lists them if no command is given.",
    )
    for name, command in (("ls", ls), ("close", close), ("screen", screen)):
        group.command(name)(command)
    app.add_typer(group, name="consoles")


def ls(
    sandbox: options.OptionalSandboxArgument = None,
    all_: Annotated[bool, typer.Option("--all", "-a", help="Also those that have ended.")] = False,
    json: options.JsonOption = False,
) -> int:
    """List consoles: their sizes, who drives and how many look on.

    Each machine has a console of its own, `boot`: what its kernel and its agent say.

    \b
    Examples:
      cloche consoles
      cloche consoles box --all
      cloche consoles ls box --json | jq -r '.[].name'
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        found = await hub.consoles(sandbox=sandbox, ended=all_)
        if json:
            show_json(found)
        else:
            hint = f"cloche shell {sandbox or 'SANDBOX'}"
            rows = [_row(info) for info in found]
            show_table(
                _HEADINGS, rows, free=("COMMAND", "TITLE"), if_empty=f"no consoles; to open one: {hint}"
            )
        if found.omitted:
            say(f"… {found.omitted} more; narrow with a sandbox")

    return with_hub(work)


def close(
    consoles: Annotated[
        list[str],
        typer.Argument(
            metavar="SANDBOX/CONSOLE...",
            help="Which to close.",
            autocompletion=options.complete_consoles,
            show_default=False,
        ),
    ],
    json: options.JsonOption = False,
) -> int:
    """Hang up consoles: what runs in them ends.

    \b
    Examples:
      cloche consoles close box/1
      cloche consoles close box/build box/2
    """
    from cloche.cli.session import with_hub

    places = [options.parse_console(text) for text in consoles]
    for text, (_, name) in zip(consoles, places, strict=True):
        if name is None:
            raise typer.BadParameter(
                f"say which console of {text} to close; `cloche consoles {text}` lists them"
            )

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        closed = []
        for sandbox, name in places:
            closed.append(await (await hub.sandbox(sandbox)).close_console(name))
            if not json:
                show(clean_line(f"{closed[-1].sandbox_name}/{closed[-1].name}"))
        if json:
            show_json(closed)

    return with_hub(work)


def screen(console: options.ConsoleArgument, json: options.JsonOption = False) -> int:
    """Show what a console's screen shows now, as text.

    \b
    Examples:
      cloche consoles screen box
      cloche consoles screen box/build --json | jq -r .title
    """
    from cloche.cli.session import with_hub

    sandbox, name = options.parse_console(console)

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        seen = await (await hub.sandbox(sandbox)).look(name)
        if json:
            show_json(seen)
        else:
            lines = seen.text.split("\n")
            show("\n".join(map(clean_line, lines) if sys.stdout.isatty() else lines))

    return with_hub(work)


def _row(info: ConsoleInfo) -> Sequence[str]:
    driver = next((viewer.name for viewer in info.viewers if viewer.id == info.driver), "-")
    watching = len(info.viewers) - (info.driver is not None)
    return (
        f"{info.sandbox_name}/{info.name}",
        _state(info),
        f"{info.cols}x{info.rows}",
        driver,
        str(watching),
        age(info.created_at),
        "what the machine says" if info.kind == "boot" else " ".join(info.command or ("a shell",)),
        info.title or "-",
    )


def _state(info: ConsoleInfo) -> str:
    if info.is_open:
        return info.state
    how = info.signal or info.exit_code
    return info.state if how is None else f"{info.state} ({how})"
