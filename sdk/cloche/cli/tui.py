"""`cloche tui`: the dashboard. It is a package of its own on top of the SDK; this only starts it."""

from __future__ import annotations

import gc
import sys
from typing import Annotated

import typer

from cloche.cli.complete import complete_consoles
from cloche.errors import BadRequest, Unsupported


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("tui")(tui)


def tui(
    console: Annotated[
        str | None,
        typer.Argument(
            metavar="[SANDBOX[/CONSOLE]]",
            help="Whose console is shown at once.",
            autocompletion=complete_consoles,
            show_default=False,
        ),
    ] = None,
    readonly: Annotated[
        bool, typer.Option("--readonly", help="Only look on: nothing can be changed.")
    ] = False,
    view: Annotated[
        str, typer.Option("--view", help="What is shown first: sandboxes, approvals, audit or files.")
    ] = "sandboxes",
    theme: Annotated[
        str | None, typer.Option("--theme", help="Colours, such as cloche-light.", show_default=False)
    ] = None,
    mouse: Annotated[
        bool, typer.Option("--mouse/--no-mouse", help="Whether the mouse is the dashboard's.")
    ] = True,
    bell: Annotated[
        bool, typer.Option("--bell/--no-bell", help="Whether a new approval rings and notifies.")
    ] = True,
    serve: Annotated[
        bool, typer.Option("--serve", help="Show it in a browser on this machine instead of here.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="With --serve: 0 takes a free one.")
    ] = 0,
) -> int:
    """Watch every sandbox, look into consoles, decide approvals.

    In it ? shows what can be done. Leaving it ends nothing: sandboxes and consoles go on.

    \b
    Examples:
      cloche tui
      cloche tui box
      cloche tui box/1 --readonly
      cloche tui --view approvals
      cloche tui --serve
    """
    # All that is imported stays: to look through it for garbage costs a tenth of the start, and a pause now and then.
    gc.disable()
    try:
        from cloche_tui.start import Start, start_dashboard
    except ModuleNotFoundError as error:
        raise Unsupported(
            f"the dashboard is not installed ({error.name} is missing); install it with: pip install 'cloche[tui]'"
        ) from None
    finally:
        gc.freeze()
        gc.enable()
    wanted = Start(console, view=view, is_readonly=readonly, theme=theme, has_mouse=mouse, has_bell=bell)
    if serve:
        from cloche_tui.serve.server import serve_dashboard

        return serve_dashboard(wanted, port=port)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadRequest("the dashboard needs a terminal; without one use: cloche ls, cloche approvals watch")
    return start_dashboard(wanted)
