"""Options that several commands have, and how their texts are read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated

import typer

from cloche.cli.complete import complete_consoles, complete_flavors, complete_recipes, complete_sandboxes
from cloche.durations import parse_duration
from cloche.errors import BadRequest
from cloche.filters import label_key_trouble

_SAID = {
    "argv and env": "the command and --env",
    "argv": "the command",
    "cols": "the width of the window",
    "cwd": "--cwd",
    "env": "--env",
    "labels": "--label",
    "label": "--label",
    "lease_s": "--lease",
    "limit": "--lines",
    "methods": "METHOD",
    "name": "--name",
    "owner": "--owner",
    "rows": "the height of the window",
    "scope": "--scope",
    "secrets": "--secret",
    "states": "--state",
    "timeout_s": "--timeout",
    "topics": "--topic",
    "user": "--user",
}
"""How the command line calls a request's fields."""
_FIELD = re.compile(rf"^({'|'.join(_SAID)})\b")
# A message may as well begin with a sandbox itself, which is no option.
_NO_SANDBOX = re.compile(r"^sandbox(?= is missing\b)")
_SECONDS = re.compile(
    r"^(--\w+ must be )(?:above 0 and )?(at most |at least )([\d.]+) seconds?, not ([\d.]+(?:e[+-]?\d+)?)$"
)


def parse_lease(text: str | None) -> float | None:
    """Seconds in the text of `--lease`; None if there is none.

    Raises:
        BadParameter: it is no duration, or too short to use a sandbox.
    """
    seconds = _parse_duration(text, "--lease")
    if seconds is not None and seconds < 1:
        raise typer.BadParameter(
            f"{text!r} is too short to use a sandbox; give at least 1s", param_hint="--lease"
        )
    return seconds


def parse_timeout(text: str | None) -> float | None:
    """Seconds in the text of `--timeout`; None if there is none.

    Raises:
        BadParameter: it is no duration above 0.
    """
    seconds = _parse_duration(text, "--timeout")
    if seconds == 0:
        raise typer.BadParameter("give a duration above 0, or leave it out", param_hint="--timeout")
    return seconds


def parse_idle_limit(text: str | None) -> float | None:
    """Seconds in the text of `--idle-limit`; None if there is none.

    Raises:
        BadParameter: it is no duration.
    """
    return _parse_duration(text, "--idle-limit")


def _parse_duration(text: str | None, option: str) -> float | None:
    """Seconds in a duration; None if nothing is given."""
    if text is None:
        return None
    try:
        return parse_duration(text)
    except BadRequest as error:
        raise typer.BadParameter(error.message, param_hint=option) from None


def in_options(message: str) -> str:
    """A message of the hub about a wrong request, which begins with a field's name, in the words of the command line."""
    said = _FIELD.sub(lambda field: _SAID[field[0]], message)
    said = _NO_SANDBOX.sub("--sandbox", said)
    return _SECONDS.sub(
        lambda found: f"{found[1]}{found[2]}{_duration(found[3])}, not {_duration(found[4])}", said
    )


def _duration(seconds: str) -> str:
    """Seconds as the command line takes them: `30d`, `1h30m`, `0.5s`."""
    left, parts = float(seconds), []
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        count, left = divmod(left, length)
        if count:
            parts.append(f"{count:.0f}{unit}")
    return "".join([*parts, f"{left:g}s"] if left or not parts else parts)


def parse_env(texts: Iterable[str] | None, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables from `KEY=VALUE`, or `KEY` with the value it has here.

    Raises:
        BadParameter: `KEY` is not set here.
    """
    here = os.environ if environ is None else environ
    env = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not name:
            raise typer.BadParameter(
                f"{text!r} names no variable; give KEY=VALUE, or KEY to pass on your own"
            )
        if not equals and name not in here:
            raise typer.BadParameter(f"{name} is not set here; give {name}=VALUE")
        env[name] = value if equals else here[name]
    return env


def parse_labels(texts: Iterable[str] | None) -> dict[str, str]:
    """Labels from `KEY=VALUE`.

    Raises:
        BadParameter: one is not of that form.
    """
    labels = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise typer.BadParameter(f"{text!r} is no label; give KEY=VALUE")
        labels[key] = value
    return labels


def parse_console(text: str) -> tuple[str, str | None]:
    """A sandbox, and a console in it, from `SANDBOX/CONSOLE`; None where none is named.

    Raises:
        BadParameter: it is not of that form.
    """
    sandbox, slash, console = text.partition("/")
    if not sandbox or (slash and not console) or "/" in console:
        raise typer.BadParameter(
            f"{text!r} names no console; give SANDBOX/CONSOLE, or SANDBOX for its newest"
        )
    return sandbox, console or None


def label_filter(texts: Iterable[str] | None) -> Callable[[Mapping[str, str]], bool]:
    """Whether labels have all of these: `KEY=VALUE`, or `KEY` with any value.

    Raises:
        BadParameter: one is of neither form.
    """
    wanted = [text.partition("=") for text in texts or ()]
    for key, _, _ in wanted:
        if not key:
            raise typer.BadParameter("a label has a key; give KEY or KEY=VALUE")
        if trouble := label_key_trouble(key):
            raise typer.BadParameter(f"{trouble}; give KEY or KEY=VALUE")

    def has_all(labels: Mapping[str, str]) -> bool:
        return all(key in labels and (not equals or labels[key] == value) for key, equals, value in wanted)

    return has_all


SandboxArgument = Annotated[
    str,
    typer.Argument(
        metavar="SANDBOX",
        help="An id, a name, or the beginning of one.",
        autocompletion=complete_sandboxes,
        show_default=False,
    ),
]
OptionalSandboxArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[SANDBOX]",
        help="Only those of this one.",
        autocompletion=complete_sandboxes,
        show_default=False,
    ),
]
SandboxOption = Annotated[
    str | None,
    typer.Option(
        "--sandbox", metavar="SANDBOX", help="Only those of this one.", autocompletion=complete_sandboxes
    ),
]
ConsoleArgument = Annotated[
    str,
    typer.Argument(
        metavar="SANDBOX[/CONSOLE]",
        help="A sandbox, and a console in it; the newest if not given.",
        autocompletion=complete_consoles,
        show_default=False,
    ),
]
CommandArgument = Annotated[
    list[str],
    typer.Argument(metavar="CMD", help="The command and its arguments, behind `--`.", show_default=False),
]
RecipeOption = Annotated[
    str,
    typer.Option(
        "--recipe", "-r", metavar="NAME", help="What is in the sandbox.", autocompletion=complete_recipes
    ),
]
FlavorOption = Annotated[
    str,
    typer.Option(
        "--flavor", metavar="SIZE", help="Its size: small, medium or large.", autocompletion=complete_flavors
    ),
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="What to call it; made up if not given.")
]
EnvOption = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        "-e",
        metavar="KEY[=VALUE]",
        help="A variable for the command; KEY alone passes on your own. Repeatable.",
    ),
]
SecretOption = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        metavar="NAME[=VALUE]",
        help="A variable whose value recordings show as `*` where a program shows it in one piece; NAME alone passes "
        "on your own, which keeps it out of `ps`. Repeatable.",
    ),
]
LabelOption = Annotated[
    list[str] | None,
    typer.Option("--label", "-l", metavar="KEY=VALUE", help="For finding it again. Repeatable."),
]
LabelFilterOption = Annotated[
    list[str] | None,
    typer.Option("--label", "-l", metavar="KEY[=VALUE]", help="Only those with this label. Repeatable."),
]
LeaseOption = Annotated[
    str | None,
    typer.Option(
        "--lease",
        metavar="DURATION",
        help="How long it lives after its last use: 90s, 10m, 2h, 1d; a number alone is seconds.",
    ),
]
TimeoutOption = Annotated[
    str | None,
    typer.Option(
        "--timeout",
        metavar="DURATION",
        help="End the command after this: 90s, 10m, 2h; a number alone is seconds.",
    ),
]
UserOption = Annotated[
    str | None,
    typer.Option("--user", "-u", metavar="USER", help="Whom it runs as; an unprivileged user if not given."),
]
CwdOption = Annotated[
    str | None, typer.Option("--cwd", metavar="PATH", help="Where it runs; the user's home if not given.")
]
StdinOption = Annotated[
    bool | None,
    typer.Option(
        "--stdin/--no-stdin",
        "-i/-n",
        help="Pass standard input on, as is the default; at a terminal, Ctrl-D ends it.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]
