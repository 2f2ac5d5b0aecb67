"""The hub's own command line: `python -m cloche_hub serve|doctor|verify`. People use `cloche`, which starts this.

Rule: standard output is for answers, standard error for the log; an error is one line and exit status 125.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import structlog

from cloche_hub.errors import CodedError, HubError
from cloche_wire.errors import ungrouped

FAILED = 125
_MOST_FILES = 1 << 16


def main(argv: list[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.command(arguments)
        sys.stdout.flush()
    except (HubError, CodedError) as error:
        return _give_up(arguments, str(error))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Whoever read the answer wants no more of it.
        _drop_output()
        return 128 + signal.SIGPIPE
    except Exception as error:
        # The edge of the program: a hub's log has the whole story, everybody else one line.
        if arguments.command is _serve:
            structlog.get_logger(__name__).exception("hub_defect")
            return _give_up(arguments, f"a defect in the hub ({type(error).__name__}); its log has the cause")
        if os.environ.get("CLOCHE_DEBUG"):
            traceback.print_exception(error)
        if isinstance(error, OSError) and error.filename is None:
            _drop_output()
            return _give_up(arguments, f"cannot write the output: {error.strerror}")
        return _give_up(arguments, f"a defect: {type(error).__name__}: {error}; CLOCHE_DEBUG=1 shows where")
    finally:
        _let_go_of_log()
    return status


def _drop_output() -> None:
    # The interpreter flushes once more at its end, and would complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)


def _give_up(arguments: argparse.Namespace, why: str) -> int:
    _tell_parent(getattr(arguments, "ready_fd", None), {"error": why})
    with contextlib.suppress(OSError):
        # What a person asked for directly is answered under the name they know.
        name = "cloche hub" if arguments.command is _serve else "cloche"
        line = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in why)
        sys.stderr.write(f"{name}: {line}\n")
    return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cloche_hub", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve clients until stopped")
    serve.add_argument("--listen", metavar="HOST:PORT", help="also listen on TCP (commas between several)")
    serve.add_argument("--tls-cert", metavar="FILE", help="certificate chain (PEM) for the TCP addresses")
    serve.add_argument("--tls-key", metavar="FILE", help="its private key (PEM)")
    serve.add_argument(
        "--ready-fd", type=int, metavar="N", help="write a line of JSON there when clients can come"
    )
    serve.set_defaults(command=_serve)
    doctor = commands.add_parser("doctor", help="say what works on this host and what does not")
    doctor.add_argument("--json", action="store_true")
    doctor.set_defaults(command=_doctor)
    verify = commands.add_parser(
        "verify", help="verify the audit chain of a database or an export, without a hub"
    )
    verify.add_argument("file", type=Path)
    verify.add_argument("--json", action="store_true")
    verify.set_defaults(command=_verify)
    return parser


def _serve(arguments: argparse.Namespace) -> int:
    # Imported late: `verify` and `doctor` need none of it.
    from cloche_hub.app import run_hub
    from cloche_hub.log import configure_logging
    from cloche_hub.settings import load_settings

    # SAFETY: whatever the hub makes is for its own eyes unless it says otherwise, whoever started it with which umask.
    os.umask(0o077)
    given = {name: getattr(arguments, name) for name in ("listen", "tls_cert", "tls_key")}
    settings = load_settings(**{name: value for name, value in given.items() if value is not None})
    configure_logging(level=settings.log_level, form=settings.log_format)

    def ready(addresses: list[str]) -> None:
        _tell_parent(
            arguments.ready_fd, {"pid": os.getpid(), "address": addresses[0], "addresses": addresses}
        )

    async def run() -> None:
        stop, hangup = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        had_terminal = _has_terminal()

        def on_hangup() -> None:
            # A hub in a terminal ends with it; any other hangup is somebody who has changed the policy.
            (stop if had_terminal and not _has_terminal() else hangup).set()

        loop.add_signal_handler(signal.SIGHUP, on_hangup)
        await run_hub(settings, ready=ready, stop=stop, hangup=hangup)

    _allow_many_files()
    with ungrouped():
        asyncio.run(run())
    return 0


def _has_terminal() -> bool:
    """Whether there is a terminal this process belongs to; one that has been closed is none."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _allow_many_files() -> None:
    """Lets the hub open as many files as the host allows: each machine and each client takes some."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _doctor(arguments: argparse.Namespace) -> int:
    from cloche_hub.vm.doctor import examine, report_text

    findings = asyncio.run(examine())
    if arguments.json:
        sys.stdout.write(json.dumps([finding.as_map() for finding in findings], indent=2) + "\n")
    else:
        sys.stdout.write(report_text(findings) + "\n")
    return FAILED if any(finding.state == "fail" for finding in findings) else 0


def _verify(arguments: argparse.Namespace) -> int:
    from cloche_hub.store.offline import verify_file

    verified = verify_file(arguments.file)
    if arguments.json:
        sys.stdout.write(json.dumps({"events": verified.events, "head": verified.head}) + "\n")
    else:
        sys.stdout.write(f"the chain holds: {verified.events} events, head {verified.head}\n")
    return 0


def _tell_parent(descriptor: int | None, news: dict[str, Any]) -> None:
    """Writes one line to whoever started us, once."""
    if descriptor is None:
        return
    try:
        os.write(descriptor, json.dumps(news).encode() + b"\n")
        os.close(descriptor)
    except OSError:
        # It has gone away, or has been told already.
        return


def _let_go_of_log() -> None:
    """Whoever read the log may have gone: what is left of it in a buffer must not turn a good end into a bad one."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), sys.stderr.fileno())


if __name__ == "__main__":
    sys.exit(main())
