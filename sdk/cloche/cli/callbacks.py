"""`cloche callbacks serve`: a command of this host answers what programs in sandboxes ask."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from cloche.cli.complete import complete_sandboxes
from cloche.cli.output import say

if TYPE_CHECKING:
    from cloche import CallbackCall
    from cloche.aio import Hub
    from cloche.cli.session import Interrupts

_COMMAND = "cloche.command"


class _BehindDashes(typer.core.TyperCommand):
    """A command line of which `--` begins another one: an argument list cannot have two ends that are open."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            args, ctx.meta[_COMMAND] = args[:at], args[at + 1 :]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*super().collect_usage_pieces(ctx)[:1], "METHOD... -- COMMAND..."]


def add_to(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help="Answer what programs in sandboxes ask.", no_args_is_help=True)
    group.command("serve", cls=_BehindDashes)(serve)
    app.add_typer(group, name="callbacks")


def serve(
    context: typer.Context,
    methods: Annotated[
        list[str],
        typer.Argument(
            metavar="METHOD",
            help="Names or patterns such as 'pay.*', and behind `--` the command that answers them.",
            show_default=False,
        ),
    ],
    sandbox: Annotated[
        str | None,
        typer.Option(
            "--sandbox",
            metavar="SANDBOX",
            help="Only for this one; else for all you may see.",
            autocompletion=complete_sandboxes,
        ),
    ] = None,
    at_once: Annotated[
        int, typer.Option("--at-once", metavar="N", help="How many commands run at once.", min=1, max=256)
    ] = 32,
) -> int:
    """Answer callbacks with a command, until Ctrl-C.

    COMMAND runs once for each call. It reads the parameters as JSON from its standard input and writes the result as
    one JSON value. Another exit status than 0 fails the call, and the caller is told the last line of its stderr.
    CLOCHE_CALLBACK_METHOD and CLOCHE_CALLBACK_SANDBOX say what is called, and from where. One line on stderr tells of
    each call.

    \b
    Examples:
      cloche callbacks serve 'pay.*' -- python3 pay.py
      cloche callbacks serve --sandbox box sum -- jq add
      cloche callbacks serve time -- date +'"%H:%M"'
    """
    from cloche.cli.session import with_hub

    command = context.meta.get(_COMMAND)
    if not command:
        raise typer.BadParameter("give the command that answers", param_hint="COMMAND")

    # What there is to tell, this command tells itself.
    logging.getLogger("cloche.callbacks").addHandler(logging.NullHandler())

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        answers = _Answers(command)
        async with hub.callback(*methods, sandbox=sandbox, at_once=at_once)(answers) as handler:
            whose = "every sandbox you may see" if sandbox is None else sandbox
            say(f"answering {', '.join(methods)} of {whose}; Ctrl-C ends it")
            try:
                await handler.wait()
            finally:
                answers.is_ending = True

    return with_hub(work)


class _Answers:
    """Answers calls with a command, and tells of each."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self.is_ending = False
        """Whether it is on our side that calls are called off now."""

    async def __call__(self, call: CallbackCall) -> Any:
        import asyncio

        from cloche.cli.answering import answer_with
        from cloche.errors import CallbackFailed

        began, ended = time.monotonic(), ""
        try:
            answer = await answer_with(self._command, call, json.dumps(call.params).encode())
            ended = "answered"
        except OSError as error:
            ended = f"failed: cannot run {self._command[0]!r}: {error.strerror}"
            # SAFETY: what there is on this host is nothing for a guest.
            raise CallbackFailed("the command that answers it cannot be run") from None
        except CallbackFailed as error:
            ended = f"failed: {error.message}"
            raise
        except asyncio.CancelledError:
            ended = (
                f"called off, as {'this command ends' if self.is_ending else 'nobody waits for it any more'}"
            )
            raise
        except Exception as error:
            ended = f"failed: {type(error).__name__}: {error}"
            raise
        finally:
            took = time.monotonic() - began
            say(f"{call.method} of {call.sandbox_name} ({call.id}): {ended}, after {took:.2f} s")
        return answer
