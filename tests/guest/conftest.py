"""An agent and a link to it for each test that asks for them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent_process import AgentProcess, control_group, running_agent
from tests.support.blocking_link import BlockingLink


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
        yield opened


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
