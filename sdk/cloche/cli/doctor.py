"""`cloche doctor`: what works on this host, what does not, and what to do about it."""

from __future__ import annotations

import typer

from cloche.cli import options
from cloche.cli.handover import hand_over


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("doctor")(doctor)


def doctor(json: options.JsonOption = False) -> None:
    """Examine this host.

    What works here, what does not, and what to do about it: virtualisation, QEMU, building of images.

    \b
    Examples:
      cloche doctor
      cloche doctor --json
    """
    hand_over("doctor", *(["--json"] if json else []))
