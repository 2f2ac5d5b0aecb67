"""The agent as a whole: who may ask for what and when, and what it does while nobody asks."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloche_wire.errors import BadRequest, Unsupported, WrongState
from cloche_wire.events import Greeted
from tests.support.agent_process import AgentProcess, running_agent
from tests.support.blocking_link import BlockingLink


@pytest.fixture
def nobody(tmp_path: Path) -> Iterator[tuple[AgentProcess, BlockingLink]]:
    """An agent that has not become itself, writing its files below tmp_path, and a link to it."""
    (tmp_path / "etc").mkdir()
    with running_agent(tmp_path, "--root", str(tmp_path)) as agent, BlockingLink() as link:
        link.connect(agent.socket)
        yield agent, link


def test_hello_says_what_runs_where(link: BlockingLink) -> None:
    greeting = link.greetings[-1]
    assert isinstance(greeting, Greeted)
    assert set(greeting.info) == {"agent", "kernel", "python", "arch", "consoles"}
    assert greeting.software.startswith("cloche_guest/")


def test_nothing_is_served_before_become(nobody: tuple[AgentProcess, BlockingLink]) -> None:
    _, link = nobody
    with pytest.raises(WrongState, match="become first"):
        link.run("true")
    link.become()
    assert link.run("true", cwd="/").exit_code == 0


def test_a_clone_becomes_somebody_once(nobody: tuple[AgentProcess, BlockingLink], tmp_path: Path) -> None:
    _, link = nobody
    assert link.become(hostname="quiet-otter") == {}
    with pytest.raises(WrongState, match="already"):
        link.become(hostname="loud-otter")
    assert (tmp_path / "etc/hostname").read_text() == "quiet-otter\n"


def test_a_refused_become_may_be_tried_again(nobody: tuple[AgentProcess, BlockingLink]) -> None:
    _, link = nobody
    with pytest.raises(BadRequest, match="machine_id"):
        link.become(machine_id="short")
    link.become()


def test_a_become_that_fails_half_way_may_be_tried_again(tmp_path: Path) -> None:
    with running_agent(tmp_path, "--root", str(tmp_path)) as agent, BlockingLink() as link:
        link.connect(agent.socket)
        with pytest.raises(Exception, match="FileNotFoundError"):
            link.become()
        (tmp_path / "etc").mkdir()
        link.become()


def test_becoming_survives_a_lost_link(nobody: tuple[AgentProcess, BlockingLink]) -> None:
    agent, link = nobody
    link.become()
    link.drop()
    with BlockingLink() as other:
        other.connect(agent.socket)
        assert other.run("true", cwd="/").exit_code == 0


def test_what_the_agent_does_not_have_is_named_with_what_it_has(link: BlockingLink) -> None:
    with pytest.raises(Unsupported, match="become, poweroff, exec"):
        link.call("teleport")


def test_poweroff_is_answered_and_then_done(nobody: tuple[AgentProcess, BlockingLink]) -> None:
    agent, link = nobody
    assert link.call("poweroff") == {}
    with pytest.raises(ConnectionError):
        link.wait_until(lambda: False, "the end of the link")
    assert agent.wait_end() == 0


def test_poweroff_is_done_though_nobody_takes_the_answer(
    nobody: tuple[AgentProcess, BlockingLink],
) -> None:
    agent, link = nobody
    link.open("poweroff", {})
    link.send_pending()
    link.drop()
    assert agent.wait_end() == 0


def test_a_ping_is_answered_while_a_command_floods(link: BlockingLink) -> None:
    flood = link.start("yes")
    for _ in range(20):
        link.ping()
    flood.signal("KILL")
    flood.wait()


def test_an_agent_without_a_hub_uses_no_processor(agent: AgentProcess, link: BlockingLink) -> None:
    command = link.start("sleep", "0.3")
    link.drop()
    before = agent.processor_s()
    with BlockingLink(timeout_s=5) as other:
        # Nobody is there while the command runs; its end is the only thing that happens.
        wait_for_end(command.pid)
        assert agent.processor_s() - before < 0.05
        other.connect(agent.socket)


def wait_for_end(pid: int) -> None:
    """Waits until a process has ended."""
    handle = os.pidfd_open(pid)
    try:
        assert select.select([handle], [], [], 5.0)[0]
    finally:
        os.close(handle)


def test_garbage_on_the_link_costs_the_link_and_no_command(agent: AgentProcess, link: BlockingLink) -> None:
    command = link.start("sh", "-c", "read line; echo $line", stdin=True)
    link.drop()
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(str(agent.socket))
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" * 1000)
    assert link.connect(agent.socket).resumed
    command.write(b"still here\n")
    assert command.wait().stdout == b"still here\n"


def test_an_agent_on_a_descriptor_ends_with_it() -> None:
    near, far = socket.socketpair()
    # SAFETY: the program and its arguments are this test's own.
    with subprocess.Popen(
        [sys.executable, "-m", "cloche_guest", "--fd", str(far.fileno()), "--is-somebody"],
        pass_fds=[far.fileno()],
    ) as process:
        far.close()
        try:
            with BlockingLink() as link:
                link.attach(near)
                assert link.run("echo", "hello").stdout == b"hello\n"
                # The command's own descriptors do not include the agent's socket.
                assert b"socket" not in link.run("sh", "-c", "ls -l /proc/$$/fd").stdout
            assert process.wait(5) == 0
        finally:
            process.kill()
