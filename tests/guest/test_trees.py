"""What a command has started is reached, however it detaches itself."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloche_guest.trees import ProcessTree, ProcessTrees
from tests.support.blocking_link import BlockingLink
from tests.support.blocking_request import Request

_END_S = 5.0


def is_running(pid: int) -> bool:
    """Whether a process runs: a zombie that nobody has reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_gone(pid: int) -> None:
    """Waits until a process has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], _END_S)[0], f"{pid} still runs"
    finally:
        os.close(handle)


# Without control groups.


@pytest.fixture
def shell() -> Iterator[tuple[ProcessTree, int, int]]:
    """A tree whose shell has a child: the tree, the shell, our end of its output."""
    reader, writer = os.pipe()
    pid = os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", "sleep 1000 & echo $!; wait"],
        {"PATH": "/usr/bin:/bin"},
        file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1)],
        setsid=True,
    )
    os.close(writer)
    tree = ProcessTrees().new_tree()
    tree.adopt(pid)
    yield tree, pid, reader
    os.close(reader)
    try:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def test_a_signal_reaches_the_shell_and_its_child(shell: tuple[ProcessTree, int, int]) -> None:
    tree, pid, reader = shell
    child = int(os.read(reader, 100))
    assert not tree.is_empty()
    tree.signal(signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM
    wait_gone(child)
    assert tree.is_empty()
    tree.release()


def test_a_stopped_process_acts_on_sigterm(shell: tuple[ProcessTree, int, int]) -> None:
    tree, pid, reader = shell
    os.read(reader, 100)
    tree.signal(signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    tree.signal(signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM


def test_signalling_a_tree_that_is_gone_does_nothing(shell: tuple[ProcessTree, int, int]) -> None:
    tree, pid, reader = shell
    child = int(os.read(reader, 100))
    tree.signal(signal.SIGKILL)
    os.waitpid(pid, 0)
    wait_gone(child)
    tree.signal(signal.SIGTERM)


# With control groups.

DAEMON = "(setsid sh -c 'setsid sleep 1000 & echo $!' &) ; sleep 1000"
"""A command whose grandchild has left its parents, its session and its process group."""


def started_daemon(link: BlockingLink) -> tuple[Request, int]:
    command = link.start("sh", "-c", DAEMON)
    command.wait_output(b"\n")
    return command, int(command.stdout)


@pytest.mark.parametrize("name", ["TERM", "KILL", "USR1"])
def test_a_signal_reaches_a_daemon(grouped_link: BlockingLink, name: str) -> None:
    command, daemon = started_daemon(grouped_link)
    assert is_running(daemon)
    command.signal(name)
    assert command.wait().signal == name
    wait_gone(daemon)


def test_giving_up_reaches_a_daemon(grouped_link: BlockingLink) -> None:
    command, daemon = started_daemon(grouped_link)
    grouped_link.drop()
    with BlockingLink() as other:
        other.connect(grouped_link.path or "")
        wait_gone(daemon)
    assert not command.is_over


def test_what_is_left_behind_lives_on_in_its_group_until_it_ends(grouped_link: BlockingLink) -> None:
    left = grouped_link.run("sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!")
    pid = int(left.stdout)
    assert is_running(pid)
    groups = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    assert next(line for line in groups if line.startswith("0::")).endswith("/execs/1")
    os.kill(pid, signal.SIGKILL)
    wait_gone(pid)
    assert grouped_link.run("true").exit_code == 0


def test_groups_are_removed_when_their_last_process_has_ended(
    group: Path, grouped_link: BlockingLink
) -> None:
    command, daemon = started_daemon(grouped_link)
    for _ in range(3):
        grouped_link.run("true")
    command.signal("KILL")
    command.wait()
    wait_gone(daemon)
    # The agent tidies up when it has nothing else to do.
    for _ in range(200):
        grouped_link.ping()
        if len(folders_in(group / "execs")) == 1:
            break
    # One is kept ready for the next command.
    assert len(folders_in(group / "execs")) == 1


def folders_in(path: Path) -> list[Path]:
    return [entry for entry in path.iterdir() if entry.is_dir()]


def test_groups_made_within_a_commands_group_go_with_it(group: Path, grouped_link: BlockingLink) -> None:
    command = grouped_link.start("sleep", "1000")
    (made,) = [folder for folder in folders_in(group / "execs") if (folder / "cgroup.procs").read_text()]
    (made / "inner").mkdir()
    (made / "inner/cgroup.procs").write_text(str(command.pid))
    command.signal("TERM")
    assert command.wait().signal == "TERM"
    for _ in range(200):
        grouped_link.ping()
        if not made.exists():
            break
    assert not made.exists()
