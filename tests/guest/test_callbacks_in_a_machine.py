"""Callbacks in a real machine: its own library and commands, in clones of a template that was saved with the socket.

What an ordinary process can show is held by the other modules of this folder.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from cloche_hub.ports import Image
from cloche_wire.errors import Cancelled, Forbidden
from tests.support.blocking_link import BlockingLink
from tests.support.blocking_request import Completed, Request
from tests.support.real_machines import Machines, real_machines

pytestmark = pytest.mark.machine

BOUND_S = 60.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def machines(minimal_image: Image, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Machines]:
    async with real_machines(tmp_path_factory.mktemp("vm"), minimal_image) as started:
        yield started


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def port(machines: Machines) -> Path:
    """The socket of a clone that has become somebody."""
    return await machines.start_somebody()


@pytest.fixture
def link(port: Path) -> Iterator[BlockingLink]:
    """A link to the clone."""
    with BlockingLink(timeout_s=BOUND_S) as opened:
        opened.connect(port)
        yield opened


def next_params(link: BlockingLink, command: Request) -> tuple[int, dict[str, Any]]:
    """The channel and the parameters of the next callback."""
    link.wait_until(lambda: bool(link.offered) or command.is_over, "a callback")
    assert link.offered, command.wait()
    opened = link.offered.pop(0)
    return opened.channel, opened.params


def serve(link: BlockingLink, command: Request, result: Any) -> tuple[dict[str, Any], Completed]:
    """Answers the callback of a command; what was asked, and how the command ended."""
    channel, params = next_params(link, command)
    link.connection.accept(channel)
    link.connection.close(channel, {"result": json.dumps(result).encode()})
    return params, command.wait()


def test_a_program_calls_back_as_the_user_it_runs_as(link: BlockingLink) -> None:
    program = "from cloche_callback import callback; print(callback('pay.send', {'amount': 3}, timeout=50))"
    command = link.start("python3", "-I", "-c", program)
    params, done = serve(link, command, {"paid": True})
    assert (done.stdout, done.stderr) == (b"{'paid': True}\n", b"")
    assert (params["method"], params["params"], params["timeout_s"]) == ("pay.send", b'{"amount":3}', 50.0)
    assert params["caller"] == {"pid": command.pid, "uid": 1000, "program": "python3"}


def test_asyncio_and_cbox_programs_call_back(link: BlockingLink) -> None:
    program = "import asyncio, cloche_callback as c; print(asyncio.run(c.acallback('a')))"
    assert serve(link, link.start("python3", "-c", program), 1)[1].stdout == b"1\n"
    program = "from cbox_callback import callback; print(callback('a'))"
    assert serve(link, link.start("python3", "-c", program), 2)[1].stdout == b"2\n"


def test_both_commands_call_back(link: BlockingLink) -> None:
    assert serve(link, link.start("cloche-callback", "a", '{"b": 1}'), ["x"])[1].stdout == b'["x"]\n'
    assert (
        serve(link, link.start("cbox_callback", "a", '{"b": 1}', user="root"), ["y"])[1].stdout == b'["y"]\n'
    )


def test_the_command_says_who_denied_it(link: BlockingLink) -> None:
    command = link.start("cloche-callback", "a")
    channel, _ = next_params(link, command)
    link.connection.reset(channel, Forbidden("the rule 'none' denies it"))
    done = command.wait()
    assert (done.exit_code, done.stderr) == (1, b"cloche-callback: the rule 'none' denies it (forbidden)\n")


def test_a_program_that_is_killed_takes_its_call_back(link: BlockingLink) -> None:
    command = link.start("cloche-callback", "a")
    channel, _ = next_params(link, command)
    command.signal("KILL")
    link.wait_until(lambda: channel in link.given_up, "a reset")
    assert isinstance(link.given_up[channel], Cancelled)


def test_the_library_needs_no_compiling_by_its_users(link: BlockingLink) -> None:
    # What lies there is of this very Python, and newer than its source: it is taken.
    program = "import sys, cloche_callback as c, cbox_callback as b; print(c.__cached__, b.__cached__)"
    for path in link.run("python3", "-c", program).stdout.decode().split():
        assert link.run("test", "-r", path).exit_code == 0
