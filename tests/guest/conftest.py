"""An agent and a link to it for each test that asks for them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloche_guest.messages import TerminalSize
from cloche_guest.terminals import Display, start
from tests.guest.open_terminals import Frames, Terminal, command
from tests.support.agent_process import AgentProcess, control_group, running_agent
from tests.support.blocking_console import hang_up_left
from tests.support.blocking_link import BlockingLink
from tests.support.hubs_in_turn import Hubs, hubs_in_turn
from tests.support.stream_bench import Bench


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """An agent that serves without `become`, one test after another; what runs there ends when the next's hub comes."""
    with running_agent(tmp_path_factory.mktemp("agent"), "--is-somebody") as process:
        yield process


@pytest.fixture
def link(agent: AgentProcess) -> Iterator[BlockingLink]:
    """A greeted link to that agent."""
    with BlockingLink() as opened:
        opened.connect(agent.socket)
        hang_up_left(opened)
        yield opened


@pytest.fixture
def hubs(agent: AgentProcess) -> Iterator[Hubs]:
    """One hub after the other at that agent."""
    with hubs_in_turn(agent) as in_turn:
        hang_up_left(in_turn.next())
        yield in_turn


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of this test's own."""
    with control_group() as made:
        if made is None:
            pytest.skip("these tests may make no control groups here; the machine's tests hold the same")
        yield made


@pytest.fixture
def grouped_link(tmp_path: Path, group: Path) -> Iterator[BlockingLink]:
    """A greeted link to an agent whose commands have control groups in `group`."""
    with (
        running_agent(tmp_path, "--is-somebody", "--cgroup", str(group)) as process,
        BlockingLink() as opened,
    ):
        opened.connect(process.socket)
        yield opened


@pytest.fixture(autouse=True)
def _stays_where_it_is() -> Iterator[None]:
    """The agent works in the root folder between commands; these tests' process is everybody's."""
    before = Path.cwd()
    yield
    os.chdir(before)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A terminal that nothing runs in."""
    started = start(command("stty", "raw"), TerminalSize(24, 80))
    os.waitpid(started.pid, 0)
    os.close(started.writer)
    opened = Terminal(started.reader, started.hold)
    yield opened
    opened.hang_up()


@pytest.fixture
def flooded(terminal: Terminal) -> Iterator[tuple[Bench, Frames, Display]]:
    """A terminal in the middle of a flood."""
    bench = Bench()
    # Two milliseconds pass between any two looks at the clock: slower than a terminal fills, without a pause.
    ticks = itertools.count()
    display = bench.display(terminal.ours, clock=lambda: next(ticks) / 500)
    frames = Frames(bench, terminal)
    frames.flood(20)
    yield bench, frames, display
    display.close()
