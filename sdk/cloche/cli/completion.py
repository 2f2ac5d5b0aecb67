"""`cloche completion`: the script that makes a shell offer commands, options and sandboxes."""

from __future__ import annotations

import os
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cloche.cli.output import show_bytes
from cloche.errors import BadRequest

QUESTION = "_CLOCHE_COMPLETE"
"""The variable in which a shell, or this command, asks."""


class Shell(StrEnum):
    """Shells that can be told."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("completion")(completion)


def completion(
    shell: Annotated[Shell | None, typer.Argument(help="Which shell; yours if not given.")] = None,
) -> int:
    """Print the script that completes for a shell.

    It offers commands, options, recipes, flavors and the sandboxes there are.

    \b
    Examples:
      eval "$(cloche completion bash)"          # in ~/.bashrc
      cloche completion zsh > ~/.zfunc/_cloche
      cloche completion fish > ~/.config/fish/completions/cloche.fish
    """
    environment = {**os.environ, QUESTION: f"source_{shell or _own_shell()}"}
    # SAFETY: the command line is fixed; the shell's name is one of three. The library that completes prints its
    # script to a process that is asked like this, and has no other public way.
    done = subprocess.run(
        [sys.executable, "-P", "-m", "cloche.cli.main"],
        env=environment,
        stdout=subprocess.PIPE,
        check=False,
    )
    show_bytes(done.stdout)
    return done.returncode


def _own_shell() -> Shell:
    name = Path(os.environ.get("SHELL", "")).name
    try:
        return Shell(name)
    except ValueError:
        raise BadRequest(f"no completion for the shell {name!r}; give one of: bash, zsh, fish") from None
