"""Starts the agent: as a machine's first process without arguments, as an ordinary process with them.

python3 -I agent.pyz                                    in a machine
python -m cloche_guest --listen PATH | --fd N           on the host, for tests
    [--callbacks PATH] [--cgroup DIRECTORY] [--root DIRECTORY] [--most-execs N] [--is-somebody]
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Any, NoReturn

from cloche_guest.agent import Agent, Settings
from cloche_guest.callers import listen
from cloche_guest.children import MOST_EXECS
from cloche_guest.console import Console
from cloche_guest.image import read_image_facts
from cloche_guest.loop import Loop
from cloche_guest.trees import CgroupTrees, ProcessTrees, Trees

_CALLBACK_SOCKET = "/run/cloche/callback.sock"
_HASH_FILE = "/run/cloche/agent.sha256"
_FIRST_PID = 1


def main() -> None:
    """Runs the agent."""
    if os.getpid() == _FIRST_PID:
        run_machine()
    run_process(sys.argv[1:])


def run_machine() -> NoReturn:
    """Runs the agent as the machine's first process."""
    from cloche_guest import init  # not for an ordinary process
    from cloche_guest.transport import Port, open_port

    console = Console(os.open("/dev/console", os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC))
    init.prepare(console.line)
    loop = Loop(lambda error: console.error(error, "loop"))
    trees: Trees
    try:
        trees = CgroupTrees(loop, init.CGROUP_ROOT, most_processes=init.most_processes())
    except OSError as error:
        # A kernel without them still runs commands; only its daemons are out of reach.
        console.line(f"no control groups: {error}")
        trees = ProcessTrees()
    callbacks = None
    try:
        callbacks = listen(_CALLBACK_SOCKET)
    except OSError as error:
        # Everything else still works.
        console.line(f"no callbacks: {error}")
    facts = read_image_facts()
    with open(_HASH_FILE, "rb") as file:
        agent_hash = file.read().decode().strip()
    Agent(
        loop=loop,
        transport=Port(loop, open_port()),
        trees=trees,
        system=init.FirstProcess(),
        settings=Settings(
            default_user=facts.user, env=facts.env, hello=hello(agent_hash), callbacks=callbacks
        ),
        report=console.line,
        report_error=console.error,
    )
    settle_memory()
    while True:
        loop.run()


def run_process(arguments: list[str]) -> None:
    """Runs the agent as an ordinary process, until its hub or its terminal ends it."""
    import argparse  # the agent in a machine does without its memory

    from cloche_guest.host import OrdinaryProcess
    from cloche_guest.transport import Listener, Socket, Transport

    parser = argparse.ArgumentParser(prog="cloche_guest", description=__doc__, add_help=True)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--listen", metavar="PATH", help="a Unix socket where the hub may come and go")
    where.add_argument("--fd", type=int, help="a connected socket; the agent ends with it")
    parser.add_argument("--callbacks", metavar="PATH", help="a Unix socket for programs that call back")
    parser.add_argument("--cgroup", metavar="DIRECTORY", help="a cgroup2 directory for the commands' groups")
    parser.add_argument(
        "--root", metavar="DIRECTORY", help="where `become` writes its files; nowhere by default"
    )
    parser.add_argument("--is-somebody", action="store_true", help="serve without `become`")
    parser.add_argument("--most-execs", metavar="N", type=int, default=MOST_EXECS, help="commands at once")
    options = parser.parse_args(arguments)

    console = Console(2)
    loop = Loop(lambda error: console.error(error, "loop"))
    transport: Transport
    if options.fd is not None:
        os.set_inheritable(options.fd, False)  # noqa: FBT003 - it takes no keyword
        transport = Socket(loop, options.fd, loop.stop)
    else:
        transport = Listener(loop, options.listen)
        os.write(1, b"listening\n")
    Agent(
        loop=loop,
        transport=transport,
        trees=CgroupTrees(loop, options.cgroup) if options.cgroup else ProcessTrees(),
        system=OrdinaryProcess(options.root, loop.stop),
        settings=Settings(
            default_user=str(os.geteuid()),
            hello=hello(""),
            callbacks=listen(options.callbacks) if options.callbacks else None,
            most_execs=options.most_execs,
            is_somebody=options.is_somebody,
        ),
        report=console.line,
        report_error=console.error,
    )
    settle_memory()
    loop.run()


def hello(agent_hash: str) -> dict[str, Any]:
    """What the agent says of itself."""
    kernel = os.uname()
    python = ".".join(str(part) for part in sys.version_info[:3])
    return {"agent": agent_hash, "kernel": kernel.release, "python": python, "arch": kernel.machine}


def settle_memory() -> None:
    """What is there now stays: the collector need not look at it again, and so writes to none of its pages."""
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    main()
