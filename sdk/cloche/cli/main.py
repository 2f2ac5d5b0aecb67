"""The command line's entry: the commands put together, and how every one of them ends.

Rule: nobody ever sees a traceback unless they set CLOCHE_DEBUG=1; what is not foreseen is said to be a defect.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import Annotated

import typer
import typer.main

from cloche.cli import (
    approvals,
    audit,
    callbacks,
    completion,
    consoles,
    copy,
    disk,
    doctor,
    events,
    execute,
    files,
    hub,
    image,
    policy,
    record,
    run,
    sandboxes,
    shell,
    token,
    tui,
)
from cloche.cli.failures import BY_SIGNAL, FAILED, SIGPIPE, PipeClosed, status_for, told, unwritable
from cloche.cli.options import in_options
from cloche.cli.output import clean, show
from cloche.cli.usage import usage_line
from cloche.errors import BadRequest, CodedError
from cloche.version import VERSION

_HELP = """Run code nobody trusts in real virtual machines on your own host.

\b
  cloche run -- python3 -c 'print(6 * 7)'
  cloche create --name box
  cloche exec box -- sh -c 'echo hi'
  cloche rm box
"""
_EPILOG = (
    "Exit status: the command's own; 1 a copy left something out, or a search found nothing; 124 timed out; 125 Cloche failed; 126 and 127 the command cannot be run or is not "
    "there; 128+N ended by signal N; 2 wrong usage."
)


def build_app(*, completes: bool = False) -> typer.Typer:
    """The whole command line.

    Args:
        completes: whether it answers a shell's questions, too.
    """
    whole = typer.Typer(
        name="cloche",
        help=_HELP,
        epilog=_EPILOG,
        add_completion=completes,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    whole.callback()(_root)
    for module in (
        run,
        sandboxes,
        execute,
        tui,
        shell,
        consoles,
        record,
        copy,
        files,
        image,
        hub,
        disk,
        approvals,
        callbacks,
        policy,
        token,
        events,
        audit,
        doctor,
        completion,
    ):
        module.add_to(whole)
    return whole


def _show_version(value: bool) -> None:
    if value:
        show(f"cloche {VERSION}")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Say the version and exit."),
    ] = False,
) -> None:
    pass


app = build_app()


def main() -> None:
    """Runs the command line of this process and ends it."""
    _stand_in_for_closed_streams()
    # Texts from elsewhere may hold what this terminal's encoding has not.
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    status = run_command(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        status = BY_SIGNAL + SIGPIPE
    except OSError as error:
        # Said already, unless it is this very flush that finds out.
        if status != FAILED:
            _fail(told(unwritable(error)), error)
        status = FAILED
    if status in (FAILED, BY_SIGNAL + SIGPIPE):
        # The interpreter flushes once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


def _stand_in_for_closed_streams() -> None:
    """Gives a stream we were started without one that reads nothing, or cannot be written, and says so."""
    # SAFETY: else the next file or socket to be opened would get its number, and what is meant for people or for the
    # command in the sandbox would go there. /dev/null opened for reading has an end at once and refuses to be written.
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            os.dup2(nothing, number)
            if nothing != number:
                os.close(nothing)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", closefd=False))


def run_command(argv: list[str]) -> int:
    """Runs one command line; returns the exit status."""
    if os.environ.get(completion.QUESTION):
        return _answer_shell()
    try:
        return app(argv, prog_name="cloche", standalone_mode=False) or 0
    except typer.TyperException as error:
        return _wrong_usage(error, argv)
    except (PipeClosed, BrokenPipeError, SystemExit):
        # The library ends the program itself in one case only: when nobody reads its help any more.
        return BY_SIGNAL + SIGPIPE
    except BadRequest as error:
        _fail(in_options(error.message), error)
        return FAILED
    except CodedError as error:
        _fail(error.message, error)
        return status_for(error)
    except OSError as error:
        # The library writes help by itself. No other file of ours is written without its name in the error.
        is_output = error.filename is None and error.errno in (errno.ENOSPC, errno.EBADF)
        _fail(told(unwritable(error) if is_output else error), error)
        return FAILED
    except Exception as error:
        # The edge of the program: what nobody foresaw is our defect, and still no traceback for a user.
        _fail(f"a defect: {type(error).__name__}: {error}; CLOCHE_DEBUG=1 shows where", error)
        return FAILED


def _answer_shell() -> int:
    """Says what the shell may offer; whatever goes wrong, it is offered nothing."""
    try:
        build_app(completes=True)([], prog_name="cloche", complete_var=completion.QUESTION)
    except Exception:
        # A traceback in the middle of somebody's command line helps nobody.
        return FAILED
    return 0


def _wrong_usage(error: typer.TyperException, argv: list[str]) -> int:
    # The library's own class for a group without a command, which carries the help, has no public name.
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(f"{error.format_message()}\n")
        return error.exit_code
    # The library knows the command of some errors only.
    path = _path_of(argv)
    _fail(usage_line(error.format_message(), " ".join(["cloche", *path]), argv[len(path) :]), error)
    return error.exit_code


def _path_of(argv: list[str]) -> list[str]:
    """The words of a command line that name its command."""
    command: object = typer.main.get_command(app)
    for number, word in enumerate(argv):
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            return argv[:number]
    return argv


def _fail(line: str, error: BaseException) -> None:
    if os.environ.get("CLOCHE_DEBUG"):
        import traceback

        traceback.print_exception(error)
    with contextlib.suppress(OSError):
        # Some errors quote a log. What is quoted must not look like a line of ours.
        first, *quoted = clean(line).split("\n")
        sys.stderr.write("\n  ".join([f"cloche: {first}", *quoted]) + "\n")
        sys.stderr.flush()


if __name__ == "__main__":
    main()
